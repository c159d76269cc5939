// The data behind a report (html_data.c): from compressed text to tables whose stacks are arrays of
// frames.

async function unpack(text) {
	const packed = atob(text);
	const bytes = new Uint8Array(packed.length);
	for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
	return new Response(stream).text();
}

// Numbers beyond 2^53 stay exact as strings. An unescaped quote and a colon end a key, and nothing else.
function parseExact(text) {
	return JSON.parse(/\d{16}/.test(text) ? text.replace(/(?<!\\)":(-?\d{16,})(?=[,}])/g, '":"$1"') : text);
}

function frameOf(line, names) {
	const [name, rest, module, file, flags] = line;
	return {
		text: name + rest,
		name: name || (rest.startsWith('/') ? baseName(rest) : rest),
		rest: name ? rest : '',
		module: module < 0 || names[module] === '[kernel]' ? flags & 1 ? 'kernel' : '' : names[module],
		file: file < 0 ? '' : names[file],
		kernel: !!(flags & 1),
		inlined: !!(flags & 2),
	};
}

function decode(data) {
	const frames = data.frames.map(line => frameOf(line, data.names));
	const stacks = data.stacks.map(lines => lines.map(i => frames[i]));
	let row = 0;
	for (const t of data.tables) {
		// Several tables may have one name; their rows come in their order.
		t.rows = data.report.rows.slice(row, row += t.count);
		t.stackColumns = t.columns.filter(c => c.type === 'stack');
		// Pictures made of characters: the page has its own.
		for (const c of t.columns) c.drawn = c.type === 'text' && (c.name === 'bar' || c.name === 'heat');
		for (const c of t.stackColumns)
			for (const row of t.rows) if (row[c.name] !== null) row[c.name] = stacks[row[c.name]];
		t.main = mainColumn(t);
	}
	return data;
}

// The number to look at first.
function mainColumn(t) {
	const values = t.columns.filter(c => c.type === 'number' && ['sum', 'most', 'single', 'least'].includes(c.role));
	const sort = t.sort && values.find(c => c.name === t.sort.replace(/^-/, ''));
	const change = values.find(c => c.change && c.name.startsWith('change_') && t.columns.some(b => b.name === 'before_' + c.name.slice(7)));
	return change || sort || values.find(c => c.weight) || values.find(c => c.role === 'sum') || null;
}
