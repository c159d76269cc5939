# memwhy: `make` leaves build/memwhy. `make help` lists the targets.

VERSION := 0.1.0
B       ?= build
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
PREFIX  ?= /usr/local
Q       := $(if $(V),,@)

WARN    := -Wall -Wextra -Wshadow -Wformat=2 -Werror=format -Wpointer-arith -Wstrict-prototypes \
           -Wmissing-prototypes -Wno-format-nonliteral
CFLAGS  ?= -O2 -g
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -DMEMWHY_VERSION='"$(VERSION)"' $(WARN) $(CFLAGS) \
           -fno-omit-frame-pointer -ffunction-sections -fdata-sections \
           -Isrc -I$(B)/gen -MMD -MP
LDLIBS  := -lbpf -ldw -lelf -lz -llzma -lbz2 -lzstd -liberty -lcap -lsqlite3 -levent_core -lncursesw -ltinfo -lm -lpthread
LDFLAGS_STATIC := -static -Wl,--gc-sections,-T,src/base/unlinked.ld

# SAN=1: everything under AddressSanitizer and UndefinedBehaviorSanitizer (dynamically linked,
# since the sanitizers' runtime cannot be linked into a static program).
ifdef SAN
B       := build/san
ALL_CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined
LDFLAGS_STATIC := -fsanitize=address,undefined
else
# A static program is where it was linked to be: code that could be anywhere is 2 % larger.
ALL_CFLAGS += -fno-pie -no-pie
endif

PROBES  := $(notdir $(patsubst %/,%,$(dir $(wildcard src/probes/*/*.bpf.c))))
BPF_OBJECTS := $(PROBES) $(PROBES:%=%_walk) percpu_where inodes filters
SRCS    := $(filter-out %.bpf.c %_test.c src/tracker/%,$(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))
OBJS    := $(SRCS:src/%.c=$(B)/%.o)
# What is kept out of memwhy (src/base/unlinked.c) others may want: they link shared libraries.
LIB_OBJS := $(filter-out $(B)/cmd/main.o $(B)/base/unlinked.o,$(OBJS))
# Unit tests are in the rooms of what they test; their programs are side by side, so no two have one name.
TESTS   := $(shell find tests/unit -name '*_test.c')
TEST_BINS := $(patsubst %.c,$(B)/tests/unit/%,$(sort $(notdir $(TESTS))))
$(if $(filter-out $(words $(TESTS)),$(words $(TEST_BINS))),$(error two files below tests/unit have one name))
vpath %_test.c $(sort $(dir $(TESTS)))
WORKLOADS := $(patsubst %.c,$(B)/%,$(wildcard tests/workloads/*.c)) \
             $(B)/tests/workloads/heap_work_static

all: $(B)/memwhy $(B)/libmemwhy-track.so

$(B)/memwhy: $(OBJS) src/base/unlinked.ld
	$(Q)$(CC) $(LDFLAGS_STATIC) $(CFLAGS) -o $@ $(OBJS) $(LDLIBS)
	$(Q)strip -o $@.stripped $@
	@printf 'built %s (%s bytes stripped)\n' $@ "$$(stat -c %s $@.stripped)"

# What runs once a second or less: size counts there, not speed. Stacks of memwhy itself are by frame pointers.
SMALL := cage cmd export record report rules serve top capture/reader render/html \
         $(patsubst %,sys/%,calls group heap kernel memory) \
         $(patsubst %,probes/heap/%,attach residence view) $(patsubst %,probes/numa/%,judge try view) \
         $(patsubst %,probes/%,$(filter-out heap numa syscalls,$(notdir $(wildcard src/probes/*))))
SMALL_FILES := $(patsubst src/%.c,%,$(wildcard src/analysis/thp_*.c)) analysis/placement analysis/give_back \
         $(filter-out $(addprefix capture/,clone kbtf_index ring table),$(patsubst src/%.c,%,$(wildcard src/capture/*.c)))
ifndef SAN
$(filter $(addprefix $(B)/,$(addsuffix /%,$(SMALL)) $(addsuffix .o,$(SMALL_FILES))),$(OBJS)): ALL_CFLAGS += -Os
$(OBJS): ALL_CFLAGS += -fno-asynchronous-unwind-tables
endif

$(B)/%.o: src/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The preload library: needs no other library, and memwhy carries it packed (src/capture/preload_file.c).
TRACK_SRCS := $(wildcard src/tracker/*.c) src/cfi/entry.c src/cfi/program.c src/cfi/expression.c \
           src/cfi/mapped.c
TRACK_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -g -fPIC -fvisibility=hidden -ffreestanding \
           -fno-stack-protector -fcf-protection=none -Isrc -MMD -MP

$(B)/track/%.o: src/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(TRACK_CFLAGS) -c -o $@ $<

$(B)/libmemwhy-track.so: $(TRACK_SRCS:src/%.c=$(B)/track/%.o)
	$(Q)$(CC) -shared -nostdlib -Wl,-z,now -Wl,-z,noexecstack -Wl,-soname,$(@F) -o $@.debug $^
	$(Q)strip -o $@ $@.debug

# One BPF object a probe, and a second one (X_walk) for when user stacks are asked for, see
# src/bpf/unwind.bpf.h. memwhy carries them packed: embedded_list.h is for src/capture/embedded.c.
BPF_FLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Werror -D__TARGET_ARCH_x86 -D__bpf__ -Isrc \
             -idirafter /usr/include/$(shell $(CC) -print-multiarch)

define bpf_rule
$(B)/gen/$(1).bpf.o: src/probes/$(1)/$(1).bpf.c
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) $$(BPF_FLAGS) -MMD -MP -c -o $$@ $$<
$(B)/gen/$(1)_walk.bpf.o: src/probes/$(1)/$(1).bpf.c
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) $$(BPF_FLAGS) -DUSER_WALK -MMD -MP -c -o $$@ $$<
endef
$(foreach p,$(PROBES),$(eval $(call bpf_rule,$(p))))

$(B)/gen/percpu_where.bpf.o $(B)/gen/inodes.bpf.o $(B)/gen/filters.bpf.o: $(B)/gen/%.bpf.o: src/bpf/%.bpf.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<

$(B)/pack-object: tools/pack-object.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -g -o $@ $< -lelf -lzstd

$(B)/gen/%.linked.o: $(B)/gen/%.bpf.o
	$(Q)$(BPFTOOL) gen object $@ $<

# Objects have most of their bytes in common: each is packed as what differs from those before it.
# The first two have what all others with the walk have, and what those without.
BPF_FIRST := frag_walk frag
bpf_before = $(if $(filter frag_walk,$(1)),,$(if $(filter frag,$(1)),frag_walk,$(BPF_FIRST) \
             $(if $(filter %_walk,$(1)),$(1:%_walk=%))))

define pack_rule
$(B)/gen/$(1).packed: $(patsubst %,$(B)/gen/%.linked.o,$(1) $(bpf_before)) $(B)/pack-object
	$$(Q)$(B)/pack-object $$@ $$(filter %.o,$$^)
endef
$(foreach o,$(BPF_OBJECTS),$(eval $(call pack_rule,$(o))))

$(B)/gen/tracker.packed: $(B)/libmemwhy-track.so $(B)/pack-object
	$(Q)$(B)/pack-object $@ $<

CARRIED := $(BPF_OBJECTS) tracker

$(B)/gen/embedded_list.h: Makefile $(CARRIED:%=$(B)/gen/%.packed)
	@mkdir -p $(@D)
	$(Q){ echo '#define OBJECTS \'; $(foreach o,$(CARRIED),echo \
		'	OBJECT($o, "$(B)/gen/$o.packed", "$(if $(filter tracker,$o),,$(lastword $(call bpf_before,$o)))") \';) echo; } >$@

EMBEDDED := $(B)/gen/embedded_list.h $(CARRIED:%=$(B)/gen/%.packed)
$(B)/capture/embedded.o build/fuzz/obj/capture/embedded.o: $(EMBEDDED)

# The page of -o html. The script is these files in this order.
PAGE_SCRIPT := $(addprefix src/render/html/,names.js data.js hist.js range.js held.js table.js tree.js flame.js picture.js story.js course.js main.js)
PAGE_FILES  := src/render/html/page.html src/render/html/page.css $(PAGE_SCRIPT)

$(B)/gen/page.gz: tools/pack-page $(PAGE_FILES)
	@mkdir -p $(@D)
	$(Q)tools/pack-page $@ $(PAGE_FILES)

$(B)/render/html/page.o build/fuzz/obj/render/html/page.o: $(B)/gen/page.gz
ALL_CFLAGS += -DHTML_PAGE='"$(B)/gen/page.gz"'

# Unit tests: one cmocka program each, linked against everything but main.
$(B)/libmemwhy.a: $(LIB_OBJS)
	$(Q)rm -f $@ && ar rcs $@ $(LIB_OBJS)

$(B)/tests/unit/%_test: %_test.c $(B)/libmemwhy.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests/unit $(if $(SAN),$(LDFLAGS_STATIC)) -o $@ $< $(B)/libmemwhy.a -lcmocka $(LDLIBS)
# What the linker leaves out of memwhy is about static libraries.
ifndef SAN
$(B)/tests/unit/unlinked_test: $(B)/base/unlinked.o
$(B)/tests/unit/unlinked_test: LDLIBS := $(B)/base/unlinked.o -Wl,-Bstatic -lzstd -lsqlite3 -Wl,-Bdynamic $(LDLIBS)
endif

# Every test, through one runner that sums up. BPF and CLI tests use the built binary. Those tagged
# `beside` look only at what they start themselves, and run beside others; so do guests.
BATS    := $(wildcard tests/cli/*.bats tests/native/*.bats)
BESIDE  := $(shell grep -l '^\# bats file_tags=.*beside' $(BATS))
VM_BATS ?= tests/vm/quick.bats

check: all workloads behaviours $(TEST_BINS)
	@MEMWHY=$(CURDIR)/$(B)/memwhy BUILD=$(CURDIR)/$(B) tools/run-tests $(B)/tap tools/check-layers \
		$(if $(SAN),,$(wildcard $(VM_BATS))) $(BESIDE) $(TEST_BINS) tests/behaviour/quick -- \
		$(filter-out $(BESIDE),$(BATS))

unit: $(TEST_BINS)
	@tools/run-tests $(B)/tap $(TEST_BINS) --

# The share of small changes of the source that the tests notice: tests/mutants. ONLY=WORD: of these files.
mutate: export MUTATE_B = $(B)
mutate: export MUTATE_CC = $(CC)
mutate: export MUTATE_CLANG = $(CLANG)
mutate: export MUTATE_BPFTOOL = $(BPFTOOL)
mutate: export MUTATE_CFLAGS = $(ALL_CFLAGS)
mutate: export MUTATE_BPF_FLAGS = $(BPF_FLAGS)
mutate: export MUTATE_TRACK_CFLAGS = $(TRACK_CFLAGS)
mutate: export MUTATE_LIBS = $(LDLIBS)
mutate: export MUTATE_OBJS = $(OBJS)
mutate: export MUTATE_TRACK_OBJS = $(TRACK_SRCS:src/%.c=$(B)/track/%.o)
mutate: all workloads $(TEST_BINS)
	@tools/mutate $(ONLY)

# All kernels, all tests that need another kernel than the host's. Slow.
check-vm: all workloads
	@MEMWHY=$(CURDIR)/$(B)/memwhy BUILD=$(CURDIR)/$(B) tools/run-tests $(B)/tap tests/vm/full.bats

# Pages in a real browser. Its pictures are in $(B)/pages.
check-pages: all workloads
	@MEMWHY=$(CURDIR)/$(B)/memwhy BUILD=$(CURDIR)/$(B) tools/run-tests $(B)/tap $(wildcard tests/pages/*.bats)

# memwhy that says what the verifier had to do: see bench/verifier.
$(B)/bench/loads: bench/loads.c $(OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_STATIC) $(CFLAGS) $(ALL_CFLAGS) -Wl,--wrap=syscall -o $@ $< $(OBJS) $(LDLIBS)

$(B)/bench/%: bench/%.c $(B)/libmemwhy.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $< $(B)/libmemwhy.a $(LDLIBS)

# Programs with a known cause, under `memwhy check`: tests/zoo/README.md.
zoo zoo-held: all
	@MEMWHY=$(CURDIR)/$(B)/memwhy BUILD=$(CURDIR)/$(B) tests/zoo/run $(if $(filter zoo-held,$@),--held)

# What sessions take in the long run: tests/soak/run. An hour by default. SOAK=serve: a service.
SOAK ?= run
SOAK_MINUTES ?= 60
soak: all workloads
	@MEMWHY=$(CURDIR)/$(B)/memwhy BUILD=$(CURDIR)/$(B) tests/soak/$(SOAK) $(SOAK_MINUTES)

bench: all workloads $(B)/bench/numa_feed
	@BUILD=$(CURDIR)/$(B) bench/run

# Each fuzz target for FUZZ_SECONDS; a crash leaves its input in build/fuzz.
FUZZ_SECONDS ?= 60
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/*.c))
FUZZ_OBJS := $(patsubst src/%.c,build/fuzz/obj/%.o,$(filter-out src/cmd/main.c,$(SRCS)))
FUZZ_FLAGS := -std=gnu11 -D_GNU_SOURCE -DFUZZING -DHTML_PAGE='"$(B)/gen/page.gz"' -DMEMWHY_VERSION='"$(VERSION)"' -g -O1 -Isrc \
              -I$(B)/gen -w -MMD -MP -fsanitize=address,undefined -fno-sanitize-recover=all

build/fuzz/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

build/fuzz/%: tests/fuzz/%.c $(FUZZ_OBJS)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $< $(FUZZ_OBJS) $(LDLIBS)

fuzz: $(FUZZERS)
	$(Q)for f in $(FUZZERS); do mkdir -p $$f.corpus; echo "$$f: $(FUZZ_SECONDS) s"; \
		$$f -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$$f.crash- -rss_limit_mb=2048 \
			$$f.corpus $$(ls -d tests/fuzz/seeds/$${f##*/} 2>/dev/null) >$$f.log 2>&1 || { tail -40 $$f.log; exit 1; }; \
		tail -1 $$f.log; done

DEST := $(DESTDIR)$(PREFIX)
COMMANDS = $(shell $(B)/memwhy help | sed -n '/^Commands:/,/^$$/s/^  \([a-z]*\) .*/\1/p')

install: all
	install -D -m755 $(B)/memwhy.stripped $(DEST)/bin/memwhy
	install -D -m755 $(B)/libmemwhy-track.so $(DEST)/lib/memwhy/libmemwhy-track.so
	install -d $(DEST)/share/man/man8 $(DEST)/share/bash-completion/completions \
		$(DEST)/share/fish/vendor_completions.d
	$(B)/memwhy help man >$(DEST)/share/man/man8/memwhy.8
	for c in $(COMMANDS); do $(B)/memwhy help man $$c >$(DEST)/share/man/man8/memwhy-$$c.8; done
	$(B)/memwhy help completion >$(DEST)/share/bash-completion/completions/memwhy
	$(B)/memwhy help completion fish >$(DEST)/share/fish/vendor_completions.d/memwhy.fish

# build/memwhy_VERSION_amd64.deb; build/memwhy-VERSION-amd64.tar.xz with its SHA256.
deb: all
	packaging/make-deb $(VERSION)

tarball: all
	tar -C $(B) --owner=0 --group=0 --mode=755 --transform 's,^memwhy.stripped,memwhy-$(VERSION)/memwhy,' -cJf $(B)/memwhy-$(VERSION)-amd64.tar.xz memwhy.stripped
	cd $(B) && sha256sum memwhy-$(VERSION)-amd64.tar.xz >memwhy-$(VERSION)-amd64.tar.xz.sha256

deps:
	tools/deps build test

# What it allocates is to be allocated.
$(B)/tests/workloads/heap_work $(B)/tests/workloads/heap_faults $(B)/tests/workloads/forbid \
$(B)/tests/workloads/stack_switch: WORK_CFLAGS := -fno-builtin
# As distributions build.
$(B)/tests/workloads/bench_load $(B)/tests/workloads/no_frames: WORK_CFLAGS := -fomit-frame-pointer
$(B)/tests/workloads/%: tests/workloads/%.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -fno-omit-frame-pointer $(WORK_CFLAGS) -o $@ $< -lpthread

# One whose allocator is in the program itself. Without a static C library its tests are skipped.
$(B)/tests/workloads/heap_work_static: tests/workloads/heap_work.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -fno-builtin -fno-omit-frame-pointer -static -o $@ $< 2>/dev/null || \
		echo 'there is no static C library: no $(@F)'

# Programs of tests that are BPF, and what runs them.
$(B)/tests/bpf/%.bpf.o: tests/bpf/%.bpf.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<

$(B)/tests/bpf/%: tests/bpf/%.c $(B)/tests/bpf/%.bpf.o $(B)/libmemwhy.a
	$(Q)$(CC) $(ALL_CFLAGS) -fomit-frame-pointer -o $@ $< $(B)/libmemwhy.a $(LDLIBS)

# Programs of tests that use memwhy's own code.
$(B)/tests/perfdata/%: tests/perfdata/%.c $(B)/libmemwhy.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(SAN),$(LDFLAGS_STATIC)) -o $@ $< $(B)/libmemwhy.a $(LDLIBS)

# Analyses of one's own, over libmemwhy.a: the documentation of that, built and run by the tests.
$(B)/docs/examples/%: docs/examples/%.c $(B)/libmemwhy.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(SAN),$(LDFLAGS_STATIC)) -o $@ $< $(B)/libmemwhy.a $(LDLIBS)

LIB_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/perfdata/*.c docs/examples/*.c))

BPF_TESTS := $(patsubst tests/bpf/%.bpf.c,$(B)/tests/bpf/%,$(wildcard tests/bpf/*.bpf.c))

# The tracker's walk of the stack next to glibc's, in any program: see tests/track/stack_check.c.
CHECK_SRCS := $(filter-out $(addprefix src/tracker/,track.c operators.c stack.c mapping.c join.c),$(TRACK_SRCS))
$(B)/tests/stack_check.so: tests/track/stack_check.c $(CHECK_SRCS:src/%.c=$(B)/track/%.o) src/tracker/stack.c \
		$(wildcard src/tracker/*.h src/cfi/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -g -fPIC -fvisibility=hidden -fno-builtin \
		-fno-omit-frame-pointer -Isrc -shared -o $@ $< $(filter %.o,$^)

# Programs without frame pointers, whose stacks are known: see tests/stack/points.c.
STACK_CFLAGS := -D_GNU_SOURCE -O3 -g -fomit-frame-pointer -Wall -Wextra
STACK_SRCS := tests/stack/points.c tests/stack/points_throw.cpp
STACK_TESTS := $(B)/tests/stack/points $(B)/tests/stack/points_static $(B)/tests/stack/points_lib.so

$(B)/tests/stack/points: $(STACK_SRCS) tests/stack/points.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STACK_CFLAGS) -o $@ $(STACK_SRCS) -lstdc++ -lpthread -ldl

$(B)/tests/stack/points_static: $(STACK_SRCS) tests/stack/points.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STACK_CFLAGS) -DSTATIC -static-pie -fPIE -o $@ $(STACK_SRCS) -lstdc++ -lpthread

$(B)/tests/stack/points_lib.so: tests/stack/points_lib.c tests/stack/points.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STACK_CFLAGS) -fPIC -shared -o $@ $<

# What programs do, to be held against what they do under memwhy: see tests/behaviour/table. Those
# for which there is no compiler here are not made, and their tests are skipped.
BEHAVE       := $(B)/tests/behaviour
BEHAVE_FLAGS := -O2 -g -Wall -Wextra -fno-builtin -Wno-infinite-recursion
BEHAVE_C     := -std=gnu11 -D_GNU_SOURCE $(BEHAVE_FLAGS)
BEHAVE_PLAIN := $(patsubst %,$(BEHAVE)/%,threads forks signals stacks memory loading limits own_malloc cxx own_new \
                plugin_one.so plugin_two.so wraps.so audit.so)
BEHAVE_OTHER := $(patsubst %,$(BEHAVE)/%,musl-threads musl-forks musl-memory musl-stacks musls-threads static-threads \
                static-forks spie-memory m32-threads m32-forks m32-memory m32s-threads nopie-stacks bare-stacks \
                split-stacks go-static go-libc)
# <asm/types.h> is where the headers of 64 bits are.
BEHAVE_32    := -m32 -idirafter /usr/include/$(shell $(CC) -print-multiarch)
BEHAVE_DEPS  = $(wildcard tests/behaviour/*.h) Makefile | $(BEHAVE)/.made

# It has functions within functions.
$(BEHAVE)/stacks: BEHAVE_LINK := -Wl,--no-warn-execstack

$(BEHAVE)/.made:
	@mkdir -p $(@D) && touch $@

$(BEHAVE)/%: tests/behaviour/%.c $(BEHAVE_DEPS)
	$(Q)$(CC) $(BEHAVE_C) $(BEHAVE_LINK) -o $@ $< -lpthread -ldl

$(BEHAVE)/%: tests/behaviour/%.cpp $(BEHAVE_DEPS)
	$(Q)$(CXX) $(BEHAVE_FLAGS) -o $@ $< -lpthread

$(BEHAVE)/%.so: tests/behaviour/%.c $(BEHAVE_DEPS)
	$(Q)$(CC) $(BEHAVE_C) -shared -fPIC -o $@ $<
$(BEHAVE)/plugin_%.so: tests/behaviour/plugin.c $(BEHAVE_DEPS)
	$(Q)$(CC) $(BEHAVE_C) -DWHICH=$(if $(filter one,$*),1,2) -shared -fPIC -o $@ $<

# Other compilers and ways to link: a name before the program's.
define behave_rule
$(BEHAVE)/$(1)-%: tests/behaviour/%.c $(BEHAVE_DEPS)
	$$(Q)$(2) $(BEHAVE_C) $(3) -o $$@ $$< -lpthread 2>/dev/null || echo 'not made here: $$(@F)'
endef
$(eval $(call behave_rule,musl,musl-gcc,))
$(eval $(call behave_rule,musls,musl-gcc,-static))
$(eval $(call behave_rule,static,$(CC),-static))
$(eval $(call behave_rule,spie,$(CC),-static-pie -fPIE))
$(eval $(call behave_rule,m32,$(CC),$(BEHAVE_32)))
$(eval $(call behave_rule,m32s,$(CC),$(BEHAVE_32) -static))
$(eval $(call behave_rule,nopie,$(CC),-no-pie -fno-pie))
$(eval $(call behave_rule,bare,$(CC),-O3 -fomit-frame-pointer -fno-asynchronous-unwind-tables -s))
$(eval $(call behave_rule,split,$(CC),-fsplit-stack -fuse-ld=gold))

GO_BUILD = cd tests/behaviour/go && GO111MODULE=on GOFLAGS=-buildvcs=false GOPROXY=off GOCACHE=$(abspath $(B))/go go build -o $(abspath $@) .
$(BEHAVE)/go-static: $(wildcard tests/behaviour/go/*) | $(BEHAVE)/.made
	$(Q)($(strip CGO_ENABLED=0; export CGO_ENABLED; $(GO_BUILD))) 2>/dev/null || echo 'not made here: $(@F)'
$(BEHAVE)/go-libc: $(wildcard tests/behaviour/go/*) | $(BEHAVE)/.made
	$(Q)($(strip CGO_ENABLED=1; export CGO_ENABLED; $(GO_BUILD))) 2>/dev/null || echo 'not made here: $(@F)'

behaviours: $(BEHAVE_PLAIN) $(BEHAVE_OTHER)

# All of them: minutes. A half of it is in check.
behaviour: all workloads behaviours
	@MEMWHY=$(CURDIR)/$(B)/memwhy BUILD=$(CURDIR)/$(B) tools/run-tests $(B)/tap tests/behaviour/run --

workloads: $(WORKLOADS) $(if $(SAN),,$(B)/bench/loads) $(STACK_TESTS) $(BPF_TESTS) $(LIB_TESTS) $(B)/tests/stack_check.so

format:
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

clean:
	rm -rf build

help:
	@echo 'all check unit mutate behaviour workloads zoo zoo-held bench soak fuzz check-vm check-pages install deps format clean; V=1 SAN=1'

.PHONY: all deb tarball check soak check-vm check-pages unit mutate behaviour behaviours workloads zoo zoo-held bench fuzz install deps format clean help
.SECONDARY:
-include $(OBJS:.o=.d) $(TRACK_SRCS:src/%.c=$(B)/track/%.d) $(FUZZ_OBJS:.o=.d) \
         $(PROBES:%=$(B)/gen/%.bpf.d) $(patsubst %,$(B)/gen/%.bpf.d,percpu_where inodes filters) $(PROBES:%=$(B)/gen/%_walk.bpf.d) \
         $(BPF_TESTS:%=%.bpf.d) $(BPF_TESTS:%=%.d) $(LIB_TESTS:%=%.d)
