/* The text of one frame of kernel code: a call site, a function that an event names. */
#ifndef MEMWHY_ANALYSIS_FRAME_TEXT_H
#define MEMWHY_ANALYSIS_FRAME_TEXT_H

#include "report/report.h"

/* "function+0x1f" of a frame (id in the report's stream); NULL: its symbol is not known. */
const char *frame_text(struct report *r, u32 frame);

#endif
