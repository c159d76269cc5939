// The story of an OOM kill as a picture: who grew until then, when it was killed and when its memory was
// free again, and the chain of control groups with their limits. Of each process two sizes are known, so
// it is a straight line between them.

const STORY_WIDE = 760, STORY_LEAST = 300, STORY_TALL = 170, STORY_LINES = 5, STORY_KILLS = 10;

class Story {
	constructor(kill, processes, groups) {
		const grew = processes.filter(p => p.bytes !== null && (p.victim || p.grown_bytes > 0)).sort((a, b) => b.victim - a.victim || b.grown_bytes - a.grown_bytes);
		Object.assign(this, {kill, lines: grew.slice(0, STORY_LINES), more: Math.max(0, grew.length - STORY_LINES)});
		this.wide = Math.max(STORY_LEAST, Math.min(STORY_WIDE, document.documentElement.clientWidth - 40));
		this.before = greatest(this.lines, 1e8, p => p.span_ns || 0);
		this.after = Math.max(kill.freed_ns || 0, this.before * 0.08);
		this.most = greatest(this.lines, 1, p => p.bytes);
		this.element = h('section', {class: 'view story', 'data-table': 'story'},
			h('header', null, h('h2', {'data-nav': 'The story'}, `Kill ${kill.kill}: how it came`), h('span', {class: 'hint'}, this.words())),
			this.lines.length ? h('div', {class: 'scroll plain'}, this.picture()) : '', this.legend(), groups.length ? this.chain(groups) : '');
	}

	words() {
		const k = this.kill, freed = k.freed_ns === null ? '' : `; its memory was free ${timeText(k.freed_ns)} later`;
		return `${k.comm} (${k.pid}) was killed at ${timeText(k.time_ns)}, asked for by ${k.asker_comm || 'another'}${freed}`;
	}

	x(ns) { // since the kill
		return 8 + (ns + this.before) / (this.before + this.after) * (this.wide - 16);
	}

	y(bytes) {
		return STORY_TALL - 24 - bytes / this.most * (STORY_TALL - 44);
	}

	hue(i) {
		return this.lines[i].victim ? 'var(--critical)' : `hsl(${hues[i % hues.length]} 48% 50%)`;
	}

	line(p, i) {
		const from = p.grown_bytes === null ? p.bytes : p.bytes - p.grown_bytes, begin = p.span_ns === null ? -this.before : -p.span_ns;
		const points = [[begin, from], [0, p.bytes]];
		if (p.victim && this.kill.freed_ns !== null) points.push([this.kill.freed_ns, 0], [this.after, 0]);
		else if (!p.victim) points.push([this.after, p.bytes]);
		const e = h('path', {class: 'told-line', d: points.map(([ns, bytes], n) => `${n ? 'L' : 'M'}${this.x(ns).toFixed(1)} ${this.y(bytes).toFixed(1)}`).join('')});
		e.style.stroke = this.hue(i);
		e.style.strokeWidth = p.victim ? 2.5 : 1.5;
		return e;
	}

	picture() {
		const at = (ns, text, y, anchor) => h('text', {x: this.x(ns), y, 'text-anchor': anchor}, text), bottom = STORY_TALL - 8;
		return h('svg', {width: this.wide, height: STORY_TALL, viewBox: `0 0 ${this.wide} ${STORY_TALL}`, role: 'img', 'aria-label': this.words() + '. ' + this.lines.map(p => this.sizes(p)).join('; ')},
			h('line', {class: 'axis', x1: 0, x2: this.wide, y1: STORY_TALL - 24, y2: STORY_TALL - 24}),
			h('line', {class: 'kill', x1: this.x(0), x2: this.x(0), y1: 16, y2: STORY_TALL - 24}),
			this.lines.map((p, i) => this.line(p, i)).reverse(),
			at(-this.before, timeText(this.before) + ' before', bottom, 'start'), at(0, 'killed', 11, 'middle'), at(0, timeText(this.kill.time_ns), bottom, 'middle'));
	}

	sizes(p) {
		const grown = p.grown_bytes > 0 ? `, ${bytesText(p.grown_bytes)} of it in the last ${timeText(p.span_ns)}` : '';
		return `${p.comm} (${p.pid}) ${bytesText(p.bytes)}${grown}`;
	}

	legend() {
		const parts = this.lines.map((p, i) => {
			const swatch = h('i');
			swatch.style.background = this.hue(i);
			return h('span', null, swatch, this.sizes(p) + (p.victim ? ': killed' : ''));
		});
		if (this.more) parts.push(h('span', null, `and ${countText(this.more)} more that grew`));
		return h('div', {class: 'legend'}, parts);
	}

	// From the victim's own group up to the root: how full each was.
	chain(groups) {
		return h('ol', {class: 'chain'}, groups.map(g => {
			const full = g.limit_bytes ? Math.min(1, g.bytes / g.limit_bytes) : 0, bar = h('i', {class: g.at_limit ? 'full' : null});
			bar.style.width = full * 100 + '%';
			return h('li', null, h('b', null, g.cgroup || '?'), h('span', {class: 'level-of'}, bar),
				h('span', null, bytesText(g.bytes) + (g.limit_bytes ? ` of ${bytesText(g.limit_bytes)}` : ', no limit') + (g.at_limit ? ': at its limit' : '') + (g.limit_hit_total ? `, hit ${plural(g.limit_hit_total, 'time')}` : '')));
		}));
	}
}

function stories(data) {
	const named = name => (data.tables.find(t => t.name === name) || {rows: []}).rows;
	if (data.report.command !== 'oom') return [];
	return named('kills').slice(-STORY_KILLS).map(kill => new Story(kill, named('processes').filter(p => p.kill === kill.kill), named('cgroups').filter(g => g.kill === kill.kill)))
		.filter(s => s.lines.length);
}
