/* Asks memwhy for the file that this program is to write its events to. */
#ifndef MEMWHY_TRACKER_ATTACH_H
#define MEMWHY_TRACKER_ATTACH_H

#include "tracker/ring.h"

/* NULL: nobody asked for events, or nobody is there any more. */
struct track_head *attach_file(void);

#endif
