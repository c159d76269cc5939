# What the tracker takes of a program's own limits: address space, and the memory of its group.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	group=
	json=$PWD/r.json
	cat >w.c <<-END
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/resource.h>
		#include <unistd.h>
		static pthread_barrier_t all;
		static int pairs;
		static void *work(void *arg)
		{
			for (int i = 0; i < pairs; i++)
				free(*(void *volatile *)&(void *[]){malloc(100)});
			pthread_barrier_wait(&all);
			pthread_barrier_wait(&all);
			return arg;
		}
		static void file_say(const char *path)
		{
			char text[100] = "";
			FILE *f = fopen(path, "r");
			fputs(f && fgets(text, sizeof(text), f) ? text : "none\n", stdout);
			fflush(stdout);
		}
		/* threads PAIRS N FILE: what FILE says when all are at work; limit MIB MIB [wait];
		 * hold MIB */
		int main(int argc, char **argv)
		{
			if (!strcmp(argv[1], "limit")) {
				struct rlimit l;
				getrlimit(RLIMIT_AS, &l);
				l.rlim_cur = (rlim_t)atol(argv[2]) << 20;
				if (setrlimit(RLIMIT_AS, &l))
					return 2;
				void *volatile p = malloc((size_t)atol(argv[3]) << 20);
				puts(p ? "had it" : "no memory");
				fflush(stdout);
				usleep(argc > 4 ? 1500000 : 0);
				return 0;
			}
			if (!strcmp(argv[1], "hold")) {
				size_t bytes = (size_t)atol(argv[2]) << 20;
				explicit_bzero(malloc(bytes), bytes);
				usleep(2500000);
				return 0;
			}
			pthread_t t[64];
			pthread_attr_t small;
			int n = atoi(argv[3]);
			pairs = atoi(argv[2]);
			pthread_attr_init(&small);
			pthread_attr_setstacksize(&small, 65536);
			pthread_barrier_init(&all, NULL, (unsigned)n + 1);
			for (int i = 0; i < n; i++)
				pthread_create(&t[i], &small, work, NULL);
			pthread_barrier_wait(&all);
			file_say(argv[4]);
			file_say("/proc/self/statm");
			pthread_barrier_wait(&all);
			return 0;
		}
	END
	gcc -O1 -D_DEFAULT_SOURCE -pthread -o w w.c
}

# group_make: a group for memory in $group, its usage in $usage and its limit in $limit.
group_make() {
	needs_root
	if [ -e /sys/fs/cgroup/memory/memory.usage_in_bytes ]; then
		group=/sys/fs/cgroup/memory/memwhy-test-$$
		usage=$group/memory.usage_in_bytes limit=$group/memory.limit_in_bytes
	elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
		group=/sys/fs/cgroup/memwhy-test-$$
		usage=$group/memory.current limit=$group/memory.max
	else
		skip "no control groups for memory"
	fi
	mkdir "$group"
}

@test "heap: a program with 64 threads is charged less than 2 MiB for being tracked" {
	group_make
	for pairs in 300 20000; do
		inner="echo \$\$ >$group/cgroup.procs; exec ./w threads $pairs 64 $usage"
		sh -c "$inner" >bare
		"$MEMWHY" heap -o json --out "$json" -- sh -c "$inner" >tracked
		more=$(($(head -n1 tracked) - $(head -n1 bare)))
		echo "$pairs pairs a thread: $more bytes more"
		# The kernel charges 64 pages a CPU ahead.
		[ "$more" -lt $(((2 << 20) + 262144 * $(nproc))) ]
		[ "$(processes threads lost | grep '^65 ')" = "65 0" ]
	done
}

@test "heap: a program with 64 threads has less than 33 MiB of address space more" {
	./w threads 20000 64 /dev/null >bare
	"$MEMWHY" heap -o json --out "$json" -- ./w threads 20000 64 /dev/null >tracked
	more=$((($(awk 'NR == 2 { print $1 }' tracked) - $(awk 'NR == 2 { print $1 }' bare)) * 4096))
	echo "$more bytes more"
	[ "$more" -lt $((33 << 20)) ]
	# Nor does a limit that it sets as it runs get in its way.
	[ "$(./w limit 160 100)" = "had it" ]
	[ "$("$MEMWHY" heap -o json --out "$json" -- ./w limit 160 100)" = "had it" ]
	[ "$(processes peak_bytes)" -ge 104857600 ]
}

@test "heap: a limit that is near is said" {
	"$MEMWHY" heap -o json --out "$json" -- ./w limit 160 115 wait
	jq -e '[.notes[] | select(test("^heap: .w. \\(pid [0-9]+\\) used 1[45][0-9]\\.?[0-9]* MiB of the 160 MiB .*ulimit -v"))] | length == 1' "$json" ||
		{ jq -c .notes "$json"; false; }
	"$MEMWHY" heap -o json --out "$json" -- ./w limit 400 100 wait
	jq -e '[.notes[]? | select(test("ulimit -v"))] | length == 0' "$json"
}

@test "heap: a program whose address space is narrow runs untracked, and that is said" {
	"$MEMWHY" heap -o json --out "$json" -- sh -c 'ulimit -v 100000; ./w limit 90 10; true' >out
	[ "$(cat out)" = "had it" ]
	jq -e '[.notes[] | select(test("1 program was not tracked, the last .w.: .*128 MiB"))] | length == 1' "$json" ||
		{ jq -c .notes "$json"; false; }
}

@test "heap: a group whose memory is nearly used up is said, not one full of files' pages" {
	group_make
	echo $((24 << 20)) >"$limit"
	"$MEMWHY" heap -o json --out "$json" -- sh -c "echo \$\$ >$group/cgroup.procs; exec ./w hold 22"
	jq -e '[.notes[] | select(test("the control group /memwhy-test-.* used .* of its limit of 24(\\.0)? MiB"))] | length == 1' "$json" ||
		{ jq -c .notes "$json"; false; }
	# On a disk: what is in tmpfs has no other place.
	file=$(mktemp -p "$(dirname "$MEMWHY")" limits.XXXXXX)
	"$MEMWHY" heap -o json --out "$json" -- sh -c "echo \$\$ >$group/cgroup.procs
		rm $file; dd if=/dev/zero bs=1M count=64 conv=fsync status=none; cat $usage >&2; sleep 2.5" >"$file" 2>out
	[ "$(head -n1 out)" -gt $((21 << 20)) ]
	jq -e '[.notes[]? | select(test("the control group"))] | length == 0' "$json" ||
		{ jq -c .notes "$json"; false; }
}
