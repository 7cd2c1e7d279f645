# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the checks of this folder share. Each check prints what is wrong, one `file:line: text` a line, and is
# silent when all is well; scripts/lint/run turns that into TAP. Sourced, never run.
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
cd "$TOP" || exit 1

# All files that are, or could become, part of the tree.
tree_files() { git ls-files -z --cached --others --exclude-standard -- "$@" | sort -zu | tr '\0' '\n' | existing; }
existing() { while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done; }

c_files() { tree_files '*.c' '*.h'; }

shell_files()
{
	tree_files | while IFS= read -r file; do
		case $file in
		*.sh) echo "$file" ;;
		*.[chS] | *.md | *.mk | *.txt | *.awk | *.build) ;;
		*) ! head -c 20 "$file" | head -n 1 | grep -qaE '^#!/bin/(ba)?sh' || echo "$file" ;;
		esac
	done
}
