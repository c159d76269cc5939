/*
 * How the running kernel was configured: /proc/config.gz, or /boot/config-RELEASE. Owns finding
 * and reading it; for doctor's sentences, never to decide whether a hook works (that is tried).
 */
#ifndef MEMWHY_SYS_KCONFIG_H
#define MEMWHY_SYS_KCONFIG_H

#include "base/str.h"

/* The text of the configuration into out, which is cleared first. -ENOENT when it is nowhere,
 * -EBADMSG for a damaged one, -EFBIG, -ENOMEM. */
int kconfig_load(struct str *out);
/* The value of "CONFIG_MEMCG" (or "MEMCG"): "y", "m", "n" where it says "is not set", a number,
 * a text without its quotes. -ENOENT when it is not mentioned, -ERANGE when it is too long. */
int kconfig_get(const char *config, const char *name, char *ret, size_t size);

#endif
