# A service on Node.js with a heap that its garbage collector keeps in bounds.
# @state healthy
# @group 8
# @needs node
# @check 12
exec node -e '
console.log("ready");
const cache = new Map();
let n = 0;
setInterval(() => { for (let i = 0; i < 200; i++) { cache.set(n++ % 5000, "x".repeat(2000) + n); } }, 10);
'
