// Stacks as one tree: who called whom, with a sum at each place. Nodes are numbers; a child comes after
// its parent, so that sums go up in one pass from the last node to the first.

const wholeRoot = {name: 'all', text: 'all', rest: '', module: '', file: '', kernel: false, inlined: false};

// What is merged: a function, wherever in it the call is, or a line of it.
function frameKey(frame, lines) {
	if (frame.key === undefined) {
		frame.key = frame.name + '\0' + frame.module;
		frame.lineKey = frame.text + '\0' + frame.module;
	}
	return lines ? frame.lineKey : frame.key;
}

const cutFrames = new Map();

// In place of the callers that a stack lacks.
function cutFrame(method) {
	if (!cutFrames.has(method))
		cutFrames.set(method, {name: '\u2026 incomplete', text: method, rest: ' (' + method + ')', module: '', file: '', kernel: false, inlined: false, cut: true});
	return cutFrames.get(method);
}

class Tree {
	// inverse: from the function at hand to its callers, else from the outermost caller inwards.
	constructor(rows, stack, {inverse, lines}) {
		this.frames = [wholeRoot];
		this.parents = [0];
		this.depths = [0];
		this.ids = new Map();
		this.children = new Map();
		this.leaves = [];
		this.rows = [];
		this.incomplete = 0;
		for (const row of rows)
			if (row[stack.name] && row[stack.name].length) this.add(row, row[stack.name], row[stack.name + '_method'], inverse, lines);
		this.n = this.frames.length;
		this.deepest = this.depths.reduce((a, b) => Math.max(a, b), 0);
		this.children = null;
	}

	add(row, frames, method, inverse, lines) {
		const cut = method && method.startsWith('cut');
		let node = 0;
		this.incomplete += cut ? 1 : 0;
		if (cut && !inverse) node = this.child(0, cutFrame(method), lines);
		for (let i = 0; i < frames.length; i++) node = this.child(node, frames[inverse ? i : frames.length - 1 - i], lines);
		if (cut && inverse) node = this.child(node, cutFrame(method), lines);
		this.leaves.push(node);
		this.rows.push(row);
	}

	child(node, frame, lines) {
		const key = frameKey(frame, lines);
		let id = this.ids.get(key);
		if (id === undefined) this.ids.set(key, id = this.ids.size);
		const place = node * 4194304 + id;
		let child = this.children.get(place);
		if (child === undefined) {
			child = this.frames.length;
			this.frames.push(frame);
			this.parents.push(node);
			this.depths.push(this.depths[node] + 1);
			this.children.set(place, child);
		}
		return child;
	}

	sums(valueOf) {
		const sums = new Float64Array(this.n), self = new Float64Array(this.n);
		this.leaves.forEach((leaf, i) => {
			const v = valueOf(this.rows[i]);
			sums[leaf] += v;
			self[leaf] += v;
		});
		for (let node = this.n - 1; node > 0; node--) sums[this.parents[node]] += sums[node];
		return {sums, self};
	}

	// Where each node is, as shares of the whole: the largest first within its parent.
	layout(sums) {
		const lists = Array.from({length: this.n}, () => null);
		for (let node = 1; node < this.n; node++) {
			if (!sums[node]) continue;
			const parent = this.parents[node];
			if (lists[parent]) lists[parent].push(node);
			else lists[parent] = [node];
		}
		const from = new Float64Array(this.n), order = [];
		const pending = [0];
		while (pending.length) {
			const node = pending.pop(), list = lists[node];
			order.push(node);
			if (!list) continue;
			list.sort((a, b) => sums[b] - sums[a]);
			let at = from[node];
			for (const child of list) {
				from[child] = at;
				at += sums[child];
			}
			for (let i = list.length; i--;) pending.push(list[i]);
		}
		this.lists = lists;
		return {from, order};
	}
}
