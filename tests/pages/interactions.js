// Does everything once that a reader can do on a page, in a browser (chromium, firefox), and holds what
// comes of it against the JSON of the same recording. usage: interactions.js BROWSER EVENTS_PAGE JSON
// COMMANDS_PAGE HEAP_PAGE HEAP_RECORDING NUMA_PAGE JSON DIFF_PAGE JSON SUMS_PAGE SUMS_RECORDING RECORD_PAGE [OOM_PAGE JSON]. It needs puppeteer-core, and the memwhy of
// $MEMWHY; what fails is said, and the status is 1.
'use strict';
const assert = require('node:assert');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const puppeteer = require('puppeteer-core');

const [, , browserName, eventsPage, jsonFile, commandsPage, heapPage, heapRecording, numaPage, numaFile, changePage, changeFile, sumsPage, sumsRecording, allPage, killPage, killFile] = process.argv;
const want = JSON.parse(fs.readFileSync(jsonFile, 'utf8'));
const rows = want.rows.filter(row => row.stack && row.stack.length);
const sumOf = list => list.reduce((sum, row) => sum + (row.duration_ns || 0), 0);

const browsers = {
	chromium: {browser: 'chrome', executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']},
	firefox: {browser: 'firefox', executablePath: '/usr/bin/firefox-esr'},
};

async function open(browser, path) {
	const page = await browser.newPage();
	const heard = [];
	page.on('console', m => heard.push('console: ' + m.text()));
	page.on('pageerror', e => heard.push('error: ' + e.message));
	page.on('request', r => {
		if (r.url() !== 'file://' + path && !/^(data|blob):/.test(r.url())) heard.push('request: ' + r.url());
	});
	await page.setViewport({width: 1280, height: 900});
	await page.goto('file://' + path);
	await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', {timeout: 60000});
	return {page, heard};
}

const told = page => page.$eval('.flames .told', e => e.textContent);
const shownRows = page => page.$$eval('[data-table="' + rows[0].table + '"].table tbody tr.row', list => list.length);
const button = (page, text) => page.evaluateHandle(t => [...document.querySelectorAll('.view button')].find(b => b.textContent === t), text);

// The sum of the box at hand.
const total = page => page.$eval('.flames canvas', e => Number(e.dataset.sum));
// The sum of the heap's flame graph, of one of its numbers.
const widthOf = (page, title) => page.evaluate(title => {
	const flame = document.querySelector('.flames[data-table="heap"]'), select = [...flame.querySelectorAll('select')].find(s => [...s.options].some(o => o.text === title));
	select.selectedIndex = [...select.options].findIndex(o => o.text === title);
	select.dispatchEvent(new Event('change'));
	return Number(flame.querySelector('canvas').dataset.sum);
}, title);
const press = async (page, text) => (await button(page, text)).evaluate(e => e.click());

const steps = {
	async 'the whole is the sum of JSON'({page}) {
		assert.ok(sumOf(rows) > 0);
		assert.equal(await total(page), sumOf(rows));
	},
	async 'arrows move, Enter zooms, Escape and Home go back'({page}) {
		await page.focus('.flames canvas');
		const all = await told(page);
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('ArrowDown');
		const below = await told(page);
		assert.notEqual(below, all);
		await page.keyboard.press('Enter');
		assert.equal(await page.$$eval('.flames .tools button', l => l.find(b => b.textContent === 'Reset zoom').hidden), false);
		await page.keyboard.press('Escape');
		assert.notEqual(await told(page), below);
		await page.keyboard.press('Home');
		assert.equal(await told(page), all);
	},
	async 'a click zooms, and a button goes back'({page}) {
		const box = await page.$eval('.flames canvas', e => {
			e.scrollIntoView();
			window.scrollBy(0, -100);
			return {...e.getBoundingClientRect().toJSON()};
		});
		const all = await told(page);
		const took = await page.evaluate(({x, y}) => {
			const e = document.querySelector('.flames canvas'), from = performance.now();
			e.dispatchEvent(new MouseEvent('click', {clientX: x, clientY: y, bubbles: true}));
			return performance.now() - from;
		}, {x: box.x + 20, y: box.y + 50});
		console.log(`# zoom: ${took.toFixed(1)} ms`);
		assert.notEqual(await told(page), all);
		assert.ok(took < 2000, `${took} ms`); // 50 ms on a quiet machine
		await press(page, 'Reset zoom');
		assert.equal(await told(page), all);
	},
	// The canvas shows a part of a graph that is taller than the screen.
	async 'a deep graph scrolls, and a click finds what is under it'({page}) {
		await page.bringToFront(); // one behind is not drawn
		await page.setViewport({width: 1280, height: 300});
		await page.evaluate(() => new Promise(done => setTimeout(done, 100)));
		await page.focus('.flames canvas');
		await page.keyboard.press('Home');
		const all = await told(page);
		const at = await page.evaluate(async () => {
			const canvas = document.querySelector('.flames canvas'), scroller = canvas.closest('.depth');
			scroller.scrollIntoView();
			window.scrollBy(0, -60);
			scroller.scrollTop = 105;
			await new Promise(done => setTimeout(done, 100));
			const box = canvas.getBoundingClientRect(), room = scroller.getBoundingClientRect();
			const found = {scrolled: scroller.scrollTop, apart: Math.abs(box.top - room.top), tall: box.height, room: scroller.clientHeight, whole: scroller.scrollHeight};
			canvas.dispatchEvent(new MouseEvent('click', {clientX: box.x + 3, clientY: box.y + 30, bubbles: true}));
			return found;
		});
		assert.equal(at.scrolled, 105);
		assert.ok(at.apart < 2 && at.tall <= at.room && at.whole > at.room, JSON.stringify(at));
		const clicked = await told(page);
		await page.keyboard.press('Home');
		for (let depth = 0; depth < Math.floor((105 + 30) / 20); depth++) await page.keyboard.press('ArrowDown');
		assert.equal(await told(page), clicked);
		await page.keyboard.press('Home');
		assert.equal(await told(page), all);
		await page.setViewport({width: 1280, height: 900});
	},
	async 'search finds a function of JSON'({page}) {
		await page.focus('.flames canvas');
		await page.keyboard.press('/');
		await page.keyboard.type(rows[0].stack[0].match(/^[A-Za-z_]+/)[0].toLowerCase());
		assert.match(await told(page), /[1-9][0-9,]* frames? found/);
		await page.$eval('.flames input[type=search]', e => {
			e.value = '';
			e.dispatchEvent(new Event('input'));
		});
	},
	async 'inverse and lines keep the sum'({page}) {
		const all = await total(page);
		for (const name of ['Inverse', 'Lines']) {
			const b = await button(page, name);
			await b.evaluate(e => e.click());
			assert.equal(await b.evaluate(e => e.getAttribute('aria-pressed')), 'true');
			assert.equal(await total(page), all);
			await b.evaluate(e => e.click());
		}
	},
	async 'a table sorts, filters, opens a row and gives CSV'({page}) {
		const at = `[data-table="${rows[0].table}"].table`;
		await page.$$eval(at + ' th button', l => l[0].click());
		assert.equal(await page.$$eval(at + ' th', l => l[0].getAttribute('aria-sort')), 'descending');
		await page.type(at + ' input[type=search]', 'no such row');
		assert.equal(await shownRows(page), 0);
		await page.$eval(at + ' input[type=search]', e => {
			e.value = '';
			e.dispatchEvent(new Event('input'));
		});
		await page.$eval(at + ' tr.row', e => e.click());
		assert.equal(await page.$eval(at + ' tr.row', e => e.getAttribute('aria-expanded')), 'true');
		assert.ok(await page.$(at + ' tr.more .stack li'));
		const csv = await page.evaluate(async where => {
			let kept;
			URL.createObjectURL = blob => (kept = blob, 'blob:null/kept');
			HTMLAnchorElement.prototype.click = () => 0;
			[...document.querySelectorAll(where + ' button')].find(b => b.textContent === 'CSV').click();
			return kept.text();
		}, at);
		assert.equal(csv.trimEnd().split('\n').length, want.rows.filter(row => row.table === rows[0].table).length + 1);
	},
	async 'the brush leaves the events of its time, in table and flame graph'({page}) {
		await page.$eval('.course', e => e.scrollIntoView());
		const box = await (await page.$('.cover')).boundingBox();
		const y = box.y + box.height / 2;
		await page.mouse.move(box.x + box.width * 0.1, y);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.4, y, {steps: 4});
		await page.mouse.up();
		const all = Math.max(...want.rows.map(row => row.time_ns)) * 1.02;
		const end = await page.$eval('.cover', e => Number(e.getAttribute('aria-valuemax')) * 1e6);
		assert.ok(end >= all * 0.99, 'the axis ends before the events');
		const chosen = await page.$eval('.chosen', e => ({left: parseFloat(e.style.left), width: parseFloat(e.style.width)}));
		assert.ok(Math.abs(chosen.left - 10) < 1 && Math.abs(chosen.width - 30) < 1, JSON.stringify(chosen));
		// To the pixel, as the axis has it.
		const axis = await page.$eval('.axis span:last-child', e => e.textContent);
		const shown = await total(page);
		const within = (from, to) => sumOf(rows.filter(row => row.time_ns >= from * end / 100 && row.time_ns < to * end / 100));
		const least = within(chosen.left + 0.3, chosen.left + chosen.width - 0.3), most = within(chosen.left - 0.3, chosen.left + chosen.width + 0.3);
		assert.ok(shown >= least && shown <= most, `${shown} is not within ${least} and ${most} (axis to ${axis})`);
		assert.ok(shown < sumOf(rows));
		await press(page, 'All of the time');
		assert.equal(await total(page), sumOf(rows));
	},
	async 'the brush by keyboard'({page}) {
		await page.focus('.cover');
		await page.keyboard.press('ArrowRight');
		const first = await page.$eval('.cover', e => e.getAttribute('aria-valuetext'));
		assert.notEqual(first, 'all');
		await page.keyboard.down('Shift');
		await page.keyboard.press('ArrowRight');
		await page.keyboard.up('Shift');
		assert.notEqual(await page.$eval('.cover', e => e.getAttribute('aria-valuetext')), first);
		await page.keyboard.press('Escape');
		assert.equal(await page.$eval('.cover', e => e.getAttribute('aria-valuetext')), 'all');
	},
	// Against the same recording, as the command line has it up to the same time.
	async 'the brush shows the heap as it was then'({heap}) {
		await heap.$eval('.course', e => e.scrollIntoView());
		const box = await (await heap.$('.cover')).boundingBox(), y = box.y + 20;
		const table = '[data-table="heap"].table';
		for (const [from, to] of [[0, 0.3], [0, 0.6], [0.35, 0.7], [0.6, 0.99]]) {
			await heap.mouse.move(box.x + box.width * from + 1, y);
			await heap.mouse.down();
			await heap.mouse.move(box.x + box.width * to, y, {steps: 3});
			await heap.mouse.up();
			const until = await heap.$eval('.course .told-course', e => Number(e.dataset.until) / 1e6 + 'ms');
			const then = JSON.parse(execFileSync(process.env.MEMWHY, ['heap', '--input', heapRecording, '--to', until, '--limit', '0', '-o', 'json'], {maxBuffer: 1 << 28}));
			const sum = name => then.rows.filter(row => row.table === 'heap' && row.stack && row.stack.length).reduce((n, row) => n + row[name], 0);
			assert.equal(await widthOf(heap, 'live'), sum('live_bytes'), `live at ${until}`);
			if (!from) {
				assert.equal(await widthOf(heap, 'peak'), sum('peak_bytes'), `peak until ${until}`);
				assert.equal(await widthOf(heap, 'allocated'), sum('allocated_bytes'), `allocated until ${until}`);
			}
			assert.ok(await heap.$$eval(table + ' tbody tr.row', l => l.length) > 0);
		}
		await press(heap, 'All of the time');
	},
	// Against the same recording, as the command line has it between the readings that the page took.
	async 'the brush leaves what was counted in its readings, and says which'({sums}) {
		await sums.$eval('.course', e => e.scrollIntoView());
		const box = await (await sums.$('.cover')).boundingBox(), whole = await total(sums), seen = [];
		const read = words => JSON.parse(execFileSync(process.env.MEMWHY, ['faults', '--input', sumsRecording, '--stacks', ...words, '--limit', '0', '-o', 'json'], {maxBuffer: 1 << 28}));
		const end = read([]).interval.seconds * 1e9 - 1e6; // the last reading has no other end
		for (const [from, to] of [[0, 0.3], [0.35, 0.99], [0.6, 0.7]]) {
			await sums.mouse.move(box.x + box.width * from + 1, box.y + 20);
			await sums.mouse.down();
			await sums.mouse.move(box.x + box.width * to, box.y + 20, {steps: 3});
			await sums.mouse.up();
			const part = await sums.$eval('[data-table="faults"].table .part-of', e => e.dataset.part.split(' '));
			const then = read([...part[0] === '0' ? [] : ['--from', part[0] + 'ns'], ...Number(part[1]) > end ? [] : ['--to', part[1] + 'ns']]);
			const faults = then.rows.filter(row => row.table === 'faults'), sum = list => list.reduce((n, row) => n + row.count, 0);
			seen.push(await total(sums));
			assert.equal(seen.at(-1), sum(faults.filter(row => row.stack && row.stack.length)), `from ${part.join(' to ')}`);
			const rows = await sums.$eval('[data-table="faults"].table', e => e.querySelectorAll('tbody tr.row').length);
			assert.equal(rows, Math.min(20, faults.length));
			if (!rows) continue; // nothing happened in a reading
			// A quantile is not known of a part.
			const heads = await sums.$$eval('[data-table="faults"].table th', l => l.map(e => e.textContent));
			const cell = await sums.$eval('[data-table="faults"].table tbody tr.row', (e, i) => e.children[i].textContent, heads.indexOf('P99'));
			assert.equal(cell, '\u2013');
		}
		assert.ok(new Set(seen).size > 1 && seen.every(n => n < whole), `${seen.join()} of ${whole}`);
		await press(sums, 'All of the time');
		assert.equal(await total(sums), whole);
		assert.equal(await sums.$$eval('.part-of', l => l.filter(e => !e.hidden).length), 0);
	},
	async 'each table says whether it is of the brushed part or of all of the time'({all}) {
		assert.equal(await all.$$eval('.part-of', l => l.filter(e => !e.hidden).length), 0);
		await all.focus('.cover');
		await all.keyboard.press('ArrowRight');
		const labels = await all.$$eval('.view.table', list => list.filter(e => e.querySelector('tbody tr') && !e.closest('[hidden]')).map(e => [e.dataset.table, e.querySelector('.part-of').offsetParent ? e.querySelector('.part-of').textContent : null]));
		assert.ok(labels.every(l => l[1]), JSON.stringify(labels));
		const of = Object.fromEntries(labels);
		assert.match(of.faults, /^0 ns to /);
		assert.equal(of.zones, 'of all of the time');
		assert.equal(await all.$eval('.findings h2 .part-of', e => e.textContent).catch(() => 'of all of the time'), 'of all of the time');
		await all.keyboard.press('Escape');
		assert.equal(await all.$$eval('.part-of', l => l.filter(e => !e.hidden).length), 0);
	},
	async 'the pages of an object are strips coloured by node'({numa}) {
		const {rows} = JSON.parse(fs.readFileSync(numaFile, 'utf8')), of = name => rows.filter(row => row.table === name);
		const strips = await numa.$$eval('[data-table="pages"] svg.strip', list => list.map(e => e.querySelectorAll('rect').length));
		assert.deepEqual(strips, of('pages').map(row => row.picture.length - 2));
		assert.ok(strips.length === 4 && strips[0] === 50, strips.join());
		const colours = await numa.$$eval('[data-table="pages"] svg.strip', list => list[0].querySelector('rect').style.fill);
		assert.match(colours, /^(hsl|rgb)/);
		const fills = await numa.$$eval('[data-table="pages"] svg.strip', list => list.map(e => [...e.querySelectorAll('rect')].map(r => r.style.fill)));
		const by = of('pages').findIndex(row => row.what === 'used by thread');
		const marks = await numa.$$eval('[data-table="timeline"] .swatch', list => list.map(e => [e.parentNode.textContent, e.style.background]));
		assert.deepEqual(marks.map(m => m[0]), of('timeline').filter(row => row.mark).map(row => row.mark));
		for (const [mark, colour] of marks) {
			const at = of('pages')[by].picture.indexOf(mark) - 1;
			if (at >= 0) assert.equal(fills[by][at], colour);
		}
		// A strip stands exactly above its text.
		const ends = await numa.$$eval('[data-table="pages"] svg.strip', list => list.map(e => [e, e.nextSibling.firstChild]).map(([e, text]) => {
			const range = document.createRange(), box = e.getBoundingClientRect();
			range.setStart(text, 1);
			range.setEnd(text, text.length - 1);
			const told = range.getBoundingClientRect();
			return [box.left - told.left, box.right - told.right].map(Math.abs);
		}));
		for (const end of ends.flat()) assert.ok(end < 4, `a strip is ${end} pixels beside its text`);
	},
	async 'of a comparison, each total stands under its own name'({change}) {
		const totals = JSON.parse(fs.readFileSync(changeFile, 'utf8')).rows.filter(row => row.table === 'total');
		assert.ok(totals.length > 1 && new Set(totals.map(row => row.of)).size === totals.length);
		const shown = await change.$$eval('[data-table="total"].table', list => list.map(e => [e.querySelector('h2').textContent, e.querySelectorAll('tbody tr.row').length]));
		assert.deepEqual(shown.map(t => t[1]), totals.map(() => 1));
		assert.equal(new Set(shown.map(t => t[0])).size, totals.length);
	},
	async 'lines of several processes have names, in their colours'({heap}) {
		const names = await heap.$$eval('.course .plot', list => list.map(e => [...e.querySelectorAll('.line-name')].map(n => [n.textContent, n.querySelector('i').style.background])));
		const strokes = await heap.$$eval('.course .plot', list => list.map(e => [...e.querySelectorAll('path')].map(p => p.style.stroke).filter(Boolean)));
		assert.ok(names.flat().length > 1, 'no line has a name');
		names.forEach((list, i) => assert.deepEqual(list.map(n => n[1]).sort(), strokes[i].sort()));
	},
	async 'the story of an OOM kill'({killed}) {
		if (!killed) return;
		const {rows} = JSON.parse(fs.readFileSync(killFile, 'utf8')), kill = rows.filter(row => row.table === 'kills').at(-1);
		const text = await killed.$$eval('.story', list => list.at(-1).textContent);
		assert.ok(text.includes(`${kill.comm} (${kill.pid}) was killed at`), text);
		for (const group of rows.filter(row => row.table === 'cgroups' && row.kill === kill.kill)) assert.ok(text.includes(group.cgroup), text);
		const victim = rows.find(row => row.table === 'processes' && row.kill === kill.kill && row.victim);
		assert.equal(await killed.$$eval('.story', list => list.at(-1).querySelectorAll('path').length) > 0, Boolean(victim));
		assert.ok(text.includes('at its limit'), text);
	},
	async 'no page is wider than a telephone, and the heap\'s tables fit on paper'(pages) {
		for (const [name, one] of Object.entries(pages)) {
			if (!one) continue;
			await one.setViewport({width: 360, height: 740});
			await one.evaluate(() => new Promise(done => setTimeout(done, 50)));
			const wide = await one.evaluate(() => document.documentElement.scrollWidth);
			assert.ok(wide <= 360, `${name} is ${wide} pixels wide`);
			await one.setViewport({width: 1280, height: 900});
		}
		if (browserName !== 'chromium') return; // which alone can be asked to draw as for paper
		await pages.heap.emulateMediaType('print');
		await pages.heap.setViewport({width: 794, height: 1123});
		const cut = await pages.heap.$$eval('[data-table="heap"] .scroll', l => l.map(e => e.scrollWidth - e.clientWidth));
		assert.ok(cut.length && cut.every(n => n <= 0), `${cut} pixels are cut off on paper`);
		await pages.heap.emulateMediaType(null);
		await pages.heap.setViewport({width: 1280, height: 900});
	},
	async 'a command is copied'({other}) {
		await other.evaluate(() => {
			window.copied = null;
			navigator.clipboard.writeText = async text => {
				window.copied = text;
			};
		});
		const text = await other.$eval('code.cmd.copies', e => e.firstChild.textContent);
		await other.$eval('.copy', e => e.click());
		await other.waitForFunction(() => document.querySelector('.copy').textContent === 'Copied');
		assert.equal(await other.evaluate(() => window.copied), text);
	},
};

(async () => {
	const browser = await puppeteer.launch({headless: true, protocolTimeout: 90000, ...browsers[browserName]});
	let failed = 0;
	try {
		const {page, heard} = await open(browser, eventsPage), other = await open(browser, commandsPage), heap = await open(browser, heapPage);
		const numa = await open(browser, numaPage), change = await open(browser, changePage), sums = await open(browser, sumsPage), all = await open(browser, allPage), killed = killPage ? await open(browser, killPage) : {page: null, heard: []};
		for (const [name, step] of Object.entries(steps)) {
			try {
				await step({page, other: other.page, heap: heap.page, killed: killed.page, numa: numa.page, change: change.page, sums: sums.page, all: all.page});
				console.log('ok ' + name);
			} catch (error) {
				failed++;
				console.log(`not ok ${name}: ${error.message}`);
			}
		}
		for (const line of [...heard, ...other.heard, ...heap.heard, ...killed.heard, ...numa.heard, ...change.heard, ...sums.heard, ...all.heard]) {
			failed++;
			console.log('not ok ' + line);
		}
	} finally {
		await browser.close();
	}
	process.exit(failed ? 1 : 0);
})();
