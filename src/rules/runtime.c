/* See runtime.h. */
#include "rules/runtime.h"

#include <string.h>

#include "base/str.h"
#include "base/units.h"

/* What only this one has: in the names of functions, or of the file that holds the code. */
static const struct mark {
	enum runtime runtime;
	const char *function, *module;
} marks[] = {
	{RUNTIME_JAVA, NULL, "libjvm."},
	{RUNTIME_V8, "v8::", NULL},
	{RUNTIME_GO, "runtime.", NULL},
	{RUNTIME_JEMALLOC, "je_", "libjemalloc."},
	{RUNTIME_JEMALLOC, "_rjem_", NULL},
	{RUNTIME_TCMALLOC, "tcmalloc::", "libtcmalloc"},
	{RUNTIME_GLIBC, "_int_", "libc."},
	{RUNTIME_GLIBC, "sysmalloc", "libc."},
	{RUNTIME_GLIBC, "systrim", "libc."},
	{RUNTIME_GLIBC, "malloc", "libc."},
	{RUNTIME_GLIBC, "calloc", "libc."},
	{RUNTIME_GLIBC, "realloc", "libc."},
	{RUNTIME_GLIBC, "free", "libc."},
	{RUNTIME_GLIBC, "cfree", "libc."},
	{RUNTIME_GLIBC, "__libc_malloc", "libc."}, /* not __libc_start_call_main, which all have */
	{RUNTIME_GLIBC, "__libc_calloc", "libc."},
	{RUNTIME_GLIBC, "__libc_realloc", "libc."},
	{RUNTIME_GLIBC, "__libc_memalign", "libc."},
	{RUNTIME_GLIBC, "__libc_free", "libc."},
};

/* libc is in many processes that have another allocator: there both have to match. */
static bool matches(const struct mark *m, const struct stack_line *l)
{
	bool function = m->function && l->function && begins_with(l->function, m->function);
	bool module = m->module && l->module && begins_with(path_name(l->module), m->module);

	return m->runtime == RUNTIME_GLIBC ? function && module : function || module;
}

static void line_look(void *arg, const struct stack_line *l)
{
	enum runtime *found = arg;

	for (size_t i = 0; i < ARRAY_SIZE(marks) && !l->kernel; i++)
		/* What is built on malloc() tells more than malloc(). */
		if (matches(&marks[i], l) && *found <= RUNTIME_GLIBC)
			*found = MAX(*found, marks[i].runtime);
}

enum runtime runtime_of(const struct report *r, u32 tgid, const u32 *stacks, size_t n)
{
	const char *comm = stream_comm(r->stream, tgid, 0);
	enum runtime found = !strcmp(comm, "java")   ? RUNTIME_JAVA
			     : !strcmp(comm, "node") ? RUNTIME_V8
						     : RUNTIME_UNKNOWN;

	for (size_t i = 0; i < n; i++)
		if (stacks[i])
			stack_each(r->stream, stacks[i], line_look, &found);
	return found;
}

struct caller {
	const char *function;
	bool allocates;
};

static void caller_look(void *arg, const struct stack_line *l)
{
	static const char *const marks_of[] = {
		"alloc", "free", "Alloc", "Free", "mi_", "new", "delete"};
	struct caller *c = arg;

	if (l->kernel || !l->function)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(marks_of); i++)
		c->allocates |= strstr(l->function, marks_of[i]) != NULL;
	/* The C library's function for the call is everybody's. */
	if (!c->function && !(l->module && begins_with(path_name(l->module), "libc.")))
		c->function = l->function;
}

const char *runtime_own_caller(const struct report *r, u32 stack)
{
	struct caller c = {};

	if (stack)
		stack_each(r->stream, stack, caller_look, &c);
	return c.allocates ? NULL : c.function;
}

/* malloc() maps larger blocks each for itself, whatever its threshold is set to
 * (DEFAULT_MMAP_THRESHOLD_MAX of glibc, 64 bit). */
#define THRESHOLD_MOST (32ULL << 20)
#define TUNABLES                                                       \
	"`export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=33554432:" \
	"glibc.malloc.trim_threshold=1073741824`"
#define TUNABLES_LARGE                                                                \
	"`export GLIBC_TUNABLES=glibc.malloc.mmap_max=0:"                             \
	"glibc.malloc.trim_threshold=%llu` (blocks above 32 "                         \
	"MiB get their own mappings unless mmap_max is 0; in threads other than the " \
	"first those above 64 MiB have them all the same)"

static bool is_large(const struct runtime_habit *h)
{
	return h->maps && h->bytes > THRESHOLD_MOST;
}

static u64 trim_threshold(const struct runtime_habit *h)
{
	return MAX(1ULL << 30, h->bytes * 4);
}

static void unknown_tell(struct report *r, struct finding *f, const struct runtime_habit *h)
{
	if (h->caller) {
		finding_line(r, f->try_,
			"Its own code makes these calls (%s), not an allocator: no setting of one "
			"helps. Make that code keep the mapping and reuse it.",
			h->caller);
		return;
	}
	finding_line(r, f->try_,
		"Let its allocator or runtime keep what it will need again (which one it is was "
		"not seen). Go: a higher GOGC, no debug.FreeOSMemory(); Java: -Xms as large as "
		"-Xmx; jemalloc: MALLOC_CONF=dirty_decay_ms:10000,muzzy_decay_ms:10000.");
	if (is_large(h))
		finding_line(r, f->try_,
			"For glibc malloc(), before the program is started: " TUNABLES_LARGE,
			trim_threshold(h));
	else
		finding_line(r, f->try_,
			h->maps ? "For glibc malloc(), before the program is started: " TUNABLES
				: "For glibc malloc(): no malloc_trim(), and before the program is "
				  "started: " TUNABLES);
}

void runtime_tell_keep(
	struct report *r, struct finding *f, enum runtime runtime, const struct runtime_habit *h)
{
	switch (runtime) {
	case RUNTIME_GLIBC:
		if (is_large(h))
			finding_line(r, f->try_,
				"Let glibc malloc() keep what free() returns to it. Before the "
				"program is started: " TUNABLES_LARGE,
				trim_threshold(h));
		else
			finding_line(r, f->try_,
				"Let glibc malloc() keep what free() returns to it (but no setting "
				"stops malloc_trim()). Before the program is started: " TUNABLES);
		return;
	case RUNTIME_JEMALLOC:
		finding_line(r, f->try_,
			"Let jemalloc keep what it will need again, before the program is started: "
			"`export MALLOC_CONF=dirty_decay_ms:10000,muzzy_decay_ms:10000`");
		return;
	case RUNTIME_TCMALLOC:
		finding_line(r, f->try_,
			"Let tcmalloc release memory more slowly, before the program is started: "
			"`export TCMALLOC_RELEASE_RATE=0.1`");
		return;
	case RUNTIME_GO:
		finding_line(r, f->try_,
			"Let the Go runtime collect less often, before the program is started: "
			"`export GOGC=200` (with GOMEMLIMIT as a bound); remove calls of "
			"debug.FreeOSMemory(), which release everything at once.");
		finding_line(r, f->try_,
			"That changes nothing if GOMEMLIMIT, or debug.SetMemoryLimit(), is hardly "
			"above its live heap: near that limit it collects and releases all the "
			"time. Then raise the limit.");
		return;
	case RUNTIME_JAVA:
		finding_line(r, f->try_,
			"Keep the Java heap from shrinking: -Xms as large as -Xmx, and no periodic "
			"collections that shrink it (-XX:G1PeriodicGCInterval=0).");
		return;
	case RUNTIME_V8:
		finding_line(r, f->try_,
			"Let V8 keep a larger young generation: --max-semi-space-size=64 makes its "
			"collections rarer.");
		return;
	case RUNTIME_UNKNOWN:
		break;
	}
	unknown_tell(r, f, h);
}

/* A runtime takes so much beside its heap: its code, its threads, what its collector keeps. */
#define BESIDE_BYTES (256ULL << 20)

/* It had more than its heap may have before it grew: what grows is beside that. */
static bool is_beside(const struct runtime_heap *h)
{
	return h->limit_bytes && h->least_bytes > h->limit_bytes + BESIDE_BYTES;
}

static void v8_buffers_tell(struct report *r, struct finding *f)
{
	f->why =
		"It grows outside the V8 heap, by buffers and typed arrays, or by memory of native "
		"addons: --max-old-space-size does not bound that.";
	finding_line(r, f->try_,
		"Buffers, typed arrays and native addons' memory are outside the V8 heap: check "
		"external and arrayBuffers of process.memoryUsage(), and look for streams whose "
		"data is not consumed (write() returned false).");
}

static void java_native_tell(struct report *r, struct finding *f, u32 tgid, const char *what)
{
	f->why = report_text(
		r, "It grows outside the Java heap, by %s: -Xmx does not bound that.", what);
	finding_line(r, f->try_,
		"Direct buffers (ByteBuffer.allocateDirect), threads, classes and native "
		"libraries' memory are outside the Java heap. Count the direct buffers: `jcmd %u "
		"GC.class_histogram -all | grep java.nio.Direct`",
		tgid);
	finding_line(r, f->try_,
		"By kind, if it is started with -XX:NativeMemoryTracking=summary: `jcmd %u "
		"VM.native_memory summary`",
		tgid);
	finding_line(r, f->try_,
		"Limit direct buffers where it is started: -XX:MaxDirectMemorySize=256m (beyond "
		"that, OutOfMemoryError). A larger -Xmx does not help.");
	finding_line(r, f->try_,
		"See what native code allocates and does not free: `memwhy leak -p %u --for 60s`",
		tgid);
}

static void beside_tell(
	struct report *r, struct finding *f, enum runtime runtime, const struct runtime_heap *h)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	if (is_beside(h))
		finding_line(r, f->evidence,
			"its start options allow its heap %s, and it had %s already: what grows is "
			"most likely outside that heap",
			fmt_bytes(a, h->limit_bytes), fmt_bytes(b, h->least_bytes));
	else
		finding_line(r, f->evidence,
			"its address space grows by as much: a Java heap reserves its addresses at "
			"the start, so what grows is most likely outside that heap");
	if (runtime == RUNTIME_V8)
		v8_buffers_tell(r, f);
	else
		java_native_tell(r, f, h->tgid,
			"direct buffers, threads, classes or memory of native libraries");
}

/* What a runtime has beside its heap, as the functions tell that take memory for it. */
enum part {
	PART_UNKNOWN,
	PART_GO_STACKS,
	PART_JAVA_CLASSES,
	PART_JAVA_DIRECT,
	PART_V8_BUFFERS,
};

static void part_look(void *arg, const struct stack_line *l)
{
	static const struct {
		enum part part;
		const char *function; /* a part of its name */
	} marks_of[] = {
		{PART_GO_STACKS, "runtime.stackalloc"},
		{PART_GO_STACKS, "runtime.stackpoolalloc"},
		{PART_GO_STACKS, "runtime.stackcacherefill"},
		{PART_GO_STACKS, "runtime.malg"},
		{PART_GO_STACKS, "runtime.newstack"},
		{PART_JAVA_CLASSES, "Metaspace::"},
		{PART_JAVA_CLASSES, "ClassFileParser::"},
		{PART_JAVA_CLASSES, "SystemDictionary::"},
		{PART_JAVA_CLASSES, "ClassLoaderData::"},
		{PART_JAVA_DIRECT, "Unsafe_AllocateMemory"},
		{PART_JAVA_DIRECT, "Unsafe_SetMemory"},
		{PART_V8_BUFFERS, "TypedArray"},
		{PART_V8_BUFFERS, "ArrayBuffer"},
		{PART_V8_BUFFERS, "node::Buffer"},
	};
	enum part *found = arg;

	for (size_t i = 0; i < ARRAY_SIZE(marks_of) && !l->kernel && l->function && !*found; i++)
		if (strstr(l->function, marks_of[i].function))
			*found = marks_of[i].part;
}

static void go_stacks_tell(struct report *r, struct finding *f, u32 tgid)
{
	f->why = "It grows by goroutine stacks: ever more goroutines that do not end, as they wait "
		 "forever for a channel or a lock, or some that recurse ever deeper.";
	finding_line(r, f->try_,
		"A heap profile does not include them. How many there are, and where they wait: "
		"/debug/pprof/goroutine?debug=1 of net/http/pprof; or `kill -QUIT %u`, which ends "
		"the program and dumps them to its standard error.",
		tgid);
}

static void classes_tell(struct report *r, struct finding *f, u32 tgid)
{
	f->why = "It grows outside the Java heap, by classes (metaspace): they keep being loaded "
		 "or generated, and stay as long as something refers to their class loader.";
	finding_line(r, f->try_,
		"Count class loaders by type: `jcmd %u VM.classloader_stats | awk '{print $NF}' | "
		"sort | uniq -c | sort -rn | head`",
		tgid);
	finding_line(r, f->try_,
		"Limit them where it is started: -XX:MaxMetaspaceSize=256m (beyond that, "
		"OutOfMemoryError). A larger -Xmx does not help.");
}

/* Where the code path tells what is taken. False: it does not. */
static bool part_tell(
	struct report *r, struct finding *f, enum runtime runtime, const struct runtime_heap *heap)
{
	enum part part = PART_UNKNOWN;

	if (heap->stack)
		stack_each(r->stream, heap->stack, part_look, &part);
	if (part == PART_GO_STACKS && runtime == RUNTIME_GO)
		go_stacks_tell(r, f, heap->tgid);
	else if (part == PART_JAVA_CLASSES && runtime == RUNTIME_JAVA)
		classes_tell(r, f, heap->tgid);
	else if (part == PART_JAVA_DIRECT && runtime == RUNTIME_JAVA)
		java_native_tell(r, f, heap->tgid,
			"direct buffers (ByteBuffer.allocateDirect) or other memory taken through "
			"Unsafe");
	else if (part == PART_V8_BUFFERS && runtime == RUNTIME_V8)
		v8_buffers_tell(r, f);
	else
		return false;
	return true;
}

void runtime_tell_growth(
	struct report *r, struct finding *f, enum runtime runtime, const struct runtime_heap *heap)
{
	u32 tgid = heap->tgid;

	if (part_tell(r, f, runtime, heap))
		return;
	if ((runtime == RUNTIME_JAVA && heap->maps) ||
		((runtime == RUNTIME_JAVA || runtime == RUNTIME_V8) && is_beside(heap))) {
		beside_tell(r, f, runtime, heap);
		return;
	}
	if (runtime != RUNTIME_JAVA && runtime != RUNTIME_V8 && runtime != RUNTIME_GO)
		finding_line(r, f->try_,
			"See what it allocates and does not free: `memwhy leak -p %u --for 60s`",
			tgid);
	switch (runtime) {
	case RUNTIME_JAVA:
		finding_line(r, f->try_,
			"A Java heap may just be filling up to its limit (-Xmx). Its contents and "
			"that limit: `jcmd %u GC.heap_info`, `jcmd %u GC.class_histogram -all | "
			"head -30` (without -all it would collect all garbage first)",
			tgid, tgid);
		return;
	case RUNTIME_V8:
		finding_line(r, f->try_,
			"A V8 heap may just be filling up to its limit (--max-old-space-size, in "
			"MiB). For its contents take a heap snapshot (node "
			"--heapsnapshot-signal=SIGUSR2, or the inspector).");
		return;
	case RUNTIME_GO:
		finding_line(r, f->try_,
			"A Go heap doubles before it is collected (GOGC), up to GOMEMLIMIT. For "
			"its contents: /debug/pprof/heap of net/http/pprof.");
		finding_line(r, f->try_,
			"See what it maps outside that heap (syscall.Mmap, cgo): `memwhy maps "
			"--stacks=user --for 60s -p %u`",
			tgid);
		return;
	case RUNTIME_UNKNOWN:
		finding_line(r, f->try_,
			"A managed heap may just be filling up to its limit (-Xmx, "
			"--max-old-space-size, GOMEMLIMIT): the runtime's own tools show its "
			"contents (jcmd GC.class_histogram, a heap snapshot of Node.js, pprof of "
			"Go, tracemalloc).");
		break;
	default:
		break;
	}
	finding_line(r, f->try_,
		"See what it maps directly, bypassing malloc(): `memwhy maps --stacks=user --for "
		"60s -p %u`",
		tgid);
}
