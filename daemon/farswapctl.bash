# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of farswapctl for bash. farswapctl -h prints the commands.

_farswapctl() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words

	case $previous in
	-s) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
	--timeout) return ;;
	evict) words=all ;;
	*)
		words=$(farswapctl -h 2>/dev/null | sed -n 's/^  \([a-z]\{2,\}\) .*/\1/p' | sort -u)
		words="$words -h -s -V --timeout" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _farswapctl farswapctl
