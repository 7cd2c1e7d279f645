# SPDX-License-Identifier: MIT
# Judges one suite's TAP. In: -v rc=EXITCODE -v limit=SECONDS. Out: a line "passed failed skipped", then
# the failing tests in full with the comment lines around them, and what is wrong with the suite itself.
# A suite's own fault (crash, time-out, plan not kept) counts as one failure on top.
function show(text) { shown[++nshown] = text }
function fault(text) { nfault++; show("suite: " text) }

/^1\.\.[0-9]+/ {
	if (plan != "")
		fault("more than one plan")
	plan = substr($1, 4) + 0
	if (plan == 0 && /#[ \t]*[Ss][Kk][Ii][Pp]/) {
		nskip++
		show($0)
	}
}
/^Bail out!/ { fault($0) }
/^(not )?ok([ \t]|$)/ {
	n++
	if (/#[ \t]*[Ss][Kk][Ii][Pp]/) {
		nskip++
		nbefore = 0
		show($0)
		next
	}
	if ($1 == "ok") {
		npass++
		failing = 0
	} else {
		nfail++
		failing = 1
		for (i = 1; i <= nbefore; i++)
			show(before[i])
		show($0)
	}
	nbefore = 0
	next
}
# Comments belong to the failing test before them, or else to the one after.
/^#/ {
	if (failing)
		show($0)
	else
		before[++nbefore] = $0
	next
}
{ failing = 0 }

END {
	if (rc == 124 || (rc == 137 && limit > 0))
		fault("ran out of time or was killed (limit " limit " s)")
	else if (rc > 128 && rc < 160)
		fault("died of signal " (rc - 128))
	if (plan == "" && !nfault)
		fault("ended without its plan (exit code " rc ")")
	else if (plan != "" && plan != n && !nfault)
		fault("planned " plan " tests, ran " n + 0 " (exit code " rc ")")
	else if (rc != 0 && !nfail && !nfault && !(rc == 4 && nskip))
		fault("exit code " rc " though no test failed")
	print npass + 0, nfail + (nfault > 0), nskip + 0
	for (i = 1; i <= nshown; i++)
		print shown[i]
}
