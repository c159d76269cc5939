# A file is copied once, then nothing happens.
# @state healthy
# @group 6
dd if=/dev/zero of="$ZOO_WORK/from" bs=1M count=400 2>/dev/null
echo ready
sleep 1
cp "$ZOO_WORK/from" "$ZOO_WORK/to"
exec sleep 600
