# A program that does nothing.
# @state healthy
# @group 0
echo ready
exec sleep 600
