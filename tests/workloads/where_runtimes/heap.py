# Keeps one in ten objects, and prints what sys._debugmallocstats() says on stderr, then "ready".
import gc
import sys

kept = [("x%d" % i, [i]) for i in range(300000)]
kept = kept[::10]
gc.collect()
print("ready")
sys.stdout.flush()
sys._debugmallocstats()
sys.stderr.flush()
sys.stdin.readline()
