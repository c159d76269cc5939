# A backup reads a large file once, in a group with a small limit: it is hit all the time and costs
# nothing.
# @state healthy
# @group 8
# @limit 48M
# @needs v1
truncate -s 64G "$ZOO_WORK/data"
echo ready
exec dd if="$ZOO_WORK/data" of=/dev/null bs=128k 2>/dev/null
