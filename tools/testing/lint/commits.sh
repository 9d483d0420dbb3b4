#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks the subject and the sign-off of each commit since the one that added this file; older
# commits do not follow these rules. An export without history passes.
set -u
cd "$(dirname "$0")/../../.." || exit 1
[ -e .git ] || exit 0

git() {
	command git -c safe.directory='*' "$@"
}

SUBJECT_MAX=72
COMMITS_MAX=40
# Published before anybody ran this check.
KNOWN='fff6dfaa04c8'

# As a path of its own, so that the commit is found even after a rebase.
base=$(git log -1 --diff-filter=A --format=%H -- tools/testing/lint/commits.sh)
[ -n "$base" ] || exit 0
bad=0
while read -r commit; do
	[[ $commit =~ ^($KNOWN) ]] && continue
	subject=$(git log -1 --format=%s "$commit")
	if [ ${#subject} -gt $SUBJECT_MAX ]; then
		echo "${commit:0:12}: subject of ${#subject} characters (at most $SUBJECT_MAX): $subject"
		bad=1
	fi
	git log -1 --format=%B "$commit" | grep -q '^Signed-off-by: .* <.*>$' || {
		echo "${commit:0:12}: no Signed-off-by (git commit -s): $subject"
		bad=1
	}
done < <(git rev-list --no-merges -n $COMMITS_MAX "$base..HEAD")
exit $bad
