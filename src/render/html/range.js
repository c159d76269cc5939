// The part of the time that the reader brushed. Whoever shows single events shows those in it.

const range = {
	from: null, to: null, listeners: [],
	set(from, to) {
		Object.assign(this, {from, to});
		for (const listener of this.listeners) listener();
	},
	get chosen() {
		return this.from !== null;
	},
	// Of a table of events: is a row in it?
	keeps(row) {
		return this.from === null || row.time_ns >= this.from && row.time_ns < this.to;
	},
};

const hasTimes = table => table.columns.some(c => c.name === 'time_ns' && c.type === 'number') && table.name !== 'course';
