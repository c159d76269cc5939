// Histograms as pictures: a small one in a row, a large one below it.

function histSlots(hist) {
	const slots = [];
	hist.forEach((slot, i) => {
		// Those between two that count something are empty.
		for (let from = i ? hist[i - 1].to : slot.from; from !== null && from < slot.from; from = from ? from * 2 : 1)
			slots.push({from, to: from ? from * 2 : 1, count: 0});
		slots.push(slot);
	});
	return slots;
}

function histSmall(hist) {
	const slots = histSlots(hist), most = Math.max(...slots.map(s => s.count));
	const width = Math.max(slots.length * 5, 5);
	return h('svg', {width, height: 18, viewBox: `0 0 ${width} 18`, role: 'img', 'aria-label': 'histogram'},
		slots.map((s, i) => {
			const tall = s.count ? Math.max(1, s.count / most * 17) : 0;
			return h('rect', {class: 'bar-of', x: i * 5, y: 18 - tall, width: 4, height: tall});
		}));
}

function histLarge(column, hist) {
	const slots = histSlots(hist), most = Math.max(...slots.map(s => s.count));
	const text = v => numberText(column.unit, v);
	const label = s => s.to === null ? text(s.from) + ' or more' : text(s.from) + ' to ' + text(s.to);
	const tall = 18, left = 150, wide = 320;
	return h('figure', null, h('figcaption', {class: 'hint'}, column.help || column.title),
		h('svg', {width: left + wide + 90, height: slots.length * tall + 4, viewBox: `0 0 ${left + wide + 90} ${slots.length * tall + 4}`, role: 'img',
			'aria-label': slots.filter(s => s.count).map(s => label(s) + ': ' + s.count).join('; ')},
		slots.map((s, i) => h('g', null,
			h('text', {x: left - 8, y: i * tall + 13, 'text-anchor': 'end'}, label(s)),
			h('rect', {class: 'bar-of', x: left, y: i * tall + 3, width: s.count ? Math.max(1, s.count / most * wide) : 0, height: tall - 5, rx: 2}),
			h('text', {x: left + s.count / most * wide + 6, y: i * tall + 13}, s.count ? countText(s.count) : '')))));
}
