# SPDX-License-Identifier: GPL-2.0

ifneq ($(KERNELRELEASE),)
# Read by kbuild, for make clean without a configuration.
ifneq ($(CONFIG_MODULES),)
include $(src)/kernel-check.mk
endif
subdir-ccflags-y += -I$(src)/include -include $(src)/include/compat.h
# Not in every 6.12, and the default there.
subdir-ccflags-y += $(if $(shell grep -s WQ_PERCPU $(srctree)/include/linux/workqueue.h),,-DWQ_PERCPU=0)
obj-y += mm/ rdma/
else

# The running kernel's headers where that is one we are made for, else those
# that tools/testing/qemu/fetch.sh has put into its cache.
FETCH := tools/testing/qemu/fetch.sh
HOST_KDIR := /lib/modules/$(shell uname -r)/build
CACHED_KDIR = $(shell FARSWAP_CACHE='$(FARSWAP_CACHE)' $(FETCH) --kdir)
ifneq ($(filter 6.12.%,$(shell uname -r)),)
KDIR ?= $(if $(wildcard $(HOST_KDIR)/Makefile),$(HOST_KDIR),$(CACHED_KDIR))
else
KDIR ?= $(CACHED_KDIR)
endif
KCONFIG := CONFIG_FARSWAP=m CONFIG_FARSWAP_RDMA=m
KBUILD = $(call no_blank,$(CURDIR))$(call no_blank,$(KDIR))$(MAKE) -C $(or $(KDIR),$(no_kdir)) \
	M=$(CURDIR) $(KCONFIG)
no_blank = $(if $(word 2,$(1)),$(error farswap: the kernel's build takes no path with a blank in it, as "$(1)" has: move it))
no_kdir = $(error $(if $(KDIR),farswap: no kernel's headers are in "$(KDIR)",no kernel headers for 6.12): run $(FETCH), or say KDIR=)

SELFTESTS := tools/testing/selftests/farswap
TEST_MODULES := tools/testing/modules
PREFIX ?= /usr/local

.DEFAULT_GOAL := all
.PHONY: all kernel-check modules daemon tests unit model install clean check nightly lint mutants chaos demo bench bench-headroom bench-events bench-ways bench-prefetch bench-instructions bench-budget bench-hotspots bench-stages bench-flat bench-compare bench-techniques bench-cluster tree check-tree check-away inspect kunit kselftest kernel-selftests coverage htmldocs fetch help

all: modules daemon

modules: kernel-check
	$(KBUILD) modules

# Can the modules be built for that kernel? Says why not.
kernel-check:
	@$(call no_blank,$(CURDIR))$(call no_blank,$(KDIR))$(MAKE) -s --no-print-directory \
		--eval 'ok: ;' -f $(or $(wildcard $(KDIR)/include/config/auto.conf),$(no_kdir)) \
		-f kernel-check.mk $(KCONFIG) KDIR=$(KDIR) ok

daemon:
	$(MAKE) -C daemon

tests: modules
	$(MAKE) -C $(SELFTESTS)
	[ ! -e $(TEST_MODULES)/Makefile ] || $(MAKE) -C $(TEST_MODULES) KDIR=$(KDIR)

unit:
	@status=0; for d in tools/testing/unit tools/testing/daemon tools/testing/qemu tools/testing/chaos; do \
		[ ! -e $$d/Makefile ] || $(MAKE) -C $$d check || status=1; \
	done; exit $$status

model:
	@tools/testing/model/check.sh

# kbuild leaves depmod out where there is no System.map, as in Debian's headers.
define DEPMOD_INSTALLED
@release=$$(cat $(KDIR)/include/config/kernel.release) && \
	PATH=$$PATH:/usr/sbin:/sbin depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $$release && \
	{ [ "$$release" = "$$(uname -r)" ] || \
		echo "farswap: the modules are for Linux $$release, but $$(uname -r) runs here: for that, KDIR= must name its headers"; }
endef

install: modules daemon
	$(KBUILD) modules_install INSTALL_MOD_DIR=extra $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR) DEPMOD=true)
	$(if $(DESTDIR),,$(DEPMOD_INSTALLED))
	install -D -m 644 daemon/farswap.service $(DESTDIR)$(PREFIX)/lib/systemd/system/farswap.service
	$(MAKE) -C daemon install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)

fetch:
	$(FETCH)

# KERNEL=6.12 or 7.3, VARIANT=debug, debug-attach, builtin or race, TESTS=
builtin_TESTS := built_in.sh data_path.sh attach_detach.sh large_folios.sh swapoff_remote.sh evict.sh
check-tree: modules daemon tests
	@kernel=$$(tools/testing/tree/kernel.sh $(if $(KERNEL),--version $(KERNEL)) $(VARIANT)) && \
		tools/testing/qemu/run-selftests.py --client-kernel "$$kernel$(if $(filter %-attach,$(VARIANT)),/attach)" $(or $(TESTS),$($(VARIANT)_TESTS))

# Each way the network can go away, for each time.
check-away: modules daemon tests
	@tools/testing/qemu/run-selftests.py --env AWAY=all --timeout 900 network_away.sh

# TESTS=
kselftest: modules daemon tests
	@tools/testing/tree/kselftest.sh $(TESTS)

kernel-selftests: modules daemon
	@tools/testing/tree/kernel-selftests.py $(if $(KERNEL),--kernel $(KERNEL)) $(TESTS)

attach_TESTS := load_detects.sh module_unload.sh ftrace_enabled.sh attach_detach.sh tracers.sh \
	zram_left_alone.sh swapoff_remote.sh zero_pages.sh rebuild.sh suspend.sh nfs_left_alone.sh \
	zswap_above.sh
coverage: modules daemon tests
	@rm -rf out/coverage && kernel=$$(tools/testing/tree/kernel.sh coverage) && status=0 && \
		{ tools/testing/qemu/run-selftests.py --coverage out/coverage/direct \
			--client-kernel "$$kernel" $(TESTS) || status=1; \
		tools/testing/qemu/run-selftests.py --coverage out/coverage/attach \
			--client-kernel "$$kernel/attach" $(or $(TESTS),$(attach_TESTS)) || status=1; \
		tools/testing/tree/coverage.py "$$kernel" out/coverage/direct out/coverage/attach && \
		exit $$status; }

# What is left of the patches where farswap is off, and what only the kernel's build compiles.
inspect:
	@tools/testing/tree/inspect.sh $(KERNEL)

kunit:
	@tools/testing/tree/kunit.sh

htmldocs:
	@tools/testing/tree/htmldocs.sh out/htmldocs
	@echo "out/htmldocs/index.html"

# KSRC= UNDO=1
tree:
	@tools/testing/tree/graft.sh $(if $(UNDO),--undo) "$(or $(KSRC),$(error say KSRC=/path/to/linux-6.12 or 7.3, where farswap is to go))"

check:
	@tools/testing/qemu/check.py

lint:
	@tools/testing/lint/lint.sh

# NAMES=
mutants:
	@KDIR=$(KDIR) tools/testing/mutants/check.sh $(NAMES)

# SEED= SECONDS= EVENTS=kill,evict,... BACKUP=disk, replica or none; CLIENTS= DONORS= BOTH= machines;
# VARIANT= as for check-tree
chaos: modules daemon tests
	@kernel=$(if $(VARIANT),$$(tools/testing/tree/kernel.sh $(VARIANT))) && \
		tools/testing/chaos/chaos.py $(if $(SEED),--seed=$(SEED)) $(if $(SECONDS),--seconds=$(SECONDS)) \
			$(if $(EVENTS),--events=$(EVENTS)) $(if $(BACKUP),--backup=$(BACKUP)) \
			$(if $(CLIENTS),--clients=$(CLIENTS)) $(if $(DONORS),--donors=$(DONORS)) \
			$(if $(BOTH),--both=$(BOTH)) \
			$(if $(VARIANT),--client-kernel="$$kernel$(if $(filter %-attach,$(VARIANT)),/attach)")

# STEPS=
nightly:
	@tools/testing/tree/nightly.sh $(STEPS)

demo:
	@tools/testing/demo/demo.py

# RUNS=, PARTS=, SWAP=, LOCAL=
bench:
	@tools/testing/bench/bench.py $(if $(RUNS),--runs=$(RUNS)) $(if $(PARTS),--only=$(PARTS)) $(if $(SWAP),--swap=$(SWAP)) $(if $(LOCAL),--local=$(LOCAL))

# NAMES=
bench-techniques:
	@tools/testing/bench/techniques.py $(NAMES)

bench-headroom:
	@tools/testing/bench/headroom.py

# ONLY=latency, staging, evictions, choice or death
bench-events:
	@tools/testing/bench/events.py $(if $(ONLY),--only=$(ONLY))

bench-ways:
	@tools/testing/bench/ways.py

bench-prefetch:
	@tools/testing/bench/prefetch.py

bench-instructions:
	@tools/testing/bench/instructions.py

bench-budget:
	@tools/testing/bench/budget.py

bench-flat:
	@tools/testing/bench/flat.py

bench-hotspots:
	@tools/testing/bench/hotspots.py

bench-stages:
	@tools/testing/bench/stages.py

# SEED=
bench-cluster:
	@tools/testing/bench/cluster_wide.py $(if $(SEED),--seed=$(SEED))

# BASE=, a revision
bench-compare:
	@tools/testing/bench/compare.py "$(or $(BASE),$(error say BASE=revision, with which this tree is to be compared))"

clean:
	$(if $(KDIR),$(KBUILD) clean)
	$(MAKE) -C daemon clean
	$(MAKE) -C $(SELFTESTS) clean
	[ ! -e $(TEST_MODULES)/Makefile ] || $(MAKE) -C $(TEST_MODULES) KDIR=$(KDIR) clean
	@for d in tools/testing/unit tools/testing/daemon tools/testing/demo tools/testing/bench; do \
		[ ! -e $$d/Makefile ] || $(MAKE) -C $$d clean; done
	rm -rf out/model out/mutants out/htmldocs

help:
	@echo "make            build the kernel modules and the daemon"
	@echo "make install    install both (DESTDIR=, PREFIX=$(PREFIX), RELEASE=what farswapd -V says)"
	@echo "make kernel-check  say what a kernel lacks for the modules, if anything (KDIR=)"
	@echo "make modules    farswap.ko and farswap-rdma.ko for KDIR=$(KDIR)"
	@echo "make daemon     farswapd and farswapctl"
	@echo "make check-tree build a kernel with farswap in it, and run the selftests there (KERNEL=6.12 or 7.3, VARIANT=debug, debug-attach, builtin or race, TESTS=)"
	@echo "make inspect    what is left of the patches in the swap code of a kernel without farswap (KERNEL=)"
	@echo "make kunit      have the kernel's kunit.py run the KUnit suites"
	@echo "make kselftest  have the kernel's own kselftest run the selftests, both ways in (TESTS=)"
	@echo "make kernel-selftests  the kernel's own tests of memory, with farswap and without (TESTS=)"
	@echo "make coverage   which lines of mm/ and rdma/ the selftests run (TESTS=)"
	@echo "make tree       put farswap into a kernel's source, to build it in (KSRC=, UNDO=1)"
	@echo "make fetch      fetch Debian's 6.12 kernel and what the tests need"
	@echo "make check      build, lint, unit tests, models, and all selftests and chaos in QEMU"
	@echo "make nightly    what takes too long for make check: every selftest on the debug kernels, and others (STEPS=)"
	@echo "make htmldocs   these documents as HTML, in out/htmldocs"
	@echo "make lint       checkpatch, sparse, kernel-doc, shellcheck and others"
	@echo "make unit       unit tests on this machine"
	@echo "make model      search the models of slabs, replicas, staging and sessions for ways to break the rules"
	@echo "make mutants    break farswap on purpose: each time a test must fail (NAMES=)"
	@echo "make tests      build the selftests"
	@echo "make chaos      a verified load while all goes wrong that can (SEED=, SECONDS=, EVENTS=, BACKUP=, CLIENTS=, DONORS=, BOTH=, VARIANT=)"
	@echo "make demo       Redis over remote memory in QEMU, then over the disk alone"
	@echo "make bench      farswap beside NVMe-oF, NBD, disks, zram and zswap: tables, CSV and plots (RUNS=, PARTS=, SWAP=, LOCAL=)"
	@echo "make bench-headroom  a donor's memory while its own programs need it: a plot"
	@echo "make bench-events  what evictions, mapping, a donor's death and the backup cost (ONLY=)"
	@echo "make bench-ways   what the direct way into the kernel brings against attaching"
	@echo "make bench-prefetch  reading ahead by the trend of faults, beside the kernel's readahead"
	@echo "make bench-instructions  what a page costs in and out without a network, beside zram and brd"
	@echo "make bench-budget  the instructions of a page in and of one out, by function"
	@echo "make bench-flat  whether a page costs more where there are more slabs or donors"
	@echo "make bench-hotspots  where both machines' time goes, for a page out and one in, beside NVMe-oF"
	@echo "make bench-stages  where the time of a page-out and of a page fault goes, stage by stage, and that of the slowest"
	@echo "make bench-cluster  six machines that all swap and lend, beside disks alone: use of memory, time of programs (SEED=)"
	@echo "make bench-compare BASE=revision  this tree beside another revision, in ratios"
	@echo "make bench-techniques  what techniques give that were tried and left, by turns (NAMES=)"
	@echo "make clean      remove what was built"
endif
