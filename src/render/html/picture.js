// Pictures of tables whose shape tells what they are: amounts by place (heat maps), events over time.

// Which tables are a grid of cells: table, column across, columns down, columns of the amount.
const grids = [
	{table: 'zones', across: 'order', down: ['node', 'zone'], title: 'Free memory by order', amounts: {
		free_blocks: 'free blocks', free_pages: 'free pages in blocks of this order and larger', change_pages: 'change of these pages', lowest_pages: 'fewest of these pages'}},
	{table: 'places', across: 'node', down: ['name', 'pid'], title: 'Where memory is: objects (down) by node (across)', amounts: {bytes: 'held'}},
	{table: 'pairs', across: 'page_node', down: ['cpu_node'], title: 'Accesses from nodes (down) to nodes (across)', amounts: {accesses: 'accesses'}},
];

const HEAT_ROWS = 40; // the first of the table, which are the largest; it has the others

class Heat {
	constructor(table, grid) {
		Object.assign(this, {table, grid});
		const columns = new Map(table.columns.map(c => [c.name, c]));
		this.amounts = Object.keys(grid.amounts).map(name => columns.get(name)).filter(Boolean);
		this.amount = this.amounts[0];
		this.across = columns.get(grid.across);
		this.down = grid.down.map(name => columns.get(name));
		this.box = h('div', {class: 'scroll plain', tabindex: 0, role: 'region', 'aria-label': grid.title});
		const select = h('select', {change: () => {
			this.amount = this.amounts[select.selectedIndex];
			this.fill();
		}}, this.amounts.map(c => h('option', null, grid.amounts[c.name])));
		this.element = h('section', {class: 'view heats'}, h('header', null, h('h2', null, grid.title), range.label(null)),
			this.amounts.length > 1 ? h('div', {class: 'tools'}, h('label', null, 'Colour', select)) : null, this.box);
		this.fill();
	}

	fill() {
		const rows = new Map(), across = new Set();
		let most = 0;
		for (const row of this.table.rows) {
			const key = this.down.filter(c => row[c.name] !== null).map(c => (c.name === 'name' ? '' : c.title.toLowerCase() + ' ') + cellText(c, row[c.name])).join(', ') || 'not known';
			if (!rows.has(key) && rows.size === HEAT_ROWS) continue;
			if (!rows.has(key)) rows.set(key, new Map());
			const cells = rows.get(key), at = row[this.across.name], before = cells.get(at), name = this.amount.name;
			cells.set(at, before ? {...row, [name]: Number(before[name]) + Number(row[name])} : row);
			across.add(row[this.across.name]);
			most = Math.max(most, Math.abs(Number(row[this.amount.name]) || 0));
		}
		const heads = [...across].filter(v => v !== null).sort((a, b) => a - b);
		this.box.replaceChildren(h('table', {class: 'heat'},
			h('thead', null, h('tr', null, h('th', null, this.across.title.toLowerCase()), heads.map(v => h('th', {class: 'n', scope: 'col'}, cellText(this.across, v))))),
			h('tbody', null, [...rows].map(([key, cells]) => h('tr', null, h('th', {scope: 'row'}, key), heads.map(v => this.cell(cells.get(v), most)))))));
	}

	cell(row, most) {
		const v = row ? row[this.amount.name] : null;
		if (v === null || v === undefined) return h('td');
		const share = most ? Math.sqrt(Math.abs(Number(v)) / most) : 0;
		const td = h('td', {title: this.amount.help}, cellText(this.amount, v));
		td.style.background = `color-mix(in srgb, var(--${v < 0 ? 'grew' : 'accent'}) ${Math.round(share * 55)}%, var(--panel))`;
		return td;
	}
}

// Parts of a time or of an object, a character each: a node or a thread has a colour, shades say how
// much. A strip is as wide as its text below it.
const SHADES = ' .:-=+*#%@';
const markColour = c => Number.isNaN(parseInt(c, 36)) ? c === '*' ? 'var(--soft)' : 'var(--line-soft)' : `hsl(${hues[parseInt(c, 36) % hues.length]} 48% 58%)`;

function strip(text) {
	const parts = [...text.replace(/^\||\|$/g, '')], shades = !parts.some(c => /[a-z0-9]/.test(c));
	const svg = h('svg', {viewBox: `0 0 ${parts.length} 1`, preserveAspectRatio: 'none', role: 'img', 'aria-label': text, class: 'strip'}, parts.map((c, i) => {
		const e = h('rect', {x: i, y: 0, width: 1, height: 1});
		e.style.fill = shades ? `color-mix(in srgb, var(--grew) ${Math.max(0, SHADES.indexOf(c)) * 11}%, var(--line-soft))` : markColour(c);
		return e;
	}), h('title', null, text));
	svg.style.width = parts.length + 'ch';
	if (text.startsWith('|')) svg.style.setProperty('--from', '1ch');
	return svg;
}

function swatch(mark) {
	const e = h('i', {class: 'swatch'});
	e.style.background = markColour(mark);
	return e;
}

// Parts of a whole as one bar: where memory has gone.
class Whole {
	constructor(table) {
		const bytes = table.columns.find(c => c.name === 'bytes');
		const rows = table.rows.filter(row => Number(row.bytes) > 0).sort((a, b) => b.bytes - a.bytes);
		const all = rows.reduce((sum, row) => sum + Number(row.bytes), 0);
		const bar = h('div', {class: 'whole', role: 'img', 'aria-label': rows.map(row => `${row.row} ${cellText(bytes, row.bytes)}`).join(', ')});
		const legend = h('div', {class: 'legend'});
		rows.forEach((row, i) => {
			const colour = row.row === 'free' ? 'var(--line)' : `hsl(${hues[i % hues.length]} 48% 58%)`;
			const part = h('i', {title: `${row.row}: ${cellText(bytes, row.bytes)}`}), swatch = h('i');
			part.style.flexGrow = Number(row.bytes) / all;
			part.style.background = swatch.style.background = colour;
			bar.append(part);
			if (i < 10) legend.append(h('span', null, swatch, `${row.row} ${cellText(bytes, row.bytes)}`));
		});
		this.inside = h('div', {class: 'whole-of'}, bar, legend);
	}
}

function pictures(table) {
	const found = [], has = name => table.columns.some(c => c.name === name);
	if (table.name === 'ledger' && has('row') && has('bytes') && table.rows.length > 1 && new Set(table.rows.map(row => row.row)).size === table.rows.length)
		found.push(new Whole(table));
	for (const grid of grids)
		if (grid.table === table.name && table.rows.length && has(grid.across) && grid.down.every(has) && Object.keys(grid.amounts).some(has)) found.push(new Heat(table, grid));
	return found;
}
