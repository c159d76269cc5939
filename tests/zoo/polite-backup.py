# A backup that reads files once and gives each back behind it, as it should.
# @state healthy
# @group 6
import itertools, os, time

print("ready", flush=True)
for i in itertools.count():
    path = f"{os.environ['ZOO_WORK']}/part-{i}"
    part = os.open(path, os.O_RDWR | os.O_CREAT)
    os.write(part, os.urandom(8 << 20))
    os.fsync(part)
    os.posix_fadvise(part, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(part, 8 << 20, 0)
    os.posix_fadvise(part, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(part)
    os.unlink(path)
    time.sleep(0.1)
