# tar of a tree into one file, again and again: reads, writes and page cache, no trouble.
# @state healthy
# @group 6
# @needs tar
echo ready
while :; do
	tar -cf "$ZOO_WORK/a.tar" /usr/include /usr/share/doc 2>/dev/null
	rm -f "$ZOO_WORK/a.tar"
	sleep 1
done
