# Run by gdb (oracle.bash): writes the user stack at each call of SYSCALL to OUT, a line of addresses
# each, innermost first. Of a program that it starts (ARGS) or that runs already (PID).
import os
import re

import gdb
from gdb.unwinder import Unwinder, register_unwinder

ENOSYS = 38
WORD = 1 << 64


class FramePointers(Unwinder):
    """Code made at run time, and functions named by NO_CFI, have frame pointers and no more."""

    def __init__(self):
        super().__init__("frame pointers")
        self.files = []
        self.known = {}

    def maps_read(self, pid):
        self.files = []
        for line in open("/proc/%d/maps" % pid):
            fields = line.split(None, 5)
            if len(fields) > 5 and fields[5][0] in "/[" and "x" in fields[1]:
                self.files.append([int(x, 16) for x in fields[0].split("-")])

    def in_file(self, pc):
        return any(start <= pc < end for start, end in self.files)

    def has_cfi(self, pc):
        if pc not in self.known:
            if not self.in_file(pc):
                self.maps_read(gdb.selected_inferior().pid)
            name = gdb.execute("info symbol %#x" % pc, to_string=True)
            no_cfi = os.environ.get("NO_CFI")
            self.known[pc] = self.in_file(pc) and not (no_cfi and re.match(no_cfi, name))
        return self.known[pc]

    def __call__(self, pending):
        pc, sp, bp = (pending.read_register(r) for r in ("rip", "rsp", "rbp"))
        if self.has_cfi(int(pc) % WORD):
            return None
        word = gdb.lookup_type("unsigned long")
        info = pending.create_unwind_info(FrameId(sp, pc))
        at = int(bp) % WORD
        if at & 7 or at < int(sp) % WORD:
            info.add_saved_register("rip", gdb.Value(0).cast(word))
            info.add_saved_register("rsp", sp)
            return info
        saved = gdb.Value(at).cast(word.pointer())
        info.add_saved_register("rip", (saved + 1).dereference())
        info.add_saved_register("rsp", gdb.Value(at + 16).cast(word))
        info.add_saved_register("rbp", saved.dereference())
        return info


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


def stack():
    frame, line = gdb.newest_frame(), []
    while frame:
        if frame.type() != gdb.INLINE_FRAME and frame.pc():
            line.append("%x" % frame.pc())
        frame = frame.older()
    return " ".join(line)


for setting in ("pagination off", "debuginfod enabled off", "startup-with-shell on",
                "backtrace past-main on", "backtrace past-entry on", "backtrace limit 200"):
    gdb.execute("set " + setting)
gdb.execute("handle all nostop noprint pass", to_string=True)
if "PID" in os.environ:
    register_unwinder(None, FramePointers())
    gdb.execute("attach " + os.environ["PID"])
gdb.execute("catch syscall " + os.environ["SYSCALL"])
out = open(os.environ["OUT"], "w", buffering=1)
if "PID" in os.environ:
    out.write("attached\n")
    gdb.execute("continue")
else:
    gdb.execute("run " + os.environ["ARGS"])
while gdb.selected_thread():
    if int(gdb.parse_and_eval("(long)$rax")) == -ENOSYS:  # it begins
        out.write(stack() + "\n")
    gdb.execute("continue")
