// How long a page takes in chromium: until something is seen, until all is there; then a zoom, and a brush by keys.
// usage: paint.js PAGE (puppeteer-core in NODE_PATH: tests/pages)
'use strict';
const puppeteer = require('puppeteer-core');

(async () => {
	const browser = await puppeteer.launch({browser: 'chrome', executablePath: '/usr/bin/chromium', headless: true, protocolTimeout: 90000, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']});
	try {
		const page = await browser.newPage();
		await page.setViewport({width: 1280, height: 900});
		await page.goto('about:blank');
		await page.goto('file://' + process.argv[2]);
		await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', {timeout: 60000});
		const told = await page.evaluate(async () => {
			const ready = performance.now(), paint = performance.getEntriesByName('first-contentful-paint')[0];
			const canvas = document.querySelector('.flames canvas');
			canvas.scrollIntoView();
			const box = canvas.getBoundingClientRect(), zooms = [];
			for (let i = 0; i < 20; i++) {
				const from = performance.now();
				canvas.dispatchEvent(new MouseEvent('click', {clientX: box.x + 20, clientY: box.y + 50, bubbles: true}));
				zooms.push(performance.now() - from);
				[...document.querySelectorAll('.flames button')].find(b => b.textContent === 'Reset zoom').click();
			}
			const brushes = [], cover = document.querySelector('.cover');
			for (let i = 0; i < 10; i++) {
				const from = performance.now();
				cover.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));
				brushes.push(performance.now() - from);
			}
			const middle = list => list.sort((a, b) => a - b)[list.length >> 1];
			return {'first paint': paint.startTime, 'all is there': ready, zoom: middle(zooms), 'another part of the time': middle(brushes)};
		});
		for (const [name, ms] of Object.entries(told)) console.log(`  ${name.padEnd(30)} ${ms.toFixed(1).padStart(9)} ms`);
	} finally {
		await browser.close();
	}
})();
