// Opens profiles in viewers that come from npm, and prints the total that each has: one line of JSON a
// file. usage: viewers.js FILE.json|FILE.pb.gz... speedscope shows each in chromium (the sum of what its
// functions have in themselves, from its table), pprof-format reads those of pprof too. A profile is to
// be of one number that counts, since speedscope rounds all others.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const puppeteer = require('puppeteer-core');

const speedscope = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release/index.html');

async function shown(browser, file) {
	const page = await browser.newPage();
	const heard = [];
	page.on('pageerror', e => heard.push('error: ' + e.message));
	page.on('request', r => {
		if (/^https?:/.test(r.url())) heard.push('request: ' + r.url());
	});
	await page.setViewport({width: 1280, height: 6000});
	await page.goto('file://' + speedscope);
	await (await page.waitForSelector('input[type=file]')).uploadFile(file);
	await page.waitForFunction(() => document.body.innerText.includes('Sandwich'), {timeout: 60000});
	await page.evaluate(() => [...document.querySelectorAll('div')].filter(e => e.textContent.trim().endsWith('Sandwich') && !e.children.length).concat(
		[...document.querySelectorAll('div')].filter(e => /Sandwich$/.test(e.textContent))).at(-1).click());
	await page.waitForSelector('tr td', {timeout: 60000});
	const rows = await page.$$eval('tr', list => list.map(tr => [...tr.querySelectorAll('td')].map(td => td.textContent)).filter(r => r.length >= 3));
	const self = rows.map(row => Number(row[1].replace(/\(.*/, '').replace(/[^0-9]/g, '')));
	return {functions: rows.length, total: self.reduce((a, b) => a + b, 0), heard};
}

function read(file) {
	const {Profile} = require('pprof-format');
	const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(file))), text = i => profile.stringTable.strings[Number(i)];
	return {types: profile.sampleType.map(t => text(t.type)), total: profile.sample.reduce((sum, s) => sum + Number(s.value.at(-1)), 0), samples: profile.sample.length};
}

(async () => {
	const browser = await puppeteer.launch({browser: 'chrome', executablePath: '/usr/bin/chromium', headless: true, protocolTimeout: 90000, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--allow-file-access-from-files']});
	try {
		for (const file of process.argv.slice(2))
			console.log(JSON.stringify({file: path.basename(file), speedscope: await shown(browser, file), pprof: file.endsWith('.pb.gz') ? read(file) : null}));
	} finally {
		await browser.close();
	}
})();
