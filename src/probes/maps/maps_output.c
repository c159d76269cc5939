/* See maps_output.h. */
#include "probes/maps/maps_output.h"

const char maps_details[] =
	"Counts and times the system calls that change an address space: mmap, munmap, mremap, "
	"brk, mprotect, pkey_mprotect, madvise, process_madvise, remap_file_pages, mlock, mlock2, "
	"munlock, mlockall, munlockall; SysV shared memory (shmget, shmat, shmdt, shmctl); "
	"memfd_create; and POSIX shared memory, which is open and unlink below /dev/shm. Calls of "
	"32-bit and x32 programs are not among them. Attached to every system call of the "
	"machine, the probe makes each a little slower.\n\n"
	"What a call maps or unmaps is the change of VmSize across it, as the kernel counts it: "
	"memory that MAP_FIXED replaces, holes that munmap spans and segments of shmat are right "
	"without knowing their size. Where calls of several threads of a process overlap, the "
	"change cannot be divided, and each call has what its arguments and result say (column "
	"MIXED); their sum is again held against VmSize: what does not fit stands in OTHER. A "
	"call that failed has grown nothing.\n\n"
	"OTHER is what changed VmSize without these calls: exec, which replaces the address space; "
	"the stack, which grows by page faults; calls that are not counted here (io_setup); and "
	"a child of vfork that maps memory in its parent's. A child of fork begins with the VmSize "
	"it inherits, a new program with that of its image: neither is growth.\n\n"
	"HELD is what a code path, file or kind of memory still holds of what it mapped in the "
	"interval: munmap is taken off where the memory was mapped, not where it was unmapped. "
	"The last 65,536 mappings are known by their start; of one with a hole cut into it, only "
	"the last one made is.\n\n"
	"Of a call that failed for want of memory, limits of the process (RLIMIT_AS, RLIMIT_DATA, "
	"RLIMIT_MEMLOCK) and of the machine (vm.max_map_count, overcommit) are compared with the "
	"numbers at that moment. Without kernel BTF limits and names of files are not known, and "
	"growth is by arguments.\n\n"
	"With --stacks or --by stack it is the user stack; what the kernel does in these calls has "
	"but one path.";

const char maps_output[] = "x";
