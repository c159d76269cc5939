#!/usr/bin/env python3
"""What a service has to bear, until stdin ends. usage: trouble.py groups|clients PORT PID

groups: 20 control groups a second, each with a process that touches 400 kB, gone after two seconds;
SIGHUP to PID each 30 s. clients: a scrape each five seconds, which must be answered; meanwhile
clients that are slow, send garbage, go away, or do not read. Ends with a line of JSON: what it did."""
import json, mmap, os, random, select, signal, socket, sys, time

role, port, service = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
did = {}


def count(what, n=1):
    did[what] = did.get(what, 0) + n


def waits(seconds):
    """False: stdin has ended."""
    return not select.select([sys.stdin], [], [], max(0, seconds))[0]


def group_make(path):
    os.mkdir(path)
    pid = os.fork()
    if not pid:
        try:
            with open(path + "/cgroup.procs", "w") as f:
                f.write(str(os.getpid()))
            m = mmap.mmap(-1, 400000)
            m.write(b"x" * 400000)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    count("groups")


def group_remove(path):
    try:
        os.rmdir(path)
    except OSError as e:  # its process is on its way out
        return e.errno == 2
    return True


def groups():
    root = "/sys/fs/cgroup"
    if os.path.isdir(root + "/memory"):
        root += "/memory"
    top = f"{root}/memwhy-soak-{os.getpid()}"
    os.mkdir(top)
    live, began, n, reload_at = [], time.time(), 0, time.time() + 30
    while waits(began + n / 20 - time.time()):
        group_make(f"{top}/{n}")
        live.append((time.time() + 2, f"{top}/{n}"))
        n += 1
        while live and live[0][0] < time.time() and group_remove(live[0][1]):
            live.pop(0)
        if time.time() > reload_at:
            os.kill(service, signal.SIGHUP)
            count("reloads")
            reload_at += 30
    for _, path in live:
        while not group_remove(path):
            time.sleep(0.01)
    os.rmdir(top)


def connect():
    s = socket.create_connection(("127.0.0.1", port), timeout=5)
    return s


def scrape():
    began = time.time()
    try:
        with connect() as s:
            s.sendall(b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n")
            first = s.recv(1 << 16)
            while s.recv(1 << 16):
                pass
        count("scrapes" if first.startswith(b"HTTP/1.1 200") else "scrapes_failed")
    except OSError:
        count("scrapes_failed")
    did["slowest_scrape_ms"] = max(did.get("slowest_scrape_ms", 0), int((time.time() - began) * 1000))


def odd_client(held):
    kind = random.choice(["slow", "garbage", "aborted", "deaf"])
    count(kind)
    try:
        s = connect()
        if kind == "slow":
            s.send(b"GET /metr")
            held.append((time.time() + random.uniform(1, 20), s))
            return
        if kind == "garbage":
            s.send(os.urandom(random.randint(1, 9000)) + b"\r\n\r\n")
            s.settimeout(0.2)
            s.recv(1 << 16)
        if kind == "aborted":
            s.send(random.choice([b"GET / HTTP/1.1\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n", b"GE"]))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        if kind == "deaf":
            s.send(b"GET /metrics HTTP/1.1\r\n\r\n")
            held.append((time.time() + random.uniform(1, 20), s))
            return
        s.close()
    except OSError:
        pass


def clients():
    held, scrape_at = [], time.time()
    while waits(random.uniform(0, 0.2)):
        odd_client(held)
        while held and held[0][0] < time.time():
            held.pop(0)[1].close()
        if time.time() > scrape_at:
            scrape()
            scrape_at += 5


{"groups": groups, "clients": clients}[role]()
print(json.dumps(did))
