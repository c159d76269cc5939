# A file watcher that meets fs.inotify.max_user_instances: its users are told to look for memory.
# @state sick
# @group 7
# @who watch-limit
# @cause inotify
import ctypes, os, signal, time

libc = ctypes.CDLL(None)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
os.setuid(54321)
print("ready", flush=True)
while True:
    libc.inotify_init()
    time.sleep(0.01)
