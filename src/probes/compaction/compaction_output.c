/* The man page's example: what the command printed on a real run. */
#include "probes/compaction/compaction_view.h"

const char compaction_output[] =
	"$ memwhy compaction --for 3s\n"
	"memwhy compaction - Linux 6.18.44 - 2 CPUs, 1 node - system-wide\n"
	"3.2 s from 2026-11-21 16:39:53 UTC - events: compaction 6 - none lost\n"
	"cost: 1.3 % of one CPU, BPF 302 us (69 ns a run), RSS 5.73 MiB\n"
	"\n"
	"Compaction\n"
	"  PID  COMM  KIND       ORDER  RUNS  SUCCESS    TIME      P50     P99     MAX     CPU  "
	"SCANNED\n"
	"31582  bash  requested     -1     3        -  191 ms  6.29 ms  182 ms  182 ms  173 ms   "
	"1.81 M\n"
	"... no room for MIGRATED, FAILED; -o wide shows all\n"
	"\n"
	"Zones when runs began\n"
	"NODE  ZONE    ORDER  RUNS       FREE    HIGH  ABOVE-HIGH  INDEX\n"
	"   0  DMA32      -1     1    772,917   5,600     100.0 %      -\n"
	"   0  DMA        -1     1      3,840      26     100.0 %      -\n"
	"   0  Normal     -1     1  1,611,219  19,712     100.0 %      -\n";
