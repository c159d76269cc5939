# A service of Node.js that is started again each time its heap meets the limit that it was given.
# @state sick
# @group 7
# @needs node
# @who node grow.js
# @cause ended by itself.*its heap (met|hit) its limit
# @check 12
cat >"$ZOO_WORK/grow.js" <<'J'
const kept = [];
function step() {
	for (let i = 0; i < 20000; i++)
		kept.push({ n: i, text: 'x' + i });
	setTimeout(step, 30);
}
step();
J
cd "$ZOO_WORK"
echo ready
while :; do
	node --max-old-space-size=120 grow.js >log 2>&1
done
