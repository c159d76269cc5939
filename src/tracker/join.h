/* Asks memwhy for the file that this program is to write its events to. */
#ifndef MEMWHY_TRACKER_JOIN_H
#define MEMWHY_TRACKER_JOIN_H

#include "tracker/ring.h"

/* First of all. 0: nobody asked for events, or it may end the program to ask for a file. Makes only
 * calls that the loader has just made. */
int attach_prepare(void);
/* NULL: nobody is there any more. */
struct track_head *attach_file(void);

#endif
