# A build: many short processes that look names up, open files, write and end.
# @state healthy
# @group 2
echo ready
while :; do
	printf 'int main(void) { return 0; }\n' >"$ZOO_WORK/a.c"
	gcc -O1 -o "$ZOO_WORK/a" "$ZOO_WORK/a.c"
	find /usr/include -name '*.h' -newer "$ZOO_WORK/a" >"$ZOO_WORK/list"
	rm -f "$ZOO_WORK/a" "$ZOO_WORK/list"
done
