// Node.js: buffers, workers, children, code made at run time, how it ends.
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync, fork, spawnSync } = require('child_process');

const modes = {
	buffers() {
		let sum = 0;
		for (let i = 0; i < 2000; i++)
			sum += Buffer.alloc(i * 10, 1).reduce((a, b) => a + b, 0);
		console.log(sum);
	},
	workers() {
		let left = 4, sum = 0;
		for (let i = 0; i < 4; i++)
			new Worker(__filename).on('message', (n) => {
				sum += n;
				if (!--left)
					console.log(sum);
			});
	},
	children() {
		console.log(execFileSync('sh', ['-c', 'echo from Node.js']).toString());
		console.log(spawnSync('sh', ['-c', 'exit 5']).status);
		const child = fork(__filename, ['child']);
		child.on('message', (m) => console.log('the child says', m));
		child.on('exit', (code) => console.log('and ends with', code));
	},
	child() {
		process.send('hello', () => process.exit(7));
	},
	compile() {
		let sum = 0;
		for (let i = 0; i < 300; i++)
			sum += new Function('a', `let s = 0; for (let k = 0; k < 1000; k++) s += a * ${i} % 7; return s`)(i);
		console.log(sum);
		const code = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127,
			3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
		console.log(new WebAssembly.Instance(new WebAssembly.Module(code)).exports.add(40, 2));
	},
	files() {
		const fs = require('fs'), zlib = require('zlib'), crypto = require('crypto');
		const text = 'many words '.repeat(5000);
		fs.writeFile('a file', zlib.gzipSync(text), () =>
			fs.readFile('a file', (e, packed) => {
				console.log(zlib.gunzipSync(packed).toString() === text);
				crypto.pbkdf2('word', 'salt', 1000, 16, 'sha256', (e2, key) => console.log(key.toString('hex')));
			}));
	},
	fails() {
		process.on('exit', (code) => console.log('ends with', code));
		setTimeout(() => { throw { toString: () => 'as it should', stack: 'no stack' }; }, 1);
	},
};

if (isMainThread)
	modes[process.argv[2]]();
else
	parentPort.postMessage(new Array(100000).fill(1).reduce((a, b) => a + b));
