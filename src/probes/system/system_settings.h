/* Private to the system probe: settings of the kernel, and which of them were sent. */
#ifndef MEMWHY_PROBES_SYSTEM_SETTINGS_H
#define MEMWHY_PROBES_SYSTEM_SETTINGS_H

#include "capture/capture.h"
#include "probes/system/system.h"

/* To be zeroed before its first use. */
struct system_settings {
	VEC(struct system_value) sent;
};

/* Reads all settings and sends those that were not sent yet as they are. */
int system_settings_send(struct capture *c, struct system_settings *s);
void system_settings_free(struct system_settings *s);

#endif
