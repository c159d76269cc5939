/* What a sample's data source is called, by its level and where that is; "" if nothing is known. */
#include "perfdata/data_src.h"

static const struct {
	const char *plain, *local, *remote;
} level_names[DATA_LEVELS] = {
	[DATA_LEVEL_UNKNOWN] = {"", "", "remote"},
	[DATA_L0] = {"L0", "L0", "remote L0"},
	[DATA_L1] = {"L1", "L1", "remote L1"},
	[DATA_LFB] = {"LFB", "LFB", "remote LFB"},
	[DATA_L2] = {"L2", "L2", "remote L2"},
	[DATA_L2_MHB] = {"L2 MHB", "L2 MHB", "remote L2 MHB"},
	[DATA_L3] = {"L3", "L3", "remote L3"},
	[DATA_L4] = {"L4", "L4", "remote L4"},
	[DATA_MSC] = {"memory-side cache", "memory-side cache", "remote memory-side cache"},
	[DATA_CACHE] = {"cache", "cache of the node", "remote cache"},
	[DATA_RAM] = {"RAM", "local RAM", "remote RAM"},
	[DATA_PMEM] = {"PMEM", "local PMEM", "remote PMEM"},
	[DATA_CXL] = {"CXL", "local CXL", "remote CXL"},
	[DATA_IO] = {"I/O", "local I/O", "remote I/O"},
	[DATA_UNCACHED] = {"uncached", "local uncached", "remote uncached"},
};

static inline const char *data_source_name(const struct data_src *d)
{
	if (d->level >= DATA_LEVELS)
		return "";
	switch (d->place) {
	case DATA_LOCAL:
		return level_names[d->level].local;
	case DATA_REMOTE:
		return level_names[d->level].remote;
	default:
		return level_names[d->level].plain;
	}
}
