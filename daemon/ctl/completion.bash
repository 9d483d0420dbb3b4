# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207
# Completion for farswapctl, printed from its table of commands.
_farswapctl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
	case $before in
	donors) words=" add remove" ;;
	stats) words=" --watch" ;;
	top) words=" --watch" ;;
	explain) words=" all $(farswapctl explain all 2>/dev/null | cut -d: -f1)" ;;
	metrics) words=" --plain --http --output" ;;
	evict) words=" all" ;;
	drain) words=" --timeout" ;;
	-s | --root)
		COMPREPLY=($(compgen -f -- "$word"))
		return
		;;
	*) words="status check donors slabs stats top explain metrics evict drain undrain --json --root -s -V -h" ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _farswapctl farswapctl
