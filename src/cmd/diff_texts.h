/* The long texts of `memwhy diff`. */
#ifndef MEMWHY_CMD_DIFF_TEXTS_H
#define MEMWHY_CMD_DIFF_TEXTS_H

extern const char diff_details[], diff_output[];

#endif
