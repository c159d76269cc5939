/* The heap probe: a command under the preload library, and its processes' accounts as records. */
#include "probes/heap/heap.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/groups.h"
#include "capture/names.h"
#include "probes/heap/attach.h"
#include "probes/heap/collector.h"
#include "probes/heap/heap_records.h"
#include "probes/heap/heap_schema.h"
#include "probes/heap/heap_view.h"
#include "probes/heap/untracked.h"
#include "probes/probe.h"
#include "sys/cgroup.h"

#define WAIT_MS 2000 /* a program waits no longer for a memwhy that stands still */

/* Who told of files: the stacks that the same thread tells of are in these. Others may have been
 * told of other files at the same addresses, sooner or later. */
struct teller {
	u32 process, thread;
};

struct heap_state {
	struct collector *collector;
	struct cgroup_mounts *cgroups;
	struct groups files; /* struct teller -> struct process_map */
	VEC(u32 *) stacks;   /* by id of the image - 1, then by number */
	VEC(u32) n_stacks;
	VEC(struct heap_total) totals; /* to be sent */
	VEC(struct heap_site) sites;
	VEC(struct heap_thread) threads;
	VEC(u32) images; /* of the sites */
	VEC(struct heap_mapping) mappings;
	VEC(u32) mapping_images;
	VEC(struct heap_mapped) mapped;
	struct untracked untracked;
};

static int open_source(struct capture *c, void *state, struct err *err)
{
	struct heap_state *s = state;
	int rc;

	if (!c->preload.open) {
		err_set(err, -EINVAL, "heap needs a command to run");
		return err_hint(err, "memwhy heap -- CMD");
	}
	untracked_begin(&s->untracked, c);
	groups_init(&s->files, sizeof(struct teller), sizeof(struct process_map));
	s->cgroups = calloc(1, sizeof(*s->cgroups));
	if (s->cgroups && cgroup_mounts_read(s->cgroups)) {
		free(s->cgroups);
		s->cgroups = NULL;
	}
	rc = collector_open(c->preload.socket, s->cgroups, c->opt.no_wait ? 0 : WAIT_MS,
		c->opt.sample_bytes, &s->collector);
	if (rc)
		return err_errno(err, rc, "heap: preparing to collect");
	return capture_method(c, "allocations of a command",
		c->preload.library >= 0 ? "preload library, in memory" : "preload library", NULL);
}

static int start(struct capture *c, void *state)
{
	struct heap_state *s = state;

	(void)c;
	return collector_start(s->collector);
}

static int fd(const void *state)
{
	return collector_fd(((const struct heap_state *)state)->collector);
}

static struct process_map *files_get(struct capture *c, struct heap_state *s, const struct news *n)
{
	struct teller who = {n->process, n->thread};
	size_t had = s->files.n;
	struct process_map *files = groups_get(&s->files, &who);

	if (files && s->files.n > had)
		process_map_init(files, names_modules(c->names), 0);
	return files;
}

static u64 shifted(u64 word)
{
	return word >> TRACK_ARG_SHIFT;
}

/* As modules.c of the tracker sends it. */
static int module_take(struct process_map *files, const struct news *n)
{
	char path[1024 + 1] = "";
	u32 length = 0;

	if (n->words < 5)
		return 0;
	for (u32 i = 5; i < n->words; i++)
		for (u32 k = 1; k < 8 && length < sizeof(path) - 1; k++)
			path[length++] = (char)(n->v[i] >> 8 * k);
	path[length] = '\0';
	if (shifted(n->v[0]) >= shifted(n->v[1]))
		return 0;
	return process_map_add(files, shifted(n->v[0]), shifted(n->v[1]), shifted(n->v[2]),
		shifted(n->v[3]), shifted(n->v[4]), path);
}

/* The names of an image's stacks, with room for one more number. */
static u32 *stacks_room(struct heap_state *s, u32 image, u32 number)
{
	while (s->stacks.n < image) {
		if (vec_push(&s->stacks, NULL))
			return NULL;
		if (vec_push(&s->n_stacks, 0))
			return NULL;
	}
	if (number >= s->n_stacks.v[image - 1]) {
		u32 had = s->n_stacks.v[image - 1], n = MAX(MAX(number + 1, 2 * had), 1024U);
		u32 *grown = realloc(s->stacks.v[image - 1], n * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + had, 0, (n - had) * sizeof(*grown));
		s->stacks.v[image - 1] = grown;
		s->n_stacks.v[image - 1] = n;
	}
	return &s->stacks.v[image - 1][number];
}

static int stack_take(struct capture *c, struct heap_state *s, const struct process_map *files,
	u32 image, const struct news *n)
{
	u32 *name = stacks_room(s, image, n->number);
	u64 ips[TRACK_DEPTH];

	if (!name)
		return -ENOMEM;
	for (u32 i = 0; i < n->words && i < TRACK_DEPTH; i++)
		ips[i] = shifted(n->v[i]);
	*name = names_user_stack(c->names, files, ips, MIN(n->words, (u32)TRACK_DEPTH));
	return 0;
}

static int news_take(struct capture *c, struct heap_state *s, const struct news *n)
{
	struct process_map *files;
	u32 image;
	size_t n_processes;
	struct heap_process *const *all;

	collector_lock(s->collector);
	all = collector_processes(s->collector, &n_processes);
	image = n->process <= n_processes ? all[n->process - 1]->image : 0;
	collector_unlock(s->collector);
	files = image ? files_get(c, s, n) : NULL;
	if (!files)
		return image ? -ENOMEM : 0;
	return n->kind == NEWS_MODULE ? module_take(files, n) : stack_take(c, s, files, image, n);
}

static int take(struct capture *c, void *state)
{
	struct heap_state *s = state;
	news_buffer news = {};
	int rc = collector_news(s->collector, &news);

	for (size_t at = 0; at < news.n && !rc;) {
		const struct news *n = (const struct news *)&news.v[at];

		rc = news_take(c, s, n);
		at += sizeof(*n) / sizeof(u64) + n->words;
	}
	vec_free(&news);
	return rc;
}

static int threads_copy(struct heap_state *s, const struct heap_process *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->account.threads.n && !rc; i++)
		rc = vec_push(&s->threads, heap_thread_of(p, i));
	return rc;
}

static int site_copy(struct heap_state *s, struct heap_process *p, size_t index)
{
	if (vec_push(&s->sites, heap_site_of(p, index)))
		return -ENOMEM;
	return vec_push(&s->images, p->image);
}

/* What was live at a peak changes with a new peak also for sites that did nothing since, and ages
 * change with time; so all of them are looked at. */
static int sites_copy(struct heap_state *s, struct heap_process *p)
{
	const struct account *a = &p->account;
	int rc = 0;

	for (size_t i = 0; i < a->sites.n && !rc; i++)
		if (a->sites.v[i].changed || a->sites.v[i].peak != a->peak ||
			(a->old_ms && a->sites.v[i].live_blocks))
			rc = site_copy(s, p, i);
	return rc;
}

static int mappings_copy(struct heap_state *s, struct heap_process *p)
{
	const struct mappings *m = &p->mappings;
	int rc = 0;

	for (size_t i = 0; i < m->sites.n && !rc; i++) {
		const struct mapping_site *site = groups_value(&m->sites, i);

		if (!site->changed && site->peak == m->peak)
			continue;
		rc = vec_push(&s->mappings, heap_mapping_of(p, i));
		rc = rc ? rc : vec_push(&s->mapping_images, p->image);
	}
	if (m->sites.n || m->unmaps)
		rc = rc ? rc : vec_push(&s->mapped, heap_mapped_of(p));
	return rc;
}

static bool did_nothing(const struct heap_process *p)
{
	return !p->account.allocations && !p->account.unknown_frees && !p->dropped &&
	       !p->mappings.sites.n && !p->mappings.unmaps;
}

/* How things stand, while they stand still: between intervals the sums of processes, and where
 * growth is judged those of stacks too. */
static int accounts_copy(const struct capture *c, struct heap_state *s, bool interval)
{
	u64 now = clock_mono_ns() / 1000000;
	size_t n;
	struct heap_process *const *all;
	int rc = 0;

	collector_lock(s->collector);
	all = collector_processes(s->collector, &n);
	for (size_t i = 0; i < n && !rc; i++) {
		struct heap_process *p = all[i];

		if (p->sent)
			continue;
		if (did_nothing(p))
			continue;
		if (!p->ended && (c->ending || (interval && c->opt.outstanding)))
			rc = heap_process_look(p, now);
		rc = rc ? rc : vec_push(&s->totals, heap_total_of(p));
		if (interval || p->ended || c->opt.outstanding)
			rc = rc ? rc : sites_copy(s, p);
		if (interval || p->ended)
			rc = rc ? rc : threads_copy(s, p);
		if (interval || p->ended)
			rc = rc ? rc : mappings_copy(s, p);
		p->sent = p->ended;
	}
	collector_unlock(s->collector);
	return rc;
}

static u32 stack_name(const struct heap_state *s, u32 image, u32 number)
{
	if (image > s->stacks.n || number >= s->n_stacks.v[image - 1])
		return 0;
	return s->stacks.v[image - 1][number];
}

static int accounts_emit(struct capture *c, struct heap_state *s)
{
	int rc = 0;

	vec_each (r, &s->totals) {
		rc = rc ? rc : names_task(c->names, r->tgid, 0, r->comm, r->cgroup);
		rc = rc ? rc : capture_emit(c, &r->h);
	}
	for (size_t i = 0; i < s->sites.n && !rc; i++) {
		s->sites.v[i].stack = stack_name(s, s->images.v[i], s->sites.v[i].site);
		rc = capture_emit(c, &s->sites.v[i].h);
	}
	for (size_t i = 0; i < s->mappings.n && !rc; i++) {
		s->mappings.v[i].stack =
			stack_name(s, s->mapping_images.v[i], s->mappings.v[i].site);
		rc = capture_emit(c, &s->mappings.v[i].h);
	}
	vec_each (r, &s->mapped)
		rc = rc ? rc : capture_emit(c, &r->h);
	vec_each (r, &s->threads) {
		rc = rc ? rc : names_task(c->names, r->tgid, r->tid, r->comm, 0);
		rc = rc ? rc : capture_emit(c, &r->h);
	}
	return rc;
}

/* What a reader would miss. */
static void tell(struct capture *c, struct heap_state *s)
{
	bool known = untracked_tell(&s->untracked, c);
	u32 programs, given_up;

	collector_programs(s->collector, &programs, &given_up);
	if (!programs && !known)
		capture_note(c, NOTE_WARNING,
			"no program was tracked: they are static, or have more privileges than "
			"who runs them, or the library could not be loaded");
	if (given_up)
		capture_note(c, NOTE_WARNING,
			"%u programs went on without memwhy, which had not read for two seconds: "
			"what they did then is not known",
			given_up);
}

/* Stacks that are counted by now have been told of, so they are named between the two. */
static int send(struct capture *c, void *state, bool interval)
{
	struct heap_state *s = state;
	int rc;

	s->totals.n = s->sites.n = s->threads.n = s->images.n = 0;
	s->mappings.n = s->mapping_images.n = s->mapped.n = 0;
	rc = c->ending ? 0 : untracked_look(&s->untracked);
	rc = rc ? rc : accounts_copy(c, s, interval);
	rc = rc ? rc : take(c, s);
	rc = rc ? rc : accounts_emit(c, s);
	if (!rc && c->ending)
		tell(c, s);
	return rc;
}

static void stop(void *state)
{
	struct heap_state *s = state;

	collector_stop(s->collector);
}

static void counts(void *state, u64 *ret_seen, u64 *ret_lost)
{
	struct heap_state *s = state;
	struct heap_process *const *all;
	u64 lost = 0;
	size_t n;

	collector_lock(s->collector);
	all = collector_processes(s->collector, &n);
	for (size_t i = 0; i < n; i++)
		lost += all[i]->dropped;
	*ret_seen = collector_events(s->collector) + lost;
	*ret_lost = lost;
	collector_unlock(s->collector);
}

static void close_source(void *state)
{
	struct heap_state *s = state;

	collector_close(s->collector);
	for (size_t i = 0; i < s->files.n; i++)
		process_map_free(groups_value(&s->files, i));
	vec_each (v, &s->stacks)
		free(*v);
	groups_free(&s->files);
	vec_free(&s->stacks);
	vec_free(&s->n_stacks);
	vec_free(&s->totals);
	vec_free(&s->sites);
	vec_free(&s->threads);
	vec_free(&s->images);
	vec_free(&s->mappings);
	vec_free(&s->mapping_images);
	vec_free(&s->mapped);
	untracked_free(&s->untracked);
	free(s->cgroups);
}

static int survey(struct capture *c)
{
	return capture_method(c, "allocations of a command",
		preload_path() ? "preload library" : "preload library, in memory", NULL);
}

static const struct probe_source source = {
	.size = sizeof(struct heap_state),
	.open = open_source,
	.start = start,
	.fd = fd,
	.take = take,
	.send = send,
	.stop = stop,
	.counts = counts,
	.close = close_source,
	.survey = survey,
};

static const char *const examples[] = {
	"memwhy heap -- sort big.txt",
	"the stacks that held most at the peak of a command's heap",
	"memwhy heap --sort live_bytes -- ./job",
	"what was still allocated at the end, by stack",
	"memwhy heap --sort temporary -- jq . big.json",
	"blocks that were freed at once: what a buffer on the stack would save",
	"memwhy heap --table mapping -- python3 script.py",
	"what programs map by themselves, past the allocator",
	"memwhy heap -o folded -- python3 script.py",
	"bytes at the peak, for a flame graph",
	"memwhy heap -p 1234 --for 1m --sort live_bytes",
	"what a running program allocates and still has after a minute",
	"memwhy heap -p 1234 --sample 512K",
	"the same as an estimate, at about half the cost to the program",
	NULL,
};

const struct probe probe_heap = {
	.name = "heap",
	.summary = "Who allocates heap memory, who holds it, and when it peaked",
	.details =
		"Of a command: runs it under a small preload library, which tells of every malloc, "
		"calloc, realloc, free and their relatives with the stack of the caller. Counts "
		"are exact, also at the peak. Children are followed through fork and exec; each "
		"exec begins a new heap, and a fork's heap is what it allocates itself. What it "
		"inherited and frees is counted apart.\n\n"
		"Stacks are unwound by the call-frame information of the files, so they need no "
		"frame pointers.\n\n"
		"With --sample each allocation is seen with a chance that grows with its size, "
		"and the numbers are estimates, right on average, with their standard error "
		"beside them: two of three are within it. What few blocks make up is uncertain. "
		"What was freed at once is then not known.\n\n"
		"Into statically linked programs nothing is preloaded: such a CMD is followed as "
		"-p does, from its beginning on. Programs that have more privileges than who runs "
		"them (setuid, capabilities), or are started without LD_PRELOAD, run as ever and "
		"are not seen; -p can attach to them. The report names the command and those of "
		"its children that live for two seconds. Not seen is an allocator within the "
		"program's own file, nor a program in "
		"another network namespace.\n\n"
		"Of a command, what its programs map by themselves is shown apart, by stack: "
		"mmap, munmap, mremap, brk and sbrk, always exactly, with --sample too. What "
		"the allocator, the loader and the threads of libc map is not in it, as these "
		"calls do not leave libc; maps shows all of it.\n\n"
		"Where memwhy is not as fast as the command, the command waits for it, so that no "
		"event is lost; with --no-wait events are lost and counted instead, and what "
		"seems to be live may have been freed. If memwhy does not read for two seconds "
		"the command goes on without it, and the report says so.\n\n"
		"Of running processes (-p): puts probes (uprobes) at the functions of their "
		"allocator, in their memory only, and follows each block in the kernel from its "
		"allocation to its free. The allocator is that of the program itself, if it has "
		"one (static programs that are not stripped, too), else a library that stands "
		"before libc, else libc. Calls of these functions among themselves count once. "
		"Blocks from before are not known; their frees are counted apart. Children are "
		"not followed, nor what the process becomes by exec; both are told. Each malloc "
		"and free together cost the process about 2 us more; with --sample 1.2 us where "
		"the kernel can leave out the return (6.13).",
	.examples = examples,
	.output = heap_output,
	.kinds = heap_kinds,
	.n_kinds = HEAP_KINDS,
	.source = &source,
	.bpf = &heap_bpf,
	.view = &heap_view,
	.only_named = true,
};
