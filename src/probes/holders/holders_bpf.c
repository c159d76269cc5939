/*
 * BPF maps that no process has open: pinned in a bpffs, or kept by programs that are attached. All
 * maps are listed as the probe opens, while it may; which of them processes have is found by the
 * looks at their open files. Those of a process that just ended are freed a moment later, so which
 * are still there is asked of the kernel at the end: by an iterator, made while we may.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/kbtf.h"
#include "probes/holders/holders_inner.h"
#include "sys/process/fdlink.h"
#include "sys/process/proc.h"
#include "sys/root.h"
#include "sys/scan.h"

#define MAPS_LISTED 4096
#define ITERATOR "bpf_iter_bpf_map"
#define PINS_LOOKED_AT 2048
#define PIN_DEPTH 8
#define MAPS_WORTH (8ULL << 20) /* what no process has: less than this is not sent */

static struct holder_map *map_find(struct holders *s, u32 id)
{
	vec_each (m, &s->maps)
		if (m->id == id)
			return m;
	return NULL;
}

u64 holders_map_look(struct holders *s, const char *process, const char *number)
{
	struct holder_map *m;
	struct scan line, word;
	u64 bytes = 0, v;
	const char *text;

	if (sys_read(&s->text, "/proc/%s/fdinfo/%s", process, number))
		return 0;
	text = str_get(&s->text);
	while (scan_line(&text, &line)) {
		if (!scan_word(&line, &word) || !scan_u64(&line, &v))
			continue;
		if (scan_is(&word, "memlock:"))
			bytes = v;
		m = scan_is(&word, "map_id:") ? map_find(s, (u32)v) : NULL;
		if (m)
			m->seen = true;
	}
	return bytes;
}

#define INSN(code_, dst_, src_, off_, imm_)                                                \
	{                                                                                  \
		.code = (code_), .dst_reg = (dst_), .src_reg = (src_), .off = (s16)(off_), \
		.imm = (imm_)                                                              \
	}

/* Writes the number of each map there is: ctx is {meta, map}, the first member of meta the file. */
static int iterator_load(u32 function, int offset)
{
	const struct bpf_insn program[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_1, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_1, 8, 0),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 7, 0), /* NULL: the end */
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_6, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_3, BPF_REG_2, offset, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_3, -8, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, sizeof(u32)),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_seq_write),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_TRACE_ITER,
		.attach_btf_id = function);

	return bpf_prog_load(
		BPF_PROG_TYPE_TRACING, "memwhy_maps", "GPL", program, ARRAY_SIZE(program), &o);
}

/* A file that has the number of each map there is when it is read; below 0: the kernel has none. */
static int iterator_open(void)
{
	_cleanup_close_ int program = -1, link = -1;
	u32 function = kbtf_iterator(ITERATOR);
	int offset = kbtf_offset("bpf_map", "id");

	if (!function || offset < 0)
		return -ENOENT;
	program = iterator_load(function, offset);
	if (program >= 0)
		link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
	return link < 0 ? -errno : bpf_iter_create(link);
}

/* Notes which of them are still there; false: not known. */
static bool still_there(struct holders *s)
{
	u32 ids[256];
	ssize_t n;

	while ((n = read(s->iterator - 1, ids, sizeof(ids))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(ids[0]); i++) {
			struct holder_map *m = map_find(s, ids[i]);

			if (m)
				m->there = true;
		}
	return !n;
}

/* Without CAP_SYS_ADMIN nothing is listed, and nothing is said of what no process has. Nor is it
 * where we do not see all processes, in a container. */
int holders_maps_list(struct holders *s)
{
	u64 bytes = 0;
	u32 id = 0;
	int rc = 0;

	if (!proc_namespace_is_first())
		return 0;

	for (u32 n = 0; n < MAPS_LISTED && !rc && !bpf_map_get_next_id(id, &id); n++) {
		struct holder_map m = {.id = id};
		struct bpf_map_info info = {};
		u32 size = sizeof(info);
		char number[16];
		int fd = bpf_map_get_fd_by_id(id);

		if (fd < 0)
			continue;
		snprintf(number, sizeof(number), "%d", fd);
		m.bytes = holders_map_look(s, "self", number);
		if (!bpf_obj_get_info_by_fd(fd, &info, &size))
			snprintf(m.name, sizeof(m.name), "%.15s", info.name);
		close(fd);
		bytes += m.bytes;
		rc = vec_push(&s->maps, m);
	}
	if (!rc && bytes >= MAPS_WORTH)
		s->iterator = MAX(iterator_open(), -1) + 1;
	return rc;
}

/* Those of this process, which is left out of the looks. */
static void own_look(struct holders *s)
{
	const struct dirent *e;
	char target[64];
	DIR *dir = opendir("/proc/self/fd");

	while (dir && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		u64 inode;

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (fdlink_parse(target, &inode) == FD_BPF_MAP)
			holders_map_look(s, "self", e->d_name);
	}
	if (dir)
		closedir(dir);
}

struct pins {
	struct holders *s;
	struct held_maps *r;
	struct capture *c;
	u32 looked;
};

static void pin_look(struct pins *p, const char *path)
{
	struct bpf_map_info info = {};
	u32 size = sizeof(info);
	struct holder_map *m;
	char target[64], link[32];
	u64 inode;
	ssize_t n;
	int fd = bpf_obj_get(path);

	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target) - 1);
	target[MAX(n, (ssize_t)0)] = '\0';
	m = fdlink_parse(target, &inode) == FD_BPF_MAP && !bpf_obj_get_info_by_fd(fd, &info, &size)
		    ? map_find(p->s, info.id)
		    : NULL;
	close(fd);
	if (!m || m->seen)
		return;
	p->r->pinned++;
	if (m->id == p->r->id)
		p->r->path = names_string(p->c->names, path);
}

static void pins_walk(struct pins *p, const char *path, u32 depth)
{
	const struct dirent *e;
	DIR *dir = depth < PIN_DEPTH ? opendir(path) : NULL;

	while (dir && p->looked < PINS_LOOKED_AT && (e = readdir(dir))) {
		_cleanup_str_ struct str below = {};

		if (e->d_name[0] == '.')
			continue;
		p->looked++;
		str_addf(&below, "%s/%s", path, e->d_name);
		if (below.failed)
			break;
		if (e->d_type == DT_DIR)
			pins_walk(p, str_get(&below), depth + 1);
		else if (e->d_type == DT_REG)
			pin_look(p, str_get(&below));
	}
	if (dir)
		closedir(dir);
}

int holders_maps_send(struct capture *c, struct holders *s)
{
	struct held_maps r = REC_INIT(struct held_maps, REC_HELD_MAPS, 0);
	struct pins pins = {.s = s, .r = &r, .c = c};

	/* Of processes that were left out nobody knows what they have. */
	if (!s->iterator || s->cut || !still_there(s))
		return 0;
	own_look(s);
	vec_each (m, &s->maps) {
		m->seen |= !m->there;
		if (m->seen)
			continue;
		r.maps++;
		r.bytes += m->bytes;
		if (m->bytes <= r.id_bytes)
			continue;
		r.id = m->id;
		r.id_bytes = m->bytes;
		memcpy(r.name, m->name, sizeof(r.name));
	}
	if (r.bytes < MAPS_WORTH)
		return 0;
	vec_each (m, &s->table.list)
		if (!strcmp(m->fstype, "bpf"))
			pins_walk(&pins, m->point, 0);
	return capture_emit(c, &r.h);
}
