# A pipeline that compresses a stream: its pipes are full, as they should be.
# @state healthy
# @group 2
# @needs gzip
echo ready
while :; do head -c 60000000 /dev/urandom | gzip -1 | tail -c 100 >/dev/null; done
