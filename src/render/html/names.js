// Text and numbers as people read them, and the elements they go into. Text of any origin becomes
// a text node and nothing else: no markup is ever made of data.

// What is not seen but moves, hides or joins what is around it is shown as what it is. The markup
// that memwhy writes has the same list (html_text.c).
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;
const shown = text => String(text).replace(unseen, c => '\\u' + c.codePointAt(0).toString(16).padStart(4, '0'));

// h('td', {class: 'n'}, child, ...): an element. Attributes that are functions listen to events.
function h(tag, attributes, ...children) {
	const svg = tag === 'svg' || tag === 'rect' || tag === 'path' || tag === 'line' || tag === 'text' || tag === 'g' || tag === 'title';
	const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (typeof value === 'function') e.addEventListener(name, value);
		else if (value !== null && value !== undefined && value !== false) e.setAttribute(name, value === true ? '' : value);
	}
	for (const child of children.flat())
		if (child !== null && child !== undefined) e.append(child instanceof Node ? child : shown(child));
	return e;
}

// Three significant digits.
function scaled(v, unit) {
	return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0) + ' ' + unit;
}

function bytesText(n) {
	const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
	if (n < 1024) return n + ' B';
	let v = n / 1024, i = 0;
	for (; v >= 1023.5 && i + 1 < units.length; i++) v /= 1024;
	return scaled(v, units[i]);
}

function timeText(ns) {
	if (ns < 1000) return ns + ' ns';
	if (ns < 999500) return scaled(ns / 1e3, 'us');
	if (ns < 999500000) return scaled(ns / 1e6, 'ms');
	return scaled(ns / 1e9, 's');
}

const countText = n => n < 1e10 ? n.toLocaleString('en-US') : scaled(n / 1e9, 'G');
const ratioText = v => v > 0 && v < 0.0005 ? '<0.1 %' : (v * 100).toFixed(1) + ' %';

function magnitudeText(unit, v) {
	const whole = Number.isInteger(v);
	if (unit === 'ratio') return ratioText(v);
	if (unit === 'permille') return (v / 1000).toFixed(3);
	if (unit === 'bytes') return bytesText(Math.round(v));
	if (unit === 'ns') return timeText(Math.round(v));
	if (!whole && v < 999.5) return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
	if (unit === 'count' || unit === 'pages') return countText(Math.round(v));
	return String(whole ? v : Math.round(v));
}

// A number in its unit, as -o text writes it. Numbers too large for a double are strings of digits.
function numberText(unit, v, change) {
	if (v === null || v === undefined) return '\u2013';
	if (unit === 'hex') return '0x' + BigInt(v).toString(16);
	if (typeof v === 'string') return unit === 'bytes' || unit === 'ns' ? numberText(unit, Number(v), change) : v;
	const sign = v < 0 ? '\u2212' : change && v > 0 ? '+' : '';
	return sign + magnitudeText(unit, Math.abs(v));
}

function cellText(column, v) {
	if (v === null || v === undefined) return '\u2013';
	if (column.type === 'number') return numberText(column.unit, v, column.change);
	if (column.type === 'bool') return v ? 'yes' : 'no';
	if (column.type === 'stack') return v.map(f => f.text).join(';');
	if (column.type === 'hist') return v.map(slot => slot.from + ':' + slot.count).join(';');
	return String(v);
}

const lowerFirst = text => /^[A-Z][a-z]/.test(text) ? text[0].toLowerCase() + text.slice(1) : text;
const baseName = path => path.slice(path.lastIndexOf('/') + 1) || path;
const plural = (n, word) => countText(n) + ' ' + word + (n === 1 ? '' : 's');

// A file for the reader to keep, made here.
function save(name, type, text) {
	const url = URL.createObjectURL(new Blob([text], {type}));
	h('a', {href: url, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = h('textarea', {readonly: true});
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
}

const tip = {
	at(event, ...lines) {
		const e = document.getElementById('tip');
		e.replaceChildren(...lines.map((line, i) => i ? h('small', null, line) : h('span', null, line)));
		e.hidden = false;
		const room = e.getBoundingClientRect();
		e.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - room.width - 8)) + 'px';
		e.style.top = (event.clientY + 20 + room.height > innerHeight ? event.clientY - room.height - 12 : event.clientY + 20) + 'px';
	},
	hide() {
		document.getElementById('tip').hidden = true;
	},
};

// A list may be longer than what a function can be called with, so no Math.max(...list).
function greatest(list, least, of = item => item) {
	return list.reduce((most, item) => Math.max(most, of(item)), least);
}
