# SPDX-License-Identifier: MIT
# Prints the list of targets from the `##` comments of the Makefiles given: `##@ Heading` opens a
# group, `target: ... ## text` is a line of it.
BEGIN { print "vTPU: a virtual TPU, from the PCIe bus up. Usage: make TARGET [V=1]" }
/^##@ / { printf "\n%s\n", substr($0, 5) }
/^[a-z][a-z0-9_-]*:.*## / {
	name = $0; sub(/:.*/, "", name)
	text = $0; sub(/.*## /, "", text)
	printf "  %-12s %s\n", name, text
}
