/* This same program once more, in a process that was forked for it. */
#ifndef MEMWHY_BASE_AGAIN_H
#define MEMWHY_BASE_AGAIN_H

/* argv: with its NULL. It reads nothing, writes to out and err, and ends with the process that
 * forked it. */
_Noreturn void again_exec(const char *const *argv, int out, int err);

#endif
