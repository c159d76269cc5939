/* The limit probe's text of the man page, and what the command printed on a real run. */
#include "probes/limit/limit_view.h"

const char limit_details[] =
	"Shows how much memory a control group needs, and which limit fits. It needs what cannot "
	"be "
	"reclaimed, and what it uses again and again; the rest is memory that is only kept because "
	"there was room for it. memwhy never sets a limit: it prints the command, its undo and how "
	"to check.\n\n"
	"Anonymous memory counts as needed as a whole where there is no swap; with swap, what was "
	"touched in the time of the look does. So do shared memory and memory of the kernel, as "
	"nobody knows which of it is used. Of files what was used more than once does: read or "
	"written in two different seconds, or found in the page cache, or touched through a "
	"mapping. What was read once and never again does not.\n\n"
	"Reads and writes are seen as they happen, by tracepoints, each page of each file (exact). "
	"Beyond some 100,000 pages memwhy follows one page in two, four, eight, ... chosen by a "
	"hash "
	"of its place; the report says which, and with which error. Use through mappings is read "
	"off the accessed bits of the page tables: memwhy clears them at the start, once, in all "
	"processes of the group (/proc/PID/clear_refs), and reads smaps after 1, 2, 4, 8, ... "
	"seconds. Until they are used again, such pages look unused to the kernel's own reclaim, "
	"too. Huge pages count as a whole.\n\n"
	"Look for as long as the slowest cycle of the load takes, twice: what is used every five "
	"minutes is not needed by what a minute shows. Where the group still touched new memory in "
	"the last quarter, where uses were lost, or where processes could not be looked at, there "
	"is "
	"no advice, and the report says why.\n\n"
	"The stall time is that of the group (PSI), with version 1 of control groups that of the "
	"whole machine. What to expect at the advised limit is an upper bound by what the group "
	"used "
	"for the first time in the last quarter of the look: it may have been pushed out by then, "
	"and each page would take what disks took for one since boot.";

const char limit_output[] = "";
