/* The man page's longer texts. Private to the probe. */
#ifndef MEMWHY_PROBES_MAPS_OUTPUT_H
#define MEMWHY_PROBES_MAPS_OUTPUT_H

extern const char maps_details[], maps_output[];

#endif
