/* A file without a name: for what is made before it is known whether it is wanted. */
#ifndef MEMWHY_CMD_UNNAMED_H
#define MEMWHY_CMD_UNNAMED_H

#include "base/err.h"

/* In $TMPDIR or /tmp; to be opened while files may still be opened. From now on no file of this
 * process takes more than nine tenths of what is free there. */
int unnamed_open(int *ret, struct err *err);

#endif
