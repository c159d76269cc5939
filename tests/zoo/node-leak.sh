# A server on Node.js that keeps each request in an array.
# @state sick
# @group 8
# @who node
# @cause grow
# @needs node
# @check 15
exec node -e '
const kept = [];
console.log("ready");
setInterval(() => { kept.push(Buffer.alloc(600000, 1)); }, 50);
'
