# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A private apt state in the cache: packages and sources of Debian suites that this machine does not
# itself follow (backports, security, the release that carries our QEMU), without a change to the
# machine's own configuration and without root. Where the archive is comes from the machine's own apt
# configuration at run time, proxies and credentials included. Sourced after common.sh.

APT=$CACHE/apt
# The release whose QEMU source we build on.
QEMU_RELEASE=trixie

apt_release()
{
	# shellcheck source=/dev/null
	(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")
}

# apt_get/apt_cache ARGS...: the ordinary clients, on the private state.
apt_options()
{
	echo "-oDir::State::Lists=$APT/lists" "-oDir::Cache=$APT" "-oDir::Etc::sourcelist=/dev/null" \
		"-oDir::Etc::sourceparts=$APT/sources.d" "-oAPT::Sandbox::User=$(id -un)" \
		"-oAcquire::Retries=3" "-oDir::Etc::preferencesparts=$APT/none" "-qq"
}
# shellcheck disable=SC2046  # the options are words
apt_get() { apt-get $(apt_options) "$@"; }
# shellcheck disable=SC2046
apt_cache() { apt-cache $(apt_options) "$@"; }

# The address of Debian's archive with that label, as the machine's own sources give it. A machine
# without package lists (a fresh container) gets them in the private state only.
apt_archive()
{
	local label=$1 where format
	# shellcheck disable=SC2016  # apt's own placeholders
	format='$(CREATED_BY)|$(ORIGIN)|$(LABEL)|$(REPO_URI)'
	where=$(apt-get indextargets --format "$format" | sed -n "s/^Packages|Debian|$label|//p" | head -n 1)
	if [ -z "$where" ]; then
		mkdir -p "$APT/own/partial"
		apt-get -qq "-oDir::State::Lists=$APT/own" "-oAPT::Sandbox::User=$(id -un)" update >&2 || return 1
		where=$(apt-get "-oDir::State::Lists=$APT/own" indextargets --format "$format" |
			sed -n "s/^Packages|Debian|$label|//p" | head -n 1)
	fi
	[ -n "$where" ] && echo "$where"
}

apt_sources()
{
	local main security own keys=/usr/share/keyrings/debian-archive-keyring.gpg
	own=$(apt_release)
	main=$(apt_archive Debian) || die "apt knows no Debian archive on this machine (see apt-get indextargets)"
	security=$(apt_archive Debian-Security) || security=
	stanza() { printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' "$1" "$2" "$3" "$keys"; }
	stanza deb "$main" "$own $own-updates $own-backports"
	stanza deb-src "$main" "$QEMU_RELEASE"
	[ -z "$security" ] || stanza deb "$security" "$own-security"
	[ -z "$security" ] || stanza deb-src "$security" "$QEMU_RELEASE-security"
}

refresh()
{
	local stamp=$APT/lists/.fresh
	# Who waited for the lock finds what the other has fetched.
	if [ "${1:-}" != now ] && [ -n "$(find "$stamp" -mmin -720 2>/dev/null)" ]; then
		return 0
	fi
	mkdir -p "$APT/lists/partial" "$APT/archives/partial" "$APT/sources.d" "$APT/none"
	apt_sources | put "$APT/sources.d/vtpu.sources"
	note APT "lists of $(apt_release), its updates and backports, and sources of $QEMU_RELEASE"
	apt_get update && touch "$stamp"
}

# apt_refresh [now]: fetch the lists when they are older than half a day, or now. QEMU and the guest's kernel are made
# at the same time, and apt waits for nobody.
apt_refresh() { with_lock apt-lists refresh "$@"; }

# apt_fetch DIR PACKAGE...: download these debs (NAME, NAME=VERSION or NAME/SUITE) into DIR.
apt_fetch()
{
	local dir=$1
	shift
	mkdir -p "$dir"
	(cd "$dir" && apt_get download "$@") || { apt_refresh now && (cd "$dir" && apt_get download "$@"); }
}
