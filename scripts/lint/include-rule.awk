# SPDX-License-Identifier: MIT
# In: scripts/rooms.txt, then grep's file:line:#include lines, and -v headers=all headers of the tree.
# Out: file:line: what is wrong.

# room PATH: the longest row that it lies in
function room(path,   r, best) {
	best = ""
	for (r in grant)
		if (index(path, r "/") == 1 && length(r) > length(best))
			best = r
	return best
}
# resolve FILE NAME QUOTED: the header of the tree that is meant, or "" for one from outside
function resolve(file, name, quoted,   dir, n, dirs, i) {
	dir = file
	sub(/[^\/]*$/, "", dir)
	if (quoted && ((dir name) in header))
		return dir name
	n = split(grant[room(file)], dirs, " ")
	for (i = 1; i <= n; i++) {
		dir = dirs[i]
		sub(/\/[^\/]*\.h$/, "", dir)
		if ((dir "/" name) in header)
			return dir "/" name
	}
	if ((room(file) "/" name) in header)
		return room(file) "/" name
	# Not reachable by the rule: whose is it? A bare name counts as ours only when it is included as ours.
	for (i in header)
		if (i == name || (substr(i, length(i) - length(name)) == "/" name && (quoted || name ~ /^vtpu/)))
			return i
	return ""
}
function allowed(file, target,   mine, n, dirs, i) {
	mine = room(file)
	if (room(target) == mine)
		return 1
	n = split(grant[mine], dirs, " ")
	for (i = 1; i <= n; i++)
		if (index(target, dirs[i] "/") == 1 || target == dirs[i])
			return 1
	return 0
}
# outside NAME FILE: may a file of this room include a header from outside the tree?
function outside(name, file,   mine, n, names, i, p) {
	mine = room(file)
	if (free[mine] || system_[mine] == "")
		return 1
	n = split(system_[mine], names, " ")
	for (i = 1; i <= n; i++) {
		p = names[i]
		gsub(/[.]/, "[.]", p)
		gsub(/[*]/, ".*", p)
		if (("<" name ">") ~ ("^" p "$"))
			return 1
	}
	return 0
}

BEGIN {
	n = split(headers, list, "\n")
	for (i = 1; i <= n; i++)
		header[list[i]] = 1
}
FILENAME == "scripts/rooms.txt" {
	if (/^#/ || !NF)
		next
	grant[$1] = ""
	for (i = 2; i <= NF; i++) {
		if ($i == "*")
			free[$1] = 1
		else if ($i ~ /^</)
			system_[$1] = system_[$1] " " $i
		else
			grant[$1] = grant[$1] " " $i
	}
	next
}
{
	match($0, /:[0-9]+:/)
	file = substr($0, 1, RSTART - 1)
	where = substr($0, 1, RSTART + RLENGTH - 1)
	text = substr($0, RSTART + RLENGTH)
	quoted = text ~ /include[ \t]*"/
	name = text
	sub(/^[^"<]*["<]/, "", name)
	sub(/[">].*/, "", name)
	if (room(file) == "")
		next
	target = resolve(file, name, quoted)
	if (target == "") {
		if (!outside(name, file))
			print where " " room(file) "/ may not include <" name ">"
		else if (quoted && !free[room(file)])
			print where " no such header in the tree: \"" name "\""
	} else if (!allowed(file, target)) {
		print where " " room(file) "/ may not include " target " (see scripts/rooms.txt)"
	}
}
