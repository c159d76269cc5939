// How memory went over time: series below each other on one axis, with one brush over all of them, and
// heat maps on the same axis (free blocks by order; how long events took).

const COURSE_TALL = 56, COURSE_BINS = 96;

function unitText(unit, v) {
	if (unit === 'bytes') return bytesText(Math.round(v));
	if (unit === 'ratio') return ratioText(v);
	if (unit === 'ns/s') return timeText(Math.round(v)) + '/s';
	return magnitudeText('count', v) + (unit === 'count/s' ? '/s' : '');
}

const listText = tables => [...new Set(tables.map(t => lowerFirst(t.title || t.name)))].join(', ');

class Course {
	constructor(table, others, sums, held) {
		Object.assign(this, {table, others, sums, held});
		this.end = greatest([table, ...others].flatMap(t => t.rows), held ? held.end : 1, row => row.time_ns || 0) * 1.02;
		this.plots = h('div', {class: 'plots'});
		this.told = h('div', {class: 'hint told-course', 'aria-live': 'polite'});
		this.clear = h('button', {type: 'button', hidden: true, click: () => range.set(null, null)}, 'All of the time');
		this.element = h('section', {class: 'view course', 'data-table': 'course'},
			h('header', null, h('h2', {'data-nav': 'Over time'}, 'Over time')), h('div', {class: 'tools'}, this.told, this.clear), this.plots);
		this.series();
		this.heats();
		this.axis();
		this.brush();
		range.listeners.push(() => this.show());
		this.show();
	}

	x(time) {
		return time / this.end * 1000;
	}

	panel(title, hint, svg, legend) {
		this.plots.append(h('div', {class: 'plot'}, h('div', {class: 'plot-name'}, h('b', null, title), h('span', null, hint), legend), h('div', {class: 'plot-of'}, svg)));
	}

	// Which line is which, the highest first.
	legend(lines) {
		return lines.map(([of, rows]) => [of, greatest(rows, 0, row => row.value)]).sort((a, b) => b[1] - a[1]).map(([of]) => {
			const e = h('i');
			e.style.background = this.lineColour(lines, of);
			return h('span', {class: 'line-name'}, e, of);
		});
	}

	lineColour(lines, of) {
		return `hsl(${hues[lines.findIndex(line => line[0] === of) % hues.length]} 55% 50%)`;
	}

	// One panel a kind; of processes, the sum is filled and the largest are lines.
	series() {
		const names = new Map();
		for (const row of this.table.rows) {
			if (row.order !== null) continue;
			if (!names.has(row.series)) names.set(row.series, new Map());
			const lines = names.get(row.series), of = row.of === null ? 'all' : row.of;
			if (!lines.has(of)) lines.set(of, []);
			lines.get(of).push(row);
		}
		for (const [name, lines] of names) {
			const all = [...lines.values()].flat(), unit = all[0].unit, most = greatest(all, 1e-9, row => row.value);
			const y = v => COURSE_TALL - 2 - v / most * (COURSE_TALL - 6);
			// A value holds until the next one.
			const path = rows => rows.map((row, i) => `${i ? 'H' : 'M'}${this.x(row.time_ns).toFixed(1)}${i ? 'V' : ' '}${y(row.value).toFixed(1)}`).join('');
			const drawn = [], parts = [...lines].filter(([of]) => of !== 'all');
			for (const [of, rows] of lines) {
				const d = path(rows);
				if (of === 'all') drawn.unshift(h('path', {class: 'under', d: `${d}L${this.x(rows[rows.length - 1].time_ns).toFixed(1)} ${COURSE_TALL}L${this.x(rows[0].time_ns).toFixed(1)} ${COURSE_TALL}Z`}));
				const line = h('path', {class: of === 'all' || !lines.has('all') ? 'curve' : 'curve part', d});
				if (of !== 'all') line.style.stroke = this.lineColour(parts, of);
				drawn.push(line);
			}
			const svg = this.svg(`${name}: at most ${unitText(unit, most)}`, drawn);
			svg.addEventListener('mousemove', event => {
				const time = this.timeAt(svg, event), at = rows => rows.findLast(row => row.time_ns <= time);
				const said = [...lines].map(([of, rows]) => [of, at(rows)]).filter(([, row]) => row).map(([of, row]) => `${parts.length ? of + ': ' : ''}${unitText(unit, row.value)}`);
				if (said.length) tip.at(event, `${name}, ${timeText(Math.round(time))}`, ...said);
			});
			svg.addEventListener('mouseleave', () => tip.hide());
			this.panel(name, `at most ${unitText(unit, most)}`, svg, this.legend(parts));
		}
	}

	svg(label, children) {
		return h('svg', {viewBox: `0 0 1000 ${COURSE_TALL}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label}, children, this.kills());
	}

	// OOM kills, where there were any.
	kills() {
		const kills = this.others.find(t => t.name === 'kills');
		return kills ? kills.rows.map(row => h('line', {class: 'kill', x1: this.x(row.time_ns), x2: this.x(row.time_ns), y1: 0, y2: COURSE_TALL})) : [];
	}

	timeAt(element, event) {
		const box = element.getBoundingClientRect();
		return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * this.end;
	}

	heats() {
		this.freeBlocks();
		for (const t of this.others) {
			const long = t.columns.find(c => ['duration_ns', 'ns', 'total_ns'].includes(c.name) && c.unit === 'ns');
			if (long && t.rows.length > 9) this.latencies(t, long);
		}
	}

	// Orders from the largest down; as dark as much of the most that there were of this order is there.
	freeBlocks() {
		const zones = new Map();
		for (const row of this.table.rows) {
			if (row.order === null) continue;
			if (!zones.has(row.of)) zones.set(row.of, new Map());
			const orders = zones.get(row.of);
			if (!orders.has(row.order)) orders.set(row.order, []);
			orders.get(row.order).push(row);
		}
		for (const [zone, orders] of zones) {
			const list = [...orders.keys()].sort((a, b) => b - a), tall = COURSE_TALL / list.length, cells = [];
			list.forEach((order, i) => {
				const rows = orders.get(order), most = greatest(rows, 1, row => row.value);
				rows.forEach((row, j) => {
					const to = j + 1 < rows.length ? rows[j + 1].time_ns : this.end;
					cells.push(this.cell(this.x(row.time_ns), this.x(to), i * tall, tall, row.value / most));
				});
			});
			const svg = this.svg(`Free blocks of ${zone} by order`, cells);
			svg.addEventListener('mousemove', event => {
				const box = svg.getBoundingClientRect(), order = list[Math.min(list.length - 1, Math.floor((event.clientY - box.top) / box.height * list.length))];
				const row = orders.get(order).findLast(row => row.time_ns <= this.timeAt(svg, event));
				if (row) tip.at(event, `${zone}, order ${order}: ${countText(row.value)} free`, timeText(row.time_ns));
			});
			svg.addEventListener('mouseleave', () => tip.hide());
			this.panel('free blocks by order', `${zone}; order ${list[0]} on top`, svg);
		}
	}

	// How long events took, by powers of two, the longest on top.
	latencies(table, column) {
		const slot = row => Math.floor(Math.log2(Math.max(1, Number(row[column.name]) || 1)));
		const rows = table.rows.filter(row => row.time_ns !== null), slots = rows.map(slot);
		const low = -greatest(slots, -Infinity, slot => -slot), high = greatest(slots, -Infinity), n = high - low + 1, counts = new Map();
		rows.forEach((row, i) => {
			const key = Math.min(COURSE_BINS - 1, Math.floor(row.time_ns / this.end * COURSE_BINS)) * 64 + slots[i] - low;
			counts.set(key, (counts.get(key) || 0) + 1);
		});
		const most = Math.max(...counts.values()), tall = COURSE_TALL / n, wide = 1000 / COURSE_BINS;
		const cells = [...counts].map(([key, count]) => this.cell(Math.floor(key / 64) * wide, Math.floor(key / 64) * wide + wide, (n - 1 - key % 64) * tall, tall, Math.sqrt(count / most)));
		const title = lowerFirst(table.title || table.name);
		const svg = this.svg(`${title}: how long, over time`, cells);
		svg.addEventListener('mousemove', event => {
			const box = svg.getBoundingClientRect(), up = n - 1 - Math.min(n - 1, Math.floor((event.clientY - box.top) / box.height * n));
			const bin = Math.min(COURSE_BINS - 1, Math.floor(this.timeAt(svg, event) / this.end * COURSE_BINS));
			tip.at(event, `${plural(counts.get(bin * 64 + up) || 0, 'event')} of ${timeText(2 ** (up + low))} to ${timeText(2 ** (up + low + 1))}`, title);
		});
		svg.addEventListener('mouseleave', () => tip.hide());
		this.panel('how long', `${title}; ${timeText(2 ** low)} to ${timeText(2 ** (high + 1))}`, svg);
	}

	cell(from, to, y, tall, share) {
		const e = h('rect', {class: 'cell', x: from.toFixed(1), y: y.toFixed(2), width: Math.max(to - from, 1).toFixed(1), height: tall.toFixed(2)});
		e.style.opacity = share ? 0.12 + 0.88 * share : 0;
		return e;
	}

	axis() {
		const marks = [0, 0.25, 0.5, 0.75, 1].map(part => h('span', null, part ? timeText(Math.round(part * this.end)) : '0'));
		this.plots.append(h('div', {class: 'plot axis-of'}, h('div', {class: 'plot-name'}), h('div', {class: 'axis'}, marks)));
	}

	// One over all panels; by keyboard, arrows move it, with Shift its end.
	brush() {
		const kills = this.others.find(t => t.name === 'kills');
		this.cover = h('div', {class: 'cover', tabindex: 0, role: 'slider', 'aria-label': 'Part of the time', 'aria-valuemin': 0, 'aria-valuemax': Math.round(this.end / 1e6),
			pointerdown: event => this.begin(event), keydown: event => this.pressed(event)}, this.chosen = h('div', {class: 'chosen', hidden: true}));
		this.plots.append(this.cover);
		if (kills && kills.rows.length) this.plots.after(h('p', {class: 'hint'}, `Red lines: ${plural(kills.rows.length, 'OOM kill')}.`));
		// The pictures below show what is under the pointer.
		this.cover.addEventListener('mousemove', event => {
			this.cover.style.pointerEvents = 'none';
			const under = document.elementFromPoint(event.clientX, event.clientY), svg = under && under.closest('.plot-of svg');
			this.cover.style.pointerEvents = '';
			if (svg) svg.dispatchEvent(new MouseEvent('mousemove', {clientX: event.clientX, clientY: event.clientY}));
			else tip.hide();
		});
		this.cover.addEventListener('mouseleave', () => tip.hide());
	}

	begin(event) {
		if (event.button) return;
		const from = this.timeAt(this.cover, event);
		const move = e => {
			const to = this.timeAt(this.cover, e);
			if (Math.abs(to - from) > this.end / 200) range.set(Math.min(from, to), Math.max(from, to));
		};
		const end = e => {
			this.cover.removeEventListener('pointermove', move);
			if (Math.abs(this.timeAt(this.cover, e) - from) <= this.end / 200) range.set(null, null);
		};
		this.cover.setPointerCapture(event.pointerId);
		this.cover.addEventListener('pointermove', move);
		this.cover.addEventListener('pointerup', end, {once: true});
	}

	pressed(event) {
		const step = this.end / 50, by = {ArrowLeft: -step, ArrowRight: step}[event.key];
		if (event.key === 'Escape') range.set(null, null);
		else if (by && !range.chosen) range.set(0, this.end / 5);
		else if (by && event.shiftKey) range.set(range.from, Math.min(this.end, Math.max(range.from + step, range.to + by)));
		else if (by) {
			const moved = Math.max(-range.from, Math.min(this.end - range.to, by));
			range.set(range.from + moved, range.to + moved);
		} else return;
		event.preventDefault();
	}

	// What can be said of a part of the time, of which there is one or not.
	words() {
		const {held, others, sums} = this;
		if (!range.chosen) {
			const seen = [held ? 'the heap as it was then' : '', others.length ? 'its single events' : '', sums.length ? 'what was counted in it' : ''].filter(Boolean);
			if (!seen.length) return 'What was recorded says nothing of a part of the time: the tables below are of all of it.';
			return `Draw over a part of the time to see ${seen.join(', and ')}. Each table then says which part it is of.`;
		}
		const heap = held && held.within(range.from, range.to);
		return `${timeText(Math.round(range.from))} to ${timeText(Math.round(range.to))}. ` +
			(heap ? `Heap: ${bytesText(heap.bytes)} in ${plural(heap.blocks, 'block')} live at ${timeText(heap.to)}${heap.left ? ` (${bytesText(heap.left)} of it left behind by programs that had ended)` : ''}, at most ${bytesText(heap.peakBytes)} since ${timeText(heap.from)}.${held.cut ? ` ${plural(held.cut, 'smaller stack')} not in this file (--limit).` : ''} ` : '') +
			(others.length ? `Events: ${listText(others)}. ` : '') +
			(sums.length ? `Counts, in whole readings (about one a second): ${listText(sums)}. ` : '') +
			(heap || others.length || sums.length ? 'Everything else is of all of the time.' : 'The tables below are of all of the time.');
	}

	show() {
		this.chosen.hidden = this.clear.hidden = !range.chosen;
		this.cover.setAttribute('aria-valuenow', Math.round((range.from || 0) / 1e6));
		this.cover.setAttribute('aria-valuetext', range.chosen ? `${timeText(Math.round(range.from))} to ${timeText(Math.round(range.to))}` : 'all');
		if (range.chosen) {
			this.chosen.style.left = range.from / this.end * 100 + '%';
			this.chosen.style.width = (range.to - range.from) / this.end * 100 + '%';
		}
		this.told.textContent = this.words();
		if (this.held && range.chosen) this.told.dataset.until = this.held.within(range.from, range.to).to;
	}
}

// In its place: above the tables of the first report. The section that brought the data goes.
function courseShow(sections) {
	const section = sections.find(s => s.dataset.command === 'report' && s.memwhy);
	const named = name => section && section.memwhy.tables.find(t => t.name === name && t.rows.length);
	const held = named('held') ? new Held(named('held'), named('held_stacks'), (section.memwhy.report.rows_cut || {}).held_stacks) : null, table = section && section.memwhy.tables.find(t => t.name === 'course');
	if (!table || !held && !table.rows.length) return;
	if (held) {
		table.rows = [...held.series(), ...table.rows.filter(row => row.series !== 'live heap')];
		for (const s of sections.filter(s => s !== section && s.memwhy))
			for (const t of s.memwhy.tables.filter(t => t.name === 'heap' && t.stackColumns.length === 1)) t.held = held;
	}
	const below = sections.filter(s => s !== section && s.memwhy).flatMap(s => s.memwhy.tables.filter(t => t.rows.length));
	sections[0].querySelector('.views').before(new Course(table, below.filter(hasTimes), below.filter(t => t.parts), held).element);
	for (const h2 of document.querySelectorAll('.findings h2')) h2.append(' ', range.label(null));
	section.hidden = true;
}
