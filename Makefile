# SPDX-License-Identifier: GPL-2.0

ifneq ($(KERNELRELEASE),)
# kbuild reads this, for make clean without a configuration.
ifneq ($(CONFIG_MODULES),)
include $(src)/kernel-check.mk
endif
subdir-ccflags-y += -I$(src)/include -include $(src)/include/compat.h
subdir-ccflags-y += -DFARSWAP_RELEASE=\"$(file <$(src)/VERSION)\"
# Some releases of 6.12 lack WQ_PERCPU; there it is the default.
subdir-ccflags-y += $(if $(shell grep -s WQ_PERCPU $(srctree)/include/linux/workqueue.h),,-DWQ_PERCPU=0)
obj-y += mm/ rdma/
else

# The headers of the running kernel if it is 6.12, otherwise those in the cache
# of tools/testing/qemu/fetch.sh.
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
no_blank = $(if $(word 2,$(1)),$(error farswap: the kernel's build does not support a space in the path "$(1)": move the directory))
no_kdir = $(error $(if $(KDIR),farswap: no kernel headers in "$(KDIR)",farswap: no kernel headers for 6.12): run $(FETCH), or set KDIR=)

SELFTESTS := tools/testing/selftests/farswap
TEST_MODULES := tools/testing/modules
PREFIX ?= /usr/local

.DEFAULT_GOAL := all
.PHONY: all kernel-check modules daemon tests unit fuzz model install deb check-packages clean check nightly lint mutants chaos demo bench tree check-tree check-away inspect kunit kselftest kernel-selftests coverage htmldocs drawings fetch help

all: modules daemon

modules: kernel-check
	$(KBUILD) modules

# Fails with a reason if the modules can't be built for this kernel.
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
	@status=0; for d in tools/testing/unit tools/testing/daemon tools/testing/fuzz tools/testing/harness \
		tools/testing/chaos; do \
		[ ! -e $$d/Makefile ] || $(MAKE) -C $$d check || status=1; \
	done; exit $$status

# SECONDS= of each, SEED=, RUNS=
fuzz:
	@$(MAKE) -C tools/testing/fuzz check SECONDS=$(or $(SECONDS),120) SEED=$(SEED) RUNS=$(RUNS)

model:
	@tools/testing/model/check.sh

# kbuild skips depmod without a System.map, which Debian's headers lack.
define DEPMOD_INSTALLED
@release=$$(cat $(KDIR)/include/config/kernel.release) && \
	PATH=$$PATH:/usr/sbin:/sbin depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $$release && \
	{ [ "$$release" = "$$(uname -r)" ] || \
		echo "farswap: installed modules for Linux $$release, but $$(uname -r) is running: set KDIR= to its headers"; }
endef

install: modules daemon
	$(KBUILD) modules_install INSTALL_MOD_DIR=extra $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR) DEPMOD=true)
	$(if $(DESTDIR),,$(DEPMOD_INSTALLED))
	$(MAKE) -C daemon install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)

# Debian packages, in out/deb.
deb:
	@tools/testing/packages/build.sh

# STEPS= chroot-bookworm, chroot-trixie, machines-bookworm, machines-trixie
check-packages: tests
	@tools/testing/packages/packages.py $(STEPS)

fetch:
	$(FETCH)

# KERNEL=6.12 or 7.3, VARIANT=debug, debug-attach, builtin or race, TESTS=
builtin_TESTS := built_in.sh data_path.sh attach_detach.sh large_folios.sh swapoff_remote.sh evict.sh
check-tree: modules daemon tests
	@kernel=$$(tools/testing/tree/kernel.sh $(if $(KERNEL),--version $(KERNEL)) $(VARIANT)) && \
		tools/testing/qemu/run-selftests.py --client-kernel "$$kernel$(if $(filter %-attach,$(VARIANT)),/attach)" $(or $(TESTS),$($(VARIANT)_TESTS))

# Every way to lose the network, for every duration: the client's, the donor's, and both at once.
# WHO= one of them
check-away: modules daemon tests
	@status=0; for who in $(or $(WHO),client donor both); do \
		tools/testing/qemu/run-selftests.py --env AWAY=all --env WHO=$$who --timeout 900 \
			network_away.sh || status=1; \
	done; exit $$status

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

# Checks that the patches add nothing to a kernel without farswap, and compiles the in-tree code.
inspect:
	@tools/testing/tree/inspect.sh $(KERNEL)

kunit:
	@tools/testing/tree/kunit.sh

htmldocs:
	@tools/testing/tree/htmldocs.sh out/htmldocs
	@echo "out/htmldocs/index.html"

# The .svg beside each .dot file, without the version of the tool.
drawings:
	@command -v dot >/dev/null || { echo "make drawings: run $(FETCH) first, which installs graphviz"; exit 1; }
	@for file in $$(find Documentation -name '*.dot'); do \
		dot -Tsvg $$file | sed -e '/^<!-- Generated by/d' -e '/^ -->$$/d' -e 's/[ \t]*$$//' >$${file%.dot}.svg && \
			echo $${file%.dot}.svg || exit 1; \
	done

# KSRC= UNDO=1
tree:
	@tools/testing/tree/graft.sh $(if $(UNDO),--undo) "$(or $(KSRC),$(error set KSRC= to the source of Linux 6.12 or 7.3 that farswap is added to))"

check:
	@tools/testing/qemu/check.py

lint:
	@tools/testing/lint/lint.sh

# NAMES=
mutants:
	@KDIR=$(KDIR) tools/testing/mutants/check.sh $(NAMES)

# SEED= SECONDS= EVENTS=kill,evict,... BACKUP=disk, replica, replica+disk or none; PROTECT=none,
# verify or encrypt; CLIENTS= DONORS= BOTH= machines;
# VARIANT= as for check-tree
chaos: modules daemon tests
	@kernel=$(if $(VARIANT),$$(tools/testing/tree/kernel.sh $(VARIANT))) && \
		tools/testing/chaos/chaos.py $(if $(SEED),--seed=$(SEED)) $(if $(SECONDS),--seconds=$(SECONDS)) \
			$(if $(EVENTS),--events=$(EVENTS)) $(if $(BACKUP),--backup=$(BACKUP)) \
			$(if $(COMPRESS),--compress=$(COMPRESS)) $(if $(PROTECT),--protect=$(PROTECT)) \
			$(if $(CLIENTS),--clients=$(CLIENTS)) $(if $(DONORS),--donors=$(DONORS)) \
			$(if $(BOTH),--both=$(BOTH)) \
			$(if $(VARIANT),--client-kernel="$$kernel$(if $(filter %-attach,$(VARIANT)),/attach)")

# STEPS=
nightly:
	@tools/testing/tree/nightly.sh $(STEPS)

demo:
	@tools/testing/demo/demo.py

# ARGS=, options of the bench, such as --help
bench:
	@tools/testing/bench/bench.py $(ARGS)

bench-%:
	@$(or $(wildcard tools/testing/bench/$(subst -,_,$*).py),$(error no bench "$*": make help lists them)) $(ARGS)

clean:
	$(if $(KDIR),$(KBUILD) clean)
	$(MAKE) -C daemon clean
	$(MAKE) -C $(SELFTESTS) clean
	[ ! -e $(TEST_MODULES)/Makefile ] || $(MAKE) -C $(TEST_MODULES) KDIR=$(KDIR) clean
	@for d in tools/testing/unit tools/testing/daemon tools/testing/demo tools/testing/bench; do \
		[ ! -e $$d/Makefile ] || $(MAKE) -C $$d clean; done
	rm -rf out/model out/mutants out/htmldocs out/deb

help:
	@echo "make            build the kernel modules and the daemon"
	@echo "make install    install both (DESTDIR=, PREFIX=$(PREFIX), RELEASE=version that farswapd -V prints, otherwise that of the file VERSION)"
	@echo "make deb        build the Debian packages farswap-dkms, farswap-utils and farswapd"
	@echo "make check-packages  install, update and purge the packages in chroots and in virtual machines, as root (STEPS=)"
	@echo "make kernel-check  check that the modules can be built for a kernel (KDIR=)"
	@echo "make modules    farswap.ko and farswap-rdma.ko for KDIR=$(KDIR)"
	@echo "make daemon     farswapd and farswapctl"
	@echo "make check-tree build a kernel with farswap in its tree and run the selftests on it (KERNEL=6.12 or 7.3, VARIANT=debug, debug-attach, builtin or race, TESTS=)"
	@echo "make inspect    check that the patches add nothing to the swap code of a kernel without farswap (KERNEL=)"
	@echo "make kunit      run the KUnit suites with the kernel's kunit.py"
	@echo "make kselftest  run the selftests with the kernel's kselftest, in both hook modes (TESTS=)"
	@echo "make kernel-selftests  run the kernel's mm selftests, with and without farswap (TESTS=)"
	@echo "make coverage   report which lines of mm/ and rdma/ the selftests cover (TESTS=)"
	@echo "make tree       add farswap to a kernel's source tree, or remove it (KSRC=, UNDO=1)"
	@echo "make fetch      fetch Debian's 6.12 kernel and the packages for the tests"
	@echo "make check      build, lint, run unit tests and models, and all selftests and chaos in QEMU"
	@echo "make nightly    run what is too long for make check, such as every selftest on the debug kernels (STEPS=)"
	@echo "make htmldocs   build the documents as HTML, in out/htmldocs"
	@echo "make drawings   draw the pictures of the documents from their .dot files"
	@echo "make lint       run checkpatch, sparse, kernel-doc, shellcheck and others"
	@echo "make unit       run the unit tests on this machine"
	@echo "make fuzz       feed both sides with damaged messages and hostile clients (SECONDS=, SEED=, RUNS=)"
	@echo "make model      check the models of slabs, replicas, staging and sessions for violations of the invariants"
	@echo "make mutants    check that a test fails for each patch that breaks farswap on purpose (NAMES=)"
	@echo "make tests      build the selftests"
	@echo "make chaos      run a verified load under random failures (SEED=, SECONDS=, EVENTS=, BACKUP=, COMPRESS=, PROTECT=, CLIENTS=, DONORS=, BOTH=, VARIANT=)"
	@echo "make demo       run Redis in QEMU over remote memory, then over the disk only"
	@echo "make bench      compare farswap with NVMe-oF, NBD, disks, zram and zswap: tables, CSV and plots (ARGS=, as for all benches)"
	@echo "make bench-headroom  plot a donor's memory while its own programs grow"
	@echo "make bench-events  measure the cost of evictions, mapping, a donor's death and the backup (ARGS=--only=...)"
	@echo "make bench-figures  draw the plots of the documents from what make bench and make bench-events left"
	@echo "make bench-ways   compare the in-tree hook mode with ftrace"
	@echo "make bench-prefetch  compare trend-based prefetch with the kernel's readahead"
	@echo "make bench-instructions  count instructions of page-in and page-out without a network, compared with zram and brd"
	@echo "make bench-budget  count instructions of a page-in and a page-out by function"
	@echo "make bench-flat  check that the cost of a page does not grow with slabs or donors"
	@echo "make bench-hotspots  profile both machines during page-out and page-in, compared with NVMe-oF"
	@echo "make bench-stages  break down the time of page-outs and page faults by stage, slowest included"
	@echo "make bench-manycore  count the cache lines that 8 and 16 processors take from each other for a page"
	@echo "make bench-cluster-wide  six machines that swap and lend, compared with disks only: memory use, run times"
	@echo "make bench-vm  time the faults of shared memory, and the growth of a virtual machine with and without pull"
	@echo "make bench-tails  compare the slowest faults of reads and rewrites with those over NVMe-oF"
	@echo "make bench-dashboard  draw the graphs of the Grafana dashboard from what Prometheus scrapes of a virtual cluster"
	@echo "make bench-flood  compare an honest client with and without a flood of connect requests"
	@echo "make bench-slow   time page faults while one of two donors is slow, with and without hedged reads"
	@echo "make bench-guest  shrink a real guest as far as it still answers, and let it grow again"
	@echo "make bench-compress  compare compress=lz4 with none: regions, bytes on the wire, page faults, page-out"
	@echo "make bench-cipher  cycles that encrypting a page takes on this machine"
	@echo "make bench-protect  compare protect=encrypt with none: page faults, page-out"
	@echo "make bench-compare ARGS=revision  compare this tree with another revision, in ratios"
	@echo "make bench-techniques  measure techniques that were tried and dropped, alternating (ARGS=names)"
	@echo "make clean      remove what was built"
endif
