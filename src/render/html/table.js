// A table that sorts, filters, opens its rows and gives CSV.

const ROWS_AT_FIRST = 20, ROWS_MORE = 200, ROWS_TO_FILTER = 4;

const csvCell = text => /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
// As -o csv: what a spreadsheet would take for a formula has an apostrophe before it.
const csvText = text => csvCell(/^[=+\-@']/.test(text) ? "'" + text : text);

function csvValue(column, v) {
	if (v === null || v === undefined) return '';
	return column.type === 'number' || column.type === 'bool' ? String(v) : csvText(cellText(column, v));
}

function compareCells(a, b) {
	if (a === b) return 0;
	if (a === null || a === undefined) return 1;
	if (b === null || b === undefined) return -1;
	if (typeof a === 'number' && typeof b === 'number') return b - a;
	if (Array.isArray(a)) return compareCells(a.length ? a[0].text : null, b.length ? b[0].text : null);
	if (/^\d{16,}$/.test(a) || /^\d{16,}$/.test(b)) return BigInt(b) > BigInt(a) ? 1 : -1;
	return String(a) < String(b) ? -1 : 1;
}

class Table {
	constructor(table, cut) {
		Object.assign(this, {table, cut: cut || 0, all: table.columns.every(c => c.hidden || c.wide || c.drawn), limit: ROWS_AT_FIRST, filter: '', among: null, open: new Set()});
		this.sort = {column: null, up: false};
		this.order = table.rows;
		this.element = h('section', {class: 'view table', 'data-table': table.name});
		this.draw();
		range.tell(table, () => this.choose());
	}

	columns() {
		const empty = c => this.table.rows.every(row => row[c.name] === null || row[c.name] === undefined);
		return this.table.columns.filter(c => c.type !== 'stack' && !c.drawn && (this.all || !c.hidden && !c.wide && !(c.rare && empty(c))));
	}

	draw() {
		const t = this.table;
		this.search = h('input', {type: 'search', placeholder: 'Filter rows', 'aria-label': 'Filter rows of ' + (t.title || t.name), input: () => {
			this.filter = this.search.value.toLowerCase();
			this.choose();
		}});
		const hidden = !this.all && t.columns.some(c => c.hidden || c.wide);
		const every = h('button', {type: 'button', 'aria-pressed': 'false', click: () => {
			this.all = !this.all;
			every.setAttribute('aria-pressed', this.all);
			this.fill();
		}}, 'All columns');
		this.grid = h('table');
		this.foot = h('div', {class: 'foot'});
		this.element.append(
			h('header', null, h('h2', {'data-nav': t.title || t.name}, t.title || t.name), t.rows.length ? range.label(t) : ''),
			t.rows.length ? h('div', {class: 'tools'}, t.rows.length < ROWS_TO_FILTER ? null : h('div', {class: 'grow'}, this.search), hidden ? every : null,
				h('button', {type: 'button', click: () => this.csv()}, 'CSV')) : '',
			t.rows.length ? h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t.title || t.name}, this.grid) : h('p', {class: 'hint'}, t.empty || 'No rows.'),
			this.foot);
		this.choose();
	}

	// The rows that are asked for, in order.
	choose() {
		const words = this.filter.split(/\s+/).filter(Boolean), {column, up} = this.sort;
		let rows = range.rows(this.table);
		rows = this.among ? rows.filter(this.among) : rows.slice();
		if (words.length) rows = rows.filter(row => words.every(word => this.text(row).includes(word)));
		if (column) {
			rows.sort((a, b) => compareCells(a[column.name], b[column.name]));
			const known = rows.filter(row => row[column.name] !== null && row[column.name] !== undefined);
			if (up) rows = known.reverse().concat(rows.slice(known.length));
		}
		this.order = rows;
		this.limit = ROWS_AT_FIRST;
		this.fill();
	}

	text(row) {
		this.texts = this.texts || new Map();
		if (!this.texts.has(row))
			this.texts.set(row, this.table.columns.map(c => cellText(c, row[c.name])).join('\n').toLowerCase());
		return this.texts.get(row);
	}

	fill() {
		const columns = this.columns(), stack = this.table.stackColumns[0], main = this.table.main;
		const most = main ? greatest(this.order, 0, row => Math.abs(Number(row[main.name]) || 0)) : 0;
		const body = h('tbody');
		this.opens = stack || this.table.columns.length > columns.length;
		this.order.slice(0, this.limit).forEach(row => this.row(body, row, columns, stack, main, most));
		this.grid.replaceChildren(this.head(columns, stack), body);
		this.footer();
	}

	head(columns, stack) {
		const heads = columns.map(c => {
			const number = c.type === 'number', chosen = this.sort.column === c;
			return h('th', {class: number ? 'n' : null, scope: 'col', title: c.help, 'aria-sort': chosen ? this.sort.up ? 'ascending' : 'descending' : null},
				h('button', {type: 'button', click: () => {
					this.sort = {column: c, up: chosen && !this.sort.up};
					this.choose();
				}}, c.title, chosen ? h('span', {'aria-hidden': 'true'}, this.sort.up ? '\u25b2' : '\u25bc') : null));
		});
		return h('thead', null, h('tr', null, heads, stack ? h('th', {scope: 'col'}, 'CODE') : null));
	}

	row(body, row, columns, stack, main, most) {
		const cells = columns.map(c => this.cell(c, row, main, most));
		if (stack) cells.push(h('td', {class: 'where'}, (row[stack.name] || []).slice(0, 3).map(f => f.name).join(' \u2190 ') || '\u2013'));
		if (!this.opens) {
			body.append(h('tr', null, cells));
			return;
		}
		const tr = h('tr', {class: 'row', tabindex: 0, 'aria-expanded': String(this.open.has(row)), click: () => toggle(), keydown: event => {
			if (event.key !== 'Enter' && event.key !== ' ') return;
			event.preventDefault();
			toggle();
		}}, cells);
		const toggle = () => {
			const opens = !this.open.delete(row);
			if (opens) this.open.add(row);
			tr.setAttribute('aria-expanded', opens);
			if (opens) tr.after(this.more(row, columns, cells.length));
			else tr.nextSibling.remove();
		};
		body.append(tr);
		if (this.open.has(row)) body.append(this.more(row, columns, cells.length));
	}

	cell(c, row, main, most) {
		const v = row[c.name];
		if (c.name === 'picture' && v) return h('td', {class: 'where'}, strip(v), h('span', {class: 'picture'}, v));
		if (c.name === 'mark' && v) return h('td', null, swatch(v), v);
		if (c.type === 'hist') return h('td', null, v && v.length ? histSmall(v) : '\u2013');
		const text = cellText(c, v);
		const td = h('td', {class: c === main ? 'n main' : c.type === 'number' ? 'n' : c.below ? 'wrap' : text.length > 48 ? 'long' : null,
			title: c.type !== 'number' && text.length > 48 ? shown(text) : null}, text);
		if (c === main && most && v) td.style.setProperty('--part', Math.abs(Number(v)) / most * 100 + '%');
		return td;
	}

	// What stands behind a row: its stacks, histograms, and the columns that have no room.
	more(row, columns, span) {
		const t = this.table, box = h('div', {class: 'rowbox'});
		for (const c of t.stackColumns) {
			if (!row[c.name] || !row[c.name].length) continue;
			if (t.stackColumns.length > 1) box.append(h('div', {class: 'hint'}, c.title));
			const method = row[c.name + '_method'];
			if (method) box.append(h('div', {class: 'method'}, 'Stack: ' + method));
			box.append(h('ol', {class: 'stack'}, row[c.name].map(f => h('li', {title: shown([f.file, f.module].filter(Boolean).join(' · '))},
				f.name, h('span', {class: 'place'}, f.rest)))));
		}
		for (const c of t.columns)
			if (c.type === 'hist' && row[c.name] && row[c.name].length) box.append(histLarge(c, row[c.name]));
		const rest = t.columns.filter(c => !columns.includes(c) && c.type !== 'stack' && c.type !== 'hist' && row[c.name] !== null && row[c.name] !== undefined);
		if (rest.length) box.append(h('dl', {class: 'pairs'}, rest.map(c => h('div', {title: c.help}, h('dt', null, c.title), h('dd', null, cellText(c, row[c.name]))))));
		return h('tr', {class: 'more'}, h('td', {colspan: span}, box));
	}

	footer() {
		const n = this.order.length, left = n - this.limit, foot = [];
		if (left > 0) {
			const more = by => h('button', {type: 'button', click: () => {
				this.limit += by;
				this.fill();
			}}, 'Show ' + plural(Math.min(by, left), 'more row'));
			foot.push(more(ROWS_MORE), `${countText(Math.min(n, this.limit))} of ${plural(n, 'row')} shown`);
		} else if (this.filter || this.among || this.order.length < this.table.rows.length) {
			foot.push(`${plural(n, 'row')} of ${countText(this.table.rows.length)}`);
		}
		if (this.among) foot.push(h('button', {type: 'button', click: () => this.restrict(null)}, 'Show all rows again'));
		if (this.cut) foot.push(`${plural(this.cut, 'row')} more ${this.cut === 1 ? 'is' : 'are'} not in this file (--limit)`);
		this.foot.replaceChildren(...foot.map(part => part instanceof Node ? part : h('span', null, part)));
	}

	// Only rows for which this is true; null: all.
	restrict(among) {
		this.among = among;
		this.choose();
	}

	csv() {
		const columns = this.table.columns;
		const lines = [columns.map(c => csvCell(c.name)), ...this.order.map(row => columns.map(c => csvValue(c, row[c.name])))];
		save(`memwhy-${this.table.name}.csv`, 'text/csv', lines.map(line => line.join(',') + '\n').join(''));
	}
}
