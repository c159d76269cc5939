/*
 * Private to the capture of numa: the variables of ELF files. Remembers where the data of files is
 * mapped, and sends the variables there when the first sample falls on it.
 */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_DATA_H
#define MEMWHY_PROBES_NUMA_CAPTURE_DATA_H

#include "base/groups.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "probes/numa/numa.h"

struct numa_data_range {
	u64 start, end; /* with what is in no file (.bss), as far as it is known */
	u64 offset, inode;
	u64 time_ns;
	char *path;
	bool told;
};

struct numa_data {
	struct groups spaces; /* tgid -> struct numa_data_space * */
	bool unread;          /* told: nobody is left to read a file, or who read it died */
};

void numa_data_init(struct numa_data *d);
void numa_data_free(struct numa_data *d);
/* A mapping that came; path "" or NULL: of no file. */
int numa_data_mapping(struct numa_data *d, const struct numa_mapping *m, const char *path);
void numa_data_fork(struct numa_data *d, u32 child, u32 parent);
/* Another program, or its end. */
void numa_data_drop(struct numa_data *d, u32 tgid);
/* Those of a process, in the order in which they came; NULL: none. */
const struct numa_data_range *numa_data_ranges(const struct numa_data *d, u32 tgid, size_t *ret_n);
/* The file of a range, if it is still the same. */
int numa_data_open(u32 tgid, const struct numa_data_range *r, int *ret_fd);
/* Sends REC_NUMA_VARIABLEs if the address is in data of which none were sent. */
int numa_data_sample(struct numa_data *d, struct capture *c, u32 tgid, u64 address);

#endif
