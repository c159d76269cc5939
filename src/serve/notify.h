/* Notifications to systemd: the service is ready, reloads, is alive, ends (sd_notify's protocol).
 */
#ifndef MEMWHY_SERVE_NOTIFY_H
#define MEMWHY_SERVE_NOTIFY_H

#include "base/util.h"

/* Opens the socket named by NOTIFY_SOCKET: a descriptor, or -1 where nobody waits to be told. */
int notify_open(void);
/* Lines of "NAME=value". Nothing is done with a descriptor below 0, and failures are ignored. */
void notify_send(int fd, const char *lines);
/* How often systemd wants to hear from the service (WATCHDOG_USEC, halved); 0: never. */
u64 notify_watchdog_ns(void);

#endif
