/*
 * BPF maps that no process has open: pinned in a bpffs, or kept by programs that are attached. All
 * maps are listed as the probe opens, while it may; which of them processes have is found by the
 * looks at their open files.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "probes/holders/holders_inner.h"
#include "sys/fdlink.h"
#include "sys/root.h"
#include "sys/scan.h"

#define MAPS_LISTED 4096
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

/* Without CAP_SYS_ADMIN nothing is listed, and nothing is said of what no process has. */
int holders_maps_list(struct holders *s)
{
	u32 id = 0;
	int rc = 0;

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
		rc = vec_push(&s->maps, m);
	}
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

	own_look(s);
	vec_each (m, &s->maps) {
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
