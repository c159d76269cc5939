"""Python: objects, threads, processes, other libraries, how it ends."""
import ctypes, gc, mmap, multiprocessing, os, signal, subprocess, sys, threading, tracemalloc, zlib


def objects():
    kept = {}
    for i in range(100000):
        kept[i % 1000] = [str(i)] * (i % 20)
    gc.collect()
    print(len(kept), sys.getsizeof([]))


def square(n):
    return len(bytearray(n)) * n


def threads():
    sums = []
    all = [threading.Thread(target=lambda n=n: sums.append(square(n))) for n in range(50)]
    for t in all:
        t.start()
    for t in all:
        t.join()
    print(sum(sums))


def processes(how):
    with multiprocessing.get_context(how).Pool(3) as pool:
        print(sum(pool.map(square, range(30))))


def children():
    print(subprocess.run(["sh", "-c", "echo from Python; exit 3"], capture_output=True))
    print(subprocess.run(["cat"], input=b"x" * 100000, stdout=subprocess.PIPE).stdout.count(b"x"))
    print(os.waitstatus_to_exitcode(os.system("exit 9")))


def foreign():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    libc.strdup.restype = ctypes.c_void_p
    for i in range(1000):
        libc.free(libc.malloc(i))
    libc.free(libc.strdup(b"word"))
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 100)(*[i * 37 % 100 for i in range(100)])
    libc.qsort(numbers, 100, 4, compare(lambda a, b: a[0] - b[0]))
    print(list(numbers) == list(range(100)))


def traced():
    tracemalloc.start()
    kept = [bytes(1000) for i in range(100)]
    print(tracemalloc.get_traced_memory()[0] // 100000, len(kept))


def mapped():
    m = mmap.mmap(-1, 1 << 20)
    m[:5] = b"hello"
    print(m[:5], len(zlib.compress(m[:])))


def deep(n=0):
    return deep(n + 1)


def fails():
    try:
        deep()
    except RecursionError:
        print("too deep")
    try:
        bytearray(1 << 60)
    except MemoryError:
        print("too much")
    signal.raise_signal(signal.SIGTERM)


if __name__ == "__main__":
    if sys.argv[1] == "processes":
        processes(sys.argv[2])
    else:
        globals()[sys.argv[1]]()
