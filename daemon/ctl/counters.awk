# SPDX-License-Identifier: GPL-2.0
# Prints the counters of the admin guide's section "stats", with their texts, as C.

function flush() {
	if (name == "")
		return
	gsub(/``/, "", text)
	# A reference, as in "donors_".
	gsub(/donors_/, "donors", text)
	gsub(/["\\]/, "\\\\&", text)
	printf "\t{ \"%s\", %s, \"%s\" },\n", name, gauge, text
	name = ""
}

/^stats$/ { inside = 1 }
/^slabs$/ { inside = 0 }
!inside { next }
/^   \* - counter$/ { gauge = "false" }
/^   \* - gauge$/ { gauge = "true" }
/^   \* - ``/ {
	flush()
	name = $3
	gsub(/`/, "", name)
	next
}
/^     - / && name != "" {
	sub(/^     - /, "")
	text = $0
	next
}
/^       / && name != "" {
	sub(/^ +/, " ")
	text = text $0
	next
}
{ flush() }
END { flush() }
