# SPDX-License-Identifier: GPL-2.0

ifneq ($(KERNELRELEASE),)
# Read by kbuild.
subdir-ccflags-y += -I$(src)/include -include $(src)/include/compat.h
obj-y += mm/ rdma/
else

# The running kernel's headers where that is one we are made for, else those
# that tools/testing/qemu/fetch.sh has put into its cache.
FETCH := tools/testing/qemu/fetch.sh
HOST_KDIR := /lib/modules/$(shell uname -r)/build
ifneq ($(filter 6.12.%,$(shell uname -r)),)
KDIR ?= $(if $(wildcard $(HOST_KDIR)/Makefile),$(HOST_KDIR),$(shell $(FETCH) --kdir))
else
KDIR ?= $(shell $(FETCH) --kdir)
endif
KCONFIG := CONFIG_FARSWAP=m CONFIG_FARSWAP_RDMA=m
KBUILD = $(MAKE) -C $(or $(KDIR),$(error no kernel headers for 6.12: run $(FETCH), or say KDIR=)) \
	M=$(CURDIR) $(KCONFIG)

SELFTESTS := tools/testing/selftests/farswap
RAM := tools/testing/ram
PREFIX ?= /usr/local

.DEFAULT_GOAL := all
.PHONY: all modules daemon tests unit install clean check lint demo bench fetch help

all: modules daemon

modules:
	$(KBUILD) modules

daemon:
	$(MAKE) -C daemon

tests: modules
	$(MAKE) -C $(SELFTESTS)
	[ ! -e $(RAM)/Makefile ] || $(MAKE) -C $(RAM) KDIR=$(KDIR)

unit:
	@status=0; for d in tools/testing/unit tools/testing/daemon; do \
		[ ! -e $$d/Makefile ] || $(MAKE) -C $$d check || status=1; \
	done; exit $$status

install: modules daemon
	$(KBUILD) modules_install INSTALL_MOD_DIR=extra $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR) DEPMOD=true)
	$(MAKE) -C daemon install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)

fetch:
	$(FETCH)

check:
	@tools/testing/qemu/check.py

lint:
	@tools/testing/lint/lint.sh

demo:
	@tools/testing/demo/demo.py

bench:
	@tools/testing/bench/bench.py

clean:
	$(if $(KDIR),$(KBUILD) clean)
	$(MAKE) -C daemon clean
	$(MAKE) -C $(SELFTESTS) clean
	[ ! -e $(RAM)/Makefile ] || $(MAKE) -C $(RAM) KDIR=$(KDIR) clean
	@for d in tools/testing/unit tools/testing/daemon tools/testing/demo tools/testing/bench; do \
		[ ! -e $$d/Makefile ] || $(MAKE) -C $$d clean; done

help:
	@echo "make            build the kernel modules and the daemon"
	@echo "make install    install both (DESTDIR=, PREFIX=$(PREFIX))"
	@echo "make modules    farswap.ko and farswap-rdma.ko for KDIR=$(KDIR)"
	@echo "make daemon     farswapd and farswapctl"
	@echo "make fetch      fetch Debian's 6.12 kernel and what the tests need"
	@echo "make check      everything below but demo and bench, and the selftests in QEMU"
	@echo "make lint       checkpatch, sparse, kernel-doc, shellcheck and others"
	@echo "make unit       unit tests on this machine"
	@echo "make tests      build the selftests"
	@echo "make demo       Redis over remote memory in QEMU, then over the disk alone"
	@echo "make bench      page fault latency against raw RDMA reads"
	@echo "make clean      remove what was built"
endif
