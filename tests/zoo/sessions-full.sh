# Session files that are never removed, in a tmpfs that may have only so many: opens fail, with memory free.
# @state sick
# @group 7
# @who PID|python3
# @cause no free inode
# @not memory limit|grows
set -e
at=$ZOO_WORK/sessions
mkdir "$at"
mount -t tmpfs -o size=200m,nr_inodes=3000 sessions "$at"
trap 'umount -l "$at"; exit 0' TERM
python3 - "$at" <<'P2' &
import itertools, os, sys, time
for i in itertools.count():
    try:
        with open(f"{sys.argv[1]}/sess_{i}", "w") as f:
            f.write("user=1")
    except OSError:
        time.sleep(0.01)
P2
sleep 2
echo ready
wait
