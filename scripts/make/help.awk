# SPDX-License-Identifier: MIT
# Prints the list of targets from the `##` comments of the Makefiles given: `##@ Heading` opens a
# group or goes on with one of that name, `target: ... ## text` is a line of it.
/^##@ / {
	group = substr($0, 5)
	if (!(group in lines))
		order[++groups] = group
	lines[group] = lines[group]
}
/^[a-z][a-z0-9_-]*:.*## / {
	name = $0; sub(/:.*/, "", name)
	text = $0; sub(/.*## /, "", text)
	lines[group] = lines[group] sprintf("  %-12s %s\n", name, text)
}
END {
	print "vTPU: a virtual TPU, from the PCIe bus up. Usage: make TARGET [V=1]"
	for (i = 1; i <= groups; i++)
		printf "\n%s\n%s", order[i], lines[order[i]]
}
