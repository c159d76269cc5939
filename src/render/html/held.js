// The heap at any part of the time, of a recording with each allocation and free: what each stack had
// live at its end, at the most within it, and allocated in it (the rows of heap_course.c).

class Held {
	constructor(table, stacks, cut) {
		this.step = table.rows[0].step_ns;
		this.cut = cut || 0;
		this.processes = new Map();
		for (const row of table.rows) this.processes.set(row.process, {name: `${row.comm} (${row.pid})`, end: row.end_ns, whole: this.points(row.points), stacks: []});
		for (const row of stacks.rows) this.processes.get(row.process).stacks.push({key: Held.key(row.stack), points: this.points(row.points)});
		this.last = greatest([...this.processes.values()].flatMap(p => p.whole), 0, p => p.step);
	}

	// What is one stack here is one in the table of the heap, which has frames of its own.
	static key(stack) {
		if (!stack) return '';
		stack.key = stack.key || stack.map(f => f.text + '\t' + f.module).join('\n');
		return stack.key;
	}

	points(text) {
		let step = 0, allocations = 0, bytes = 0;
		return text.split(';').map(one => {
			const v = one.split(' ').map(Number);
			step += v[0];
			allocations += v[5];
			bytes += v[6];
			return {step, blocks: v[1], bytes: v[2], peakBlocks: v[3], peakBytes: v[4], allocations, allocated: bytes};
		});
	}

	// The last one that is not later.
	static at(points, step) {
		let least = 0, most = points.length;
		while (least < most) {
			const middle = (least + most) >> 1;
			if (points[middle].step <= step) least = middle + 1;
			else most = middle;
		}
		return points[least - 1] || Held.none;
	}

	// Whole steps, the nearest ones: the first, and the last.
	steps(from, to) {
		const first = Math.round(from / this.step);
		return [first, Math.max(first, Math.min(this.last, Math.round(to / this.step) - 1))];
	}

	// In which of these steps a process had most.
	peakOf(whole, first, last) {
		const begin = Held.at(whole, first - 1);
		let best = {step: first, peakBytes: begin.bytes, peakBlocks: begin.blocks};
		for (const p of whole) if (p.step >= first && p.step <= last && p.peakBytes > best.peakBytes) best = p;
		return best;
	}

	get end() {
		return (this.last + 1) * this.step;
	}

	// Blocks of all processes: together at the end; of each at its own most.
	within(from, to) {
		const [first, last] = this.steps(from, to), sum = {blocks: 0, bytes: 0, peakBytes: 0, peakBlocks: 0, left: 0};
		for (const p of this.processes.values()) {
			const end = Held.at(p.whole, last), peak = this.peakOf(p.whole, first, last);
			sum.blocks += end.blocks;
			sum.bytes += end.bytes;
			if (p.end !== null && p.end <= (last + 1) * this.step) sum.left += end.bytes;
			sum.peakBytes += peak.peakBytes;
			sum.peakBlocks += peak.peakBlocks;
		}
		return {from: first * this.step, to: (last + 1) * this.step, ...sum};
	}

	// By stack, of all processes.
	stacks(from, to) {
		const [first, last] = this.steps(from, to), found = new Map();
		for (const p of this.processes.values()) {
			const peak = this.peakOf(p.whole, first, last).step;
			for (const {key, points} of p.stacks) {
				const end = Held.at(points, last), before = Held.at(points, first - 1), top = Held.at(points, peak);
				const moved = top.step === peak; // else it had throughout what it had before
				const sum = found.get(key) || {live_blocks: 0, live_bytes: 0, peak_blocks: 0, peak_bytes: 0, allocations: 0, allocated_bytes: 0};
				sum.live_blocks += end.blocks;
				sum.live_bytes += end.bytes;
				sum.peak_blocks += moved ? top.peakBlocks : top.blocks;
				sum.peak_bytes += moved ? top.peakBytes : top.bytes;
				sum.allocations += end.allocations - before.allocations;
				sum.allocated_bytes += end.allocated - before.allocated;
				found.set(key, sum);
			}
		}
		return found;
	}

	// The rows of the table of the heap, as of this part of the time. What is not known of a part is not
	// there.
	rows(table, from, to) {
		const at = from + ' ' + to;
		if (this.cached && this.cached.at === at && this.cached.table === table) return this.cached.rows;
		const stacks = this.stacks(from, to), stack = table.stackColumns[0].name, numbers = table.columns.filter(c => c.type === 'number' || c.type === 'hist');
		const rows = table.rows.flatMap(row => {
			const key = Held.key(row[stack]), sum = stacks.get(key);
			stacks.delete(key); // two programs may have the same one, which is one row here
			if (!sum || !sum.live_blocks && !sum.peak_blocks && !sum.allocations) return [];
			const one = {...row};
			for (const c of numbers) one[c.name] = null;
			return [Object.assign(one, sum)];
		});
		this.cached = {at, table, rows};
		return rows;
	}

	// As a series of the course: all processes, and where there are some, the largest.
	series() {
		const list = [...this.processes.values()].map(p => ({...p, most: greatest(p.whole, 0, point => point.bytes)})).sort((a, b) => b.most - a.most);
		const rows = [], row = (step, of, value) => rows.push({time_ns: step * this.step, series: 'live heap', of, order: null, value, unit: 'bytes'});
		const value = (p, step) => p.end !== null && step * this.step >= p.end ? 0 : Held.at(p.whole, step).bytes;
		for (let step = 0; step <= this.last; step++) row(step, 'all', list.reduce((sum, p) => sum + value(p, step), 0));
		if (list.length > 1)
			for (const p of list.slice(0, 4))
				for (let step = 0; step <= this.last; step++) row(step, p.name, value(p, step));
		return rows;
	}
}

Held.knows = ['live_blocks', 'live_bytes', 'peak_blocks', 'peak_bytes', 'allocations', 'allocated_bytes'];
Held.none = {step: -1, blocks: 0, bytes: 0, peakBlocks: 0, peakBytes: 0, allocations: 0, allocated: 0};
