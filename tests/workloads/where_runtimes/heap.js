// Keeps one in three objects, collects, and prints what V8 says: heapTotal, what the young generation
// has, and what is in use elsewhere; then "ready".
const v8 = require('v8');
const kept = [];
for (let i = 0; i < 300000; i++) {
	const one = {a: i, b: 'x' + i, c: [i]};
	if (i % 3 === 0)
		kept.push(one);
}
gc();
setTimeout(() => {
	let young = 0, used = 0;
	for (const s of v8.getHeapSpaceStatistics())
		if (s.space_name.startsWith('new_'))
			young += s.space_size;
		else
			used += s.space_used_size;
	console.log('node', process.memoryUsage().heapTotal, young, used);
	console.log('ready');
	process.stdin.once('data', () => process.exit(kept.length ? 0 : 1));
}, 200);
