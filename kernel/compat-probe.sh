#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Which kernel interfaces do these headers have? Compiles one small file for each feature that vtpu_compat.h
# shims and prints a #define for each that compiles. Releases are not compared: distributions backport.
#
# usage: compat-probe.sh HEADERS
#
# Answers are cached by content of this script and of the headers' symbol table.
set -eu

headers=$1
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/vtpu/compat
key=$(cat "$0" "$headers/include/config/kernel.release" "$headers/Module.symvers" | sha256sum | cut -c1-16)
if [ -s "$cache/$key" ]; then
	cat "$cache/$key"
	exit 0
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# probe NAME: standard input is the body of a function that compiles if the kernel has it
probe()
{
	printf 'obj-m += %s.o\n' "$1" >>"$dir/Kbuild"
	{
		cat <<-'EOF'
		#include <linux/module.h>
		#include <drm/drm_drv.h>
		#include <drm/drm_device.h>
		#include <drm/drm_file.h>
		#include <drm/gpu_scheduler.h>
		void vtpu_probe(void *p);
		void vtpu_probe(void *p)
		{
		EOF
		cat
		printf '}\nMODULE_LICENSE("GPL");\n'
	} >"$dir/$1.c"
}

# Compiles everywhere; if it does not, the headers are broken and no answer means anything.
probe CANARY <<'EOF'
	drm_dev_put(p);
EOF
probe SCHED_INIT_ARGS <<'EOF'
	const struct drm_sched_init_args args = { .credit_limit = 1 };

	drm_sched_init(p, &args);
EOF
probe SCHED_NUM_RQS <<'EOF'
	const struct drm_sched_init_args args = { .num_rqs = 1 };

	drm_sched_init(p, &args);
EOF
probe SCHED_CLIENT_ID <<'EOF'
	struct drm_file *file = p;

	drm_sched_job_init(p, p, 1, NULL, file->client_id);
EOF
probe SCHED_NO_HANG <<'EOF'
	*(enum drm_gpu_sched_stat *)p = DRM_GPU_SCHED_STAT_NO_HANG;
EOF
probe WEDGED_EVENT_TASK <<'EOF'
	drm_dev_wedged_event(p, DRM_WEDGE_RECOVERY_REBIND, NULL);
EOF
probe WEDGED_EVENT <<'EOF'
	drm_dev_wedged_event(p, DRM_WEDGE_RECOVERY_REBIND);
EOF

# The environment of a surrounding make is not this one's.
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -k -s -C "$headers" M="$dir" KBUILD_MODPOST_WARN=1 modules \
	>"$dir/log" 2>&1 || :
if [ ! -e "$dir/CANARY.o" ]; then
	cat "$dir/log" >&2
	echo "compat-probe.sh: nothing compiles against $headers" >&2
	exit 1
fi
{
	echo "/* Made by compat-probe.sh */"
	for object in "$dir"/*.o; do
		name=$(basename "$object" .o)
		case $name in
		CANARY | *.mod) ;;
		*) echo "#define VTPU_HAVE_$name 1" ;;
		esac
	done
} >"$dir/answer"
mkdir -p "$cache"
cp "$dir/answer" "$cache/$key.$$" && mv "$cache/$key.$$" "$cache/$key"
cat "$dir/answer"
