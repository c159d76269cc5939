// The part of the time that the reader brushed. Whoever shows single events shows those in it, and the
// heap is shown as it was then, where each allocation was recorded.

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
		return table.held || hasTimes(table);
	},
	// Calls show when another part is chosen, if the table knows of such.
	tell(table, show) {
		this.listeners.push(() => this.sees(table) && show());
	},
	// The rows of a table as of this part.
	rows(table) {
		if (!this.chosen || !this.sees(table)) return table.rows;
		if (table.held) return table.held.rows(table, this.from, this.to);
		return table.rows.filter(row => row.time_ns >= this.from && row.time_ns < this.to);
	},
};

const hasTimes = table => table.columns.some(c => c.name === 'time_ns' && c.type === 'number') && table.name !== 'course';
