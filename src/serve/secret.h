/* A small file that nobody but its owner may read: passwords, headers with tokens. */
#ifndef MEMWHY_SERVE_SECRET_H
#define MEMWHY_SERVE_SECRET_H

#include "base/err.h"
#include "base/str.h"

/* option: what names it, for the error. -EPERM: others may read it, or it is another user's. */
int secret_read(const char *option, const char *path, struct str *ret, struct err *err);

#endif
