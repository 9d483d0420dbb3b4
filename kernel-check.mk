# SPDX-License-Identifier: GPL-2.0
#
# Can farswap be built for this kernel, as modules of its own? The Makefile asks before it calls
# kbuild, whose first lines would be about something else; kbuild reads this too, since
# others call that directly.

farswap-release := $(or $(KERNELRELEASE),$(shell cat '$(KDIR)/include/config/kernel.release' 2>&1))
farswap-needs := SWAP ZSWAP KPROBES DYNAMIC_FTRACE_WITH_ARGS DEBUG_INFO_BTF \
	$(if $(CONFIG_FARSWAP_RDMA),INFINIBAND INFINIBAND_ADDR_TRANS)
farswap-missing := $(foreach name,$(farswap-needs),$(if $(CONFIG_$(name)),,CONFIG_$(name)))

ifeq ($(filter 6.12 6.12.% 6.12-% 6.12+%,$(farswap-release)),)
$(error farswap: as modules of its own it is for Linux 6.12, and this is "$(farswap-release)": say KDIR=headers of a 6.12 kernel; for 7.3 see make tree)
endif
ifeq ($(CONFIG_X86_64),)
$(error farswap: it is for x86-64, and Linux $(farswap-release) here is for another architecture)
endif
ifneq ($(CONFIG_PREEMPT_RT)$(CONFIG_LTO_CLANG),)
$(error farswap: it cannot attach to Linux $(farswap-release), which has $(if $(CONFIG_PREEMPT_RT),CONFIG_PREEMPT_RT,CONFIG_LTO_CLANG): say KDIR=headers of another 6.12 kernel, or put it into the source of that one (make tree))
endif
ifneq ($(strip $(farswap-missing)),)
$(error farswap: it cannot attach to Linux $(farswap-release), which has no $(strip $(farswap-missing)): say KDIR=headers of another 6.12 kernel$(if $(findstring cloud,$(farswap-release)), (Debian's linux-headers-6.12-amd64 and not -cloud-amd64)), or put it into the source of that one (make tree))
endif
