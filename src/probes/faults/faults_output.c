/* The man page's example: what the command printed on a real run. */
#include "probes/faults/faults_view.h"

const char faults_output[] =
	"$ memwhy faults --limit 3 -- git status -s\n"
	"memwhy faults - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.1 s from 2026-11-21 19:46:34 UTC - events: faults 286 - none lost\n"
	"cost: 13.2 % of one CPU, BPF 1.25 ms (75 ns a run), RSS 3.40 MiB\n"
	"\n"
	"Page faults\n"
	"  PID  COMM  FAULTS  MAJOR  WRITE  KERNEL  HUGE    TIME      P50      P99      MAX\n"
	"28768  git      286      0    177       4     0  536 us  1.71 us  7.61 us  9.77 us\n"
	"\n"
	"$ memwhy faults --by mapping --limit 3 -- git status -s\n"
	"memwhy faults - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.1 s from 2026-11-21 19:46:35 UTC - events: faults 283 - none lost\n"
	"cost: 20.9 % of one CPU, BPF 1.73 ms (237 ns a run), RSS 3.55 MiB\n"
	"\n"
	"Page faults\n"
	"MAPPING    FILE  FAULTS  MAJOR  WRITE  KERNEL  HUGE    TIME      P50      P99      MAX\n"
	"anonymous  -         72      0     66       0     0  144 us  1.64 us  19.9 us  19.9 us\n"
	"heap       -         68      0     68       0     0  103 us  1.42 us  6.10 us  6.10 us\n"
	"file       git       66      0     24       2     0  213 us  3.23 us  7.50 us  7.50 us\n"
	"... 17 more rows; --limit 0 shows all\n";
