# SPDX-License-Identifier: GPL-2.0
#
# Checks that farswap can be built as out-of-tree modules for this kernel. The Makefile runs this
# before kbuild, so that its message comes first; kbuild reads it too, because packagers
# call kbuild directly.

farswap-release := $(or $(KERNELRELEASE),$(shell cat '$(KDIR)/include/config/kernel.release' 2>&1))
farswap-needs := SWAP ZSWAP KPROBES DYNAMIC_FTRACE_WITH_ARGS DEBUG_INFO_BTF \
	$(if $(CONFIG_FARSWAP_RDMA),INFINIBAND INFINIBAND_ADDR_TRANS \
	CRYPTO_LIB_CHACHA20POLY1305 CRYPTO_LIB_CURVE25519)
farswap-missing := $(foreach name,$(farswap-needs),$(if $(CONFIG_$(name)),,CONFIG_$(name)))

ifeq ($(filter 6.12 6.12.% 6.12-% 6.12+%,$(farswap-release)),)
$(error farswap: out-of-tree modules need Linux 6.12, not "$(farswap-release)": set KDIR= to the headers of a 6.12 kernel; for 7.3 use make tree)
endif
ifeq ($(CONFIG_X86_64),)
$(error farswap: needs x86-64, and Linux $(farswap-release) is built for another architecture)
endif
ifneq ($(CONFIG_PREEMPT_RT)$(CONFIG_LTO_CLANG),)
$(error farswap: cannot attach to Linux $(farswap-release), which has $(if $(CONFIG_PREEMPT_RT),CONFIG_PREEMPT_RT,CONFIG_LTO_CLANG): set KDIR= to the headers of another 6.12 kernel, or build farswap into this one (make tree))
endif
ifneq ($(strip $(farswap-missing)),)
$(error farswap: cannot attach to Linux $(farswap-release), which lacks $(strip $(farswap-missing)): set KDIR= to the headers of another 6.12 kernel$(if $(findstring cloud,$(farswap-release)), (Debian's linux-headers-6.12-amd64 and not -cloud-amd64)), or build farswap into this one (make tree))
endif
