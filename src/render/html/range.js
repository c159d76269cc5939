// The part of the time that the reader brushed. Whoever shows single events shows those in it; sums are of
// the readings in it, where they were kept apart; and the heap is shown as it was then, where each
// allocation was recorded. The rest stays of all of the time, and says so.

const range = {
	from: null, to: null, listeners: [],
	set(from, to) {
		Object.assign(this, {from, to});
		for (const listener of this.listeners) listener();
	},
	get chosen() {
		return this.from !== null;
	},
	// Does a table know of parts of the time?
	sees(table) {
		return table.held || table.parts || hasTimes(table);
	},
	// Calls show when another part is chosen, if the table knows of such.
	tell(table, show) {
		this.listeners.push(() => this.sees(table) && show());
	},
	// The rows of a table as of this part.
	rows(table) {
		if (!this.chosen || !this.sees(table)) return table.rows;
		if (table.held) return table.held.rows(table, this.from, this.to);
		if (table.parts) return partsRows(table, ...partsWithin(table.parts, this.from, this.to));
		return table.rows.filter(row => row.time_ns >= this.from && row.time_ns < this.to);
	},
	// Is this number known of a part?
	knows(table, name) {
		return table.held ? Held.knows.includes(name) : !table.parts || table.parts.columns.includes(name);
	},
	// Which part a table is of, its beginning and its end; null: all of the time.
	part(table) {
		if (!this.chosen || !table || !this.sees(table)) return null;
		if (table.held) {
			const heap = table.held.within(this.from, this.to);
			return [heap.from, heap.to];
		}
		if (!table.parts) return [this.from, this.to];
		const [first, last] = partsWithin(table.parts, this.from, this.to), {ends} = table.parts;
		return [first ? ends[first - 1] : 0, ends[last]];
	},
	// An element that says so, next to the table; it goes where no part is chosen.
	label(table) {
		const e = h('span', {class: 'part-of', hidden: true});
		this.listeners.push(() => {
			const part = this.part(table);
			e.textContent = part ? part.map(time => timeText(Math.round(time))).join(' to ') : 'of all of the time';
			e.hidden = !this.chosen;
			e.classList.toggle('whole-time', !part);
			e.dataset.part = part ? part.map(Math.round).join(' ') : '';
		});
		return e;
	},
};

const hasTimes = table => table.columns.some(c => c.name === 'time_ns' && c.type === 'number') && table.name !== 'course';

// The nearest whole readings of counters, at least one: the first, and the last.
function partsWithin(parts, from, to) {
	const near = time => parts.ends.reduce((best, end, i) => Math.abs(end - time) < Math.abs((best < 0 ? 0 : parts.ends[best]) - time) ? i : best, -1);
	const first = Math.min(parts.ends.length - 1, near(from) + 1);
	return [first, Math.max(first, near(to))];
}

// What rows had in these readings; of numbers that do not add up nothing is known.
function partsRows(table, first, last) {
	const {parts, rows} = table, at = first + ' ' + last, wide = parts.columns.length + 1;
	if (parts.cached === at) return parts.shown;
	const numbers = table.columns.filter(c => c.type === 'number' && c.role !== 'key' && c.unit !== 'id' && c.unit !== 'hex' || c.type === 'hist');
	parts.cached = at;
	parts.shown = rows.flatMap((row, i) => {
		const sums = new Array(wide - 1).fill(0), list = parts.rows[i];
		let any = false;
		for (let j = 0; j < list.length; j += wide) {
			if (list[j] < first || list[j] > last) continue;
			any = true;
			for (let c = 1; c < wide; c++) sums[c - 1] += Number(list[j + c]);
		}
		if (!any) return [];
		const one = {...row};
		for (const c of numbers) one[c.name] = null;
		parts.columns.forEach((name, c) => one[name] = sums[c]);
		return [one];
	});
	return parts.shown;
}
