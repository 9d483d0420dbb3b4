# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207
# Completion for farswapctl, printed from its table of commands.
_farswapctl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
	case $before in
	donors) words=" add remove sync" ;;
	stats) words=" --watch" ;;
	top) words=" --watch" ;;
	bench) words="" ;;
	explain) words=" all $(farswapctl explain all 2>/dev/null | cut -d: -f1)" ;;
	metrics) words=" --plain --http --output" ;;
	evict) words=" all" ;;
	drain) words=" --timeout" ;;
	vm) words=" list size min grow pull wss hotplug" ;;
	shrink) words=" min $(systemctl list-units --plain --no-legend 2>/dev/null | cut -d' ' -f1)" ;;
	grow) words=" max $(systemctl list-units --plain --no-legend 2>/dev/null | cut -d' ' -f1)" ;;
	pull) words=" $(systemctl list-units --plain --no-legend 2>/dev/null | cut -d' ' -f1)" ;;
	wss) words=" $(systemctl list-units --plain --no-legend 2>/dev/null | cut -d' ' -f1)" ;;
	keep) words=" $(systemctl list-units --plain --no-legend 2>/dev/null | cut -d' ' -f1)" ;;
	advise) words=" $(systemctl list-units --plain --no-legend 2>/dev/null | cut -d' ' -f1)" ;;
	hotplug) words="" ;;
	cgroup) words=" show set -" ;;
	key) words=" next commit" ;;
	allow) words="" ;;
	deny) words="" ;;
	invite) words=" --for --at" ;;
	join) words="" ;;
	-s | --root)
		COMPREPLY=($(compgen -f -- "$word"))
		return
		;;
	*) words="status check donors slabs stats top bench explain metrics evict drain undrain vm shrink grow pull wss keep advise hotplug cgroup key allow deny invite join --json --root -s -V -h" ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _farswapctl farswapctl
