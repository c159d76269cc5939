// Puts tables and pictures where a report has room for them.

function commandsCopy() {
	for (const code of document.querySelectorAll('code.cmd')) {
		const text = code.textContent;
		if (code.closest('.verdict')) continue;
		const button = h('button', {type: 'button', class: 'copy', 'aria-label': 'Copy the command', click: async () => {
			await copyText(text);
			button.textContent = 'Copied';
			setTimeout(() => button.textContent = 'Copy', 1500);
		}}, 'Copy');
		code.classList.add('copies');
		code.append(button);
	}
}

function viewsOf(data) {
	const views = stories(data), cuts = data.report.rows_cut || {};
	for (const t of data.tables) {
		if (!t.rows.length && !t.empty) continue;
		const table = new Table(t, cuts[t.name]);
		if (t.stackColumns.length && flameMetrics(t).length)
			views.push(new Flame(t, cuts[t.name], among => {
				table.restrict(among);
				table.element.scrollIntoView();
			}));
		for (const picture of pictures(t)) {
			if (picture.inside) table.element.querySelector('header').after(picture.inside);
			else views.push(picture);
		}
		views.push(table);
	}
	return views.map(v => v.element);
}

// Links to the reports, or to the parts of the only one.
function navigation(sections) {
	const nav = document.getElementById('nav'), link = (e, text, i) => {
		e.id = e.id || 'part-' + i;
		nav.append(h('a', {href: '#' + e.id}, text));
	};
	const parts = sections.length > 1 ? sections.map(s => [s, s.dataset.command])
		: [...document.querySelectorAll('.report h2')].filter(e => !e.closest('.side, [hidden]')).map(e => [e, e.dataset.nav || e.textContent]);
	// A picture and its table are one subject: the link goes to what comes first.
	parts.filter(([, text], i) => parts.findIndex(p => p[1] === text) === i).forEach(([e, text], i) => link(e, text, i));
}

async function sectionFill(section) {
	const place = section.querySelector('.views');
	try {
		const data = decode(parseExact(await unpack(section.querySelector('script.data').textContent)));
		place.replaceChildren(...viewsOf(data));
		section.memwhy = data;
	} catch (error) {
		place.replaceChildren(h('p', {class: 'alarm'}, 'The tables of this report cannot be shown: ' +
			(typeof DecompressionStream === 'undefined' ? 'this browser is too old (it has no DecompressionStream).' : error.message)));
		throw error;
	}
}

async function start() {
	const sections = [...document.querySelectorAll('section.report')];
	commandsCopy();
	for (const section of sections) {
		await sectionFill(section);
		// What is there is painted before the next report is unpacked.
		await new Promise(done => setTimeout(done));
	}
	courseShow(sections);
	navigation(sections.filter(s => !s.hidden));
	if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
	document.documentElement.dataset.ready = 'yes';
}

start();
