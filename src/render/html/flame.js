// A flame graph, drawn by hand on a canvas: the outermost caller on top. Of two recordings, colours say
// what grew and what shrank.

const FLAME_ROW = 20, FLAME_LEAST = 0.6, FLAME_PAPER = 8000;
const dark = matchMedia('(prefers-color-scheme: dark)');
// Hues of modules, the largest first; the kernel and what has no module have their own.
const hues = [212, 150, 275, 45, 330, 185, 95, 245, 350, 300, 65, 165];
// A module has one colour on the whole page.
const hueOf = new Map();

function moduleHue(module) {
	if (module === '') return null;
	if (module === 'kernel') return 22;
	if (!hueOf.has(module)) hueOf.set(module, hues[hueOf.size % hues.length]);
	return hueOf.get(module);
}

class Flame {
	constructor(table, cut, restrict) {
		Object.assign(this, {table, cut, restrict, stack: table.stackColumns[0], inverse: false, lines: false, key: null, value: '', search: '', at: 0, zoomed: 0});
		this.metrics = flameMetrics(table);
		this.metric = this.metrics.find(m => m.main) || this.metrics[0];
		this.element = h('section', {class: 'view flames', 'data-table': table.name});
		this.controls();
		this.build();
		// In a frame of its own: painting sets the height, which would be observed at once.
		new ResizeObserver(() => requestAnimationFrame(() => this.paint())).observe(this.scroller);
		dark.addEventListener('change', () => this.colour());
		range.tell(table, () => this.build());
	}

	controls() {
		const select = (label, list, text, chosen) => {
			const e = h('select', {change: () => chosen(list[e.selectedIndex])}, list.map(item => h('option', null, text(item))));
			return list.length > 1 ? h('label', null, label, e) : null;
		};
		const toggle = (label, title, flip) => {
			const e = h('button', {type: 'button', title, 'aria-pressed': 'false', click: () => e.setAttribute('aria-pressed', flip())}, label);
			return e;
		};
		const metric = select('Width', this.metrics, m => m.title, m => {
			this.metric = m;
			this.measure();
		});
		if (metric) metric.querySelector('select').selectedIndex = this.metrics.indexOf(this.metric);
		this.find = h('input', {type: 'search', placeholder: 'Search functions', 'aria-label': 'Search functions', input: () => {
			this.search = this.find.value.toLowerCase();
			this.paint();
			this.tell(this.at);
		}});
		this.canvas = h('canvas', {tabindex: 0, role: 'img', click: e => this.zoom(this.under(e)), mousemove: e => this.hover(e), mouseleave: () => tip.hide(),
			keydown: e => this.pressed(e), focus: () => this.paint(), blur: () => this.paint()});
		this.told = h('div', {class: 'told', 'aria-live': 'polite'});
		this.legend = h('div', {class: 'legend'});
		this.hint = h('span', {class: 'hint'});
		this.element.append(
			h('header', null, h('h2', {'data-nav': this.table.title || this.table.name}, 'Flame graph: ' + lowerFirst(this.table.title || this.table.name)), range.label(this.table), this.hint),
			h('div', {class: 'tools'}, metric,
				select('Stack', this.table.stackColumns, c => c.title, c => {
					this.stack = c;
					this.build();
				}),
				this.keys(select),
				toggle('Inverse', 'From the function at hand to its callers', () => {
					this.inverse = !this.inverse;
					this.build();
					return this.inverse;
				}),
				toggle('Lines', 'Tell lines of a function apart', () => {
					this.lines = !this.lines;
					this.build();
					return this.lines;
				}),
				this.back = h('button', {type: 'button', click: () => this.zoom(0)}, 'Reset zoom'),
				h('div', {class: 'grow'}, this.find)),
			h('div', {class: 'flame'}, this.scroller = h('div', {class: 'depth', scroll: () => this.draw()}, this.whole = h('div', null, this.canvas)), this.told), this.legend);
		// On paper nobody scrolls.
		for (const [event, paper] of [['beforeprint', true], ['afterprint', false]])
			addEventListener(event, () => {
				this.paper = paper;
				this.draw();
			});
	}

	// Only the stacks of one process, thread, node, …
	keys(select) {
		const values = c => [...new Set(this.table.rows.map(row => row[c.name]).filter(v => v !== null && v !== undefined))];
		const choices = [{text: 'everything', key: null}];
		for (const c of this.table.columns) {
			if (c.type === 'stack' || c.type === 'hist' || !(c.role === 'key' || c.unit === 'id') || c.below) continue;
			const list = values(c);
			if (list.length > 1 && list.length <= 200)
				list.sort((a, b) => typeof a === 'number' ? a - b : String(a) < String(b) ? -1 : 1).forEach(v => choices.push({text: c.title + ' ' + cellText(c, v), key: c.name, value: v}));
		}
		return select('Of', choices, c => shown(c.text), c => {
			Object.assign(this, {key: c.key, value: c.value});
			this.build();
		});
	}

	build() {
		let rows = range.rows(this.table);
		if (this.key) rows = rows.filter(row => row[this.key] === this.value);
		this.tree = new Tree(rows, this.stack, this);
		this.shown = rows;
		this.zoomed = this.at = 0;
		this.measure();
	}

	measure() {
		const m = this.metric;
		Object.assign(this, this.tree.sums(m.of));
		if (m.diff) {
			this.before = this.tree.sums(row => Number(row[m.before]) || 0).sums;
			this.after = this.tree.sums(row => Number(row[m.after]) || 0).sums;
		}
		Object.assign(this, this.tree.layout(this.sums));
		this.colour();
		this.tell(this.at);
	}

	colour() {
		const totals = new Map();
		for (let node = 1; node < this.tree.n; node++)
			if (this.self[node]) totals.set(this.tree.frames[node].module, (totals.get(this.tree.frames[node].module) || 0) + this.self[node]);
		for (let node = 1; node < this.tree.n; node++)
			if (!totals.has(this.tree.frames[node].module)) totals.set(this.tree.frames[node].module, 0);
		const modules = [...totals].sort((a, b) => b[1] - a[1]).map(([module]) => module);
		this.colours = new Map();
		for (const module of modules) this.colours.set(module, this.shade(moduleHue(module)));
		const swatch = (colour, text) => {
			const i = h('i');
			i.style.background = colour;
			return h('span', null, i, text);
		};
		const list = this.metric.diff ? [swatch(this.change(1), 'grew'), swatch(this.change(-1), 'shrank'), swatch(this.change(0), 'as before')]
			: modules.slice(0, 10).map(m => swatch(this.colours.get(m), m === '' ? 'no module' : baseName(m)));
		if (!this.metric.diff && modules.length > 10) list.push(h('span', null, 'and ' + plural(modules.length - 10, 'smaller module')));
		if (this.tree.incomplete) list.push(swatch(dark.matches ? '#6b4a4a' : '#e3b9b4', plural(this.tree.incomplete, 'stack') + ' incomplete: the callers are not known'));
		this.legend.replaceChildren(...list);
		this.paint();
	}

	shade(hue) {
		if (hue === null) return dark.matches ? '#3a424c' : '#d5dae0';
		return dark.matches ? `hsl(${hue} 38% 31%)` : `hsl(${hue} 62% 80%)`;
	}

	change(share) {
		const strong = Math.min(1, Math.abs(share));
		if (!share) return this.shade(null);
		return dark.matches ? `hsl(${share > 0 ? 18 : 212} ${20 + 38 * strong}% ${26 + 8 * strong}%)` : `hsl(${share > 0 ? 22 : 212} ${40 + 50 * strong}% ${90 - 20 * strong}%)`;
	}

	fill(node) {
		const frame = this.tree.frames[node];
		if (frame.cut) return dark.matches ? '#6b4a4a' : '#e3b9b4';
		if (!node) return dark.matches ? '#2e3641' : '#e4e8ed';
		if (!this.metric.diff) return this.colours.get(frame.module);
		const most = Math.max(this.before[node], this.after[node]);
		return this.change(most ? (this.after[node] - this.before[node]) / most : 0);
	}

	// What is seen: below the node that was zoomed to, and its callers above it at full width.
	paint() {
		const tree = this.tree, wide = this.canvas.clientWidth;
		this.seen = [];
		this.tall = FLAME_ROW;
		if (!wide || !this.sums[0]) return this.draw();
		const scale = wide / this.sums[this.zoomed], left = this.from[this.zoomed];
		const pending = [this.zoomed];
		for (let node = this.zoomed; node; node = tree.parents[node]) this.seen.push({node: tree.parents[node], x: 0, w: wide, caller: true});
		this.seen.reverse();
		let deepest = 0;
		while (pending.length) {
			const node = pending.pop(), w = this.sums[node] * scale;
			if (w < FLAME_LEAST) continue;
			this.seen.push({node, x: (this.from[node] - left) * scale, w});
			deepest = Math.max(deepest, tree.depths[node]);
			for (const child of tree.lists[node] || []) pending.push(child);
		}
		this.tall = (deepest + 1) * FLAME_ROW;
		this.back.hidden = !this.zoomed;
		this.draw();
	}

	// The canvas is as tall as what is seen of the graph, and moves with it: that of a deep one would be
	// slow, and larger than browsers have.
	draw() {
		this.whole.style.height = this.tall + 'px';
		const wide = this.canvas.clientWidth, tall = this.paper ? Math.min(this.tall, FLAME_PAPER) : Math.min(this.tall, this.scroller.clientHeight);
		const top = this.paper ? 0 : Math.min(this.scroller.scrollTop, this.tall - tall);
		const ratio = Math.min(devicePixelRatio || 1, 2), c = this.canvas.getContext('2d');
		const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink');
		this.font = '12px ' + getComputedStyle(document.body).fontFamily;
		if (this.canvas.width !== Math.round(wide * ratio) || this.canvas.height !== Math.round(tall * ratio)) {
			this.canvas.width = Math.round(wide * ratio);
			this.canvas.height = Math.round(tall * ratio);
			this.canvas.style.height = tall + 'px';
		}
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, wide, tall);
		c.textBaseline = 'middle';
		let found = 0;
		for (const {node, x, w, caller} of this.seen) {
			const frame = this.tree.frames[node], y = this.tree.depths[node] * FLAME_ROW - top;
			const hit = this.search && this.matches(frame);
			if (hit) found++;
			if (y <= -FLAME_ROW || y >= tall) continue;
			c.globalAlpha = caller ? 0.55 : this.search && !hit ? 0.35 : 1;
			c.fillStyle = hit ? dark.matches ? '#b58900' : '#ffd75e' : this.fill(node);
			c.fillRect(x, y, Math.max(w - 1, 0.5), FLAME_ROW - 1);
			if (frame.cut) this.hatch(c, x, y, w);
			if (w > 28) this.label(c, frame, x, y, w, hit && dark.matches ? '#1a1f26' : ink);
			c.globalAlpha = 1;
			if (node === this.at && document.activeElement === this.canvas) {
				c.strokeStyle = ink;
				c.lineWidth = 2;
				c.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), FLAME_ROW - 3);
			}
		}
		this.found = found;
	}

	hatch(c, x, y, w) {
		c.save();
		c.beginPath();
		c.rect(x, y, Math.max(w - 1, 0.5), FLAME_ROW - 1);
		c.clip();
		c.strokeStyle = dark.matches ? '#8a6464' : '#cf938b';
		c.lineWidth = 1;
		c.beginPath();
		for (let at = x - FLAME_ROW; at < x + w; at += 7) {
			c.moveTo(at, y + FLAME_ROW);
			c.lineTo(at + FLAME_ROW, y);
		}
		c.stroke();
		c.restore();
	}

	label(c, frame, x, y, w, ink) {
		c.font = (frame.inlined ? 'italic ' : '') + this.font;
		let text = shown(this.lines ? frame.text : frame.name);
		const room = w - 8;
		if (c.measureText(text).width > room) {
			let least = 0, most = Math.min(text.length, Math.ceil(room / 3));
			while (least < most) {
				const middle = (least + most + 1) >> 1;
				if (c.measureText(text.slice(0, middle) + '\u2026').width <= room) least = middle;
				else most = middle - 1;
			}
			if (least < 2) return;
			text = text.slice(0, least) + '\u2026';
		}
		c.fillStyle = ink;
		c.fillText(text, x + 4, y + FLAME_ROW / 2);
	}

	matches(frame) {
		frame.words = frame.words || (frame.text + ' ' + frame.module).toLowerCase();
		return this.search && frame.words.includes(this.search);
	}

	under(event) {
		const box = this.whole.getBoundingClientRect(), x = event.clientX - box.left, depth = Math.floor((event.clientY - box.top) / FLAME_ROW);
		const at = this.seen.find(s => this.tree.depths[s.node] === depth && x >= s.x && x < s.x + s.w);
		return at ? at.node : -1;
	}

	hover(event) {
		const node = this.under(event);
		this.canvas.style.cursor = node < 0 ? '' : 'pointer';
		if (node < 0) return tip.hide();
		const frame = this.tree.frames[node];
		tip.at(event, frame.text, this.words(node).join(' · '), [frame.inlined ? 'inlined' : '', frame.module].filter(Boolean).join(' · '));
	}

	number(v) {
		return numberText(this.metric.unit, v);
	}

	words(node) {
		const share = v => ratioText(this.sums[0] ? v / this.sums[0] : 0);
		if (this.metric.diff) {
			const change = this.after[node] - this.before[node];
			return [`${this.number(this.before[node])} before`, `${this.number(this.after[node])} after`, `${numberText(this.metric.unit, change, true)}`];
		}
		const own = this.self[node] ? [`${this.number(this.self[node])} in itself`] : [];
		return [`${this.number(this.sums[node])} (${share(this.sums[node])})`, ...own];
	}

	tell(node) {
		const frame = this.tree.frames[node];
		const total = this.metric.diff ? null : this.number(this.sums[0]);
		// Rows without a stack: of what is sampled, all that the others stand for.
		const bare = total ? this.shown.reduce((sum, row) => sum + this.metric.of(row), 0) - this.sums[0] : 0;
		if (this.unknown()) this.hint.textContent = 'not known of a part of the time: choose another width';
		else this.hint.textContent = `${this.metric.help ? this.metric.help + '; ' : ''}${plural(this.tree.leaves.length, 'stack')}${bare > 0 ? `; ${this.number(bare)} more have no stack` : ''}${this.cut ? `; ${plural(this.cut, 'row')} more of this table not in this file (--limit)` : ''}`;
		this.told.replaceChildren(
			h('div', {class: 'name'}, node ? frame.text + (frame.inlined && !frame.text.includes('[inlined]') ? ' [inlined]' : '') : total ? 'all: ' + total : 'all'),
			...this.words(node).map((w, i) => h(i ? 'span' : 'b', null, w)),
			frame.file ? h('span', null, frame.file) : '',
			frame.module ? h('span', null, frame.module) : '',
			node && !frame.cut ? h('button', {type: 'button', click: () => this.restrict(row => (row[this.stack.name] || []).some(f => frameKey(f, this.lines) === frameKey(frame, this.lines)), frame)}, 'Rows with it') : '',
			this.search ? h('span', null, `${plural(this.found || 0, 'frame')} found`) : '');
		this.canvas.dataset.sum = this.sums[node];
		this.canvas.setAttribute('aria-label', `Flame graph of ${this.metric.title}. ${node ? frame.text + ': ' : ''}${this.words(node).join(', ')}. Arrow keys move, Enter zooms, Escape goes back.`);
	}

	unknown() {
		return range.chosen && !range.knows(this.table, this.metric.name);
	}

	zoom(node) {
		if (node < 0) return;
		this.zoomed = this.at = node;
		this.paint();
		this.tell(node);
	}

	go(node) {
		if (node === undefined || node < 0) return;
		this.at = node;
		this.paint();
		this.tell(node);
		const y = this.tree.depths[node] * FLAME_ROW, box = this.scroller;
		if (y < box.scrollTop || y + FLAME_ROW > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
	}

	pressed(event) {
		const tree = this.tree, node = this.at, list = tree.lists[tree.parents[node]] || [], i = node ? list.indexOf(node) : 0;
		const keys = {
			ArrowDown: () => this.go((tree.lists[node] || [])[0]),
			ArrowUp: () => this.go(node ? tree.parents[node] : 0),
			ArrowRight: () => node && this.go(list[i + 1]),
			ArrowLeft: () => node && this.go(list[i - 1]),
			Enter: () => this.zoom(node),
			Escape: () => this.zoom(this.zoomed ? tree.parents[this.zoomed] : 0),
			Home: () => this.zoom(0),
			'/': () => this.find.focus(),
		};
		if (!keys[event.key]) return;
		event.preventDefault();
		keys[event.key]();
	}
}

// Each number that adds up; of a comparison, each pair before and after.
function flameMetrics(table) {
	const has = new Map(table.columns.map(c => [c.name, c]));
	const pairs = table.columns.filter(c => c.name.startsWith('before_') && has.has('after_' + c.name.slice(7)) && has.has('change_' + c.name.slice(7)));
	if (pairs.length)
		return pairs.map((c, i) => {
			const before = c.name, after = 'after_' + c.name.slice(7), change = has.get('change_' + c.name.slice(7));
			return {title: c.name.slice(7).replaceAll('_', ' '), unit: c.unit, help: 'wide: the larger of before and after', diff: true, main: !i, before, after,
				of: row => Math.max(Number(row[before]) || 0, Number(row[after]) || 0), change};
		});
	return table.columns.filter(c => c.type === 'number' && c.role === 'sum' && c.unit !== 'id' && table.rows.some(row => Number(row[c.name]) > 0))
		.map(c => ({title: c.title.toLowerCase(), unit: c.unit, help: c.help, main: c === table.main, name: c.name, of: row => Math.max(0, Number(row[c.name]) || 0)}));
}
