# SPDX-License-Identifier: MIT
# vTPU: the one entry for building, running and testing. `make help` lists what there is.
#
# Rooms declare what they hold in <room>/build.mk with the macros of scripts/make/rules.mk, and add to:
#
#   LIBS, TOOLS, SAMPLES  targets that `make lib`, `make tools`, `make samples` build
#   CHECK_QUICK           host programs or scripts that print TAP (`make check-quick`, no VM)
#   CHECK_HOST_VM         host scripts that print TAP and boot VMs of their own (`make check-vm`)
#   CHECK_VM              scripts that print TAP and run inside a VM; those with the same `# vm:` line
#                         (options for tools/vtpu-vm) share one boot (`make check-vm`)
#   CHECK_LONG            as CHECK_QUICK, for `make check-long` only
#   CHECK_DEPS            what must be built first, besides the named programs themselves
#   TIMEOUT_<entry>       seconds for that entry, default 300
#   BENCH                 programs that `make bench` runs one after the other
#   DEMO                  the command that `make demo` runs once all is built
#   FORMAT_SKIP           C files that `make format` leaves alone (none so far)
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDARY:
SHELL := /bin/bash

VERSION := $(file < VERSION)
CACHE   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vtpu

include scripts/make/rules.mk

# Rooms, in the order in which they may know each other, and the -I that each gets for it.
ROOMS := $(shell awk '!/^#/ && NF { print $$1 }' scripts/rooms.txt)
$(foreach r,$(ROOMS),$(eval CFLAGS_$r += $(shell awk -v room=$r \
	'$$1 == room { for (i = 2; i <= NF; i++) if ($$i !~ /[*<]/) { sub(/\/[^\/]*\.h$$/, "", $$i); printf "-I%s ", $$i } }' scripts/rooms.txt)))
include $(wildcard $(addsuffix /build.mk,$(ROOMS) tests/*))

##@ Build
all: lib tools samples module qemu ## Build everything
lib: deps $(LIBS) ## libvtpu and the chip model
tools: lib $(TOOLS) ## vtpu-smi and the other commands
samples: lib $(SAMPLES) ## The small example programs
module: deps ## The kernel driver vtpu.ko, against the guest's kernel
qemu: deps ## QEMU with the vtpu device, in build/qemu
deps: build/.deps ## Install the Debian packages that are missing (as root)

build/.deps: scripts/deps.txt scripts/deps.sh
	$(Q)scripts/deps.sh
	$(Q)mkdir -p build && touch $@

##@ Run
demo: all ## Boot a VM with the device and train a network on its 8 cores
	$(Q)$(if $(DEMO),$(DEMO),echo 'make demo: no room has registered a demo' >&2; exit 1)
bench: all $(filter build/%,$(BENCH)) ## Measure against the bars and write build/bench.json
	$(Q)$(if $(BENCH),scripts/bench.sh $(BENCH),echo 'make bench: no room has registered a row' >&2; exit 1)

##@ Test
# A word for scripts/run-tests: kind:path@seconds
suites = $(foreach s,$2,$1:$s$(addprefix @,$(TIMEOUT_$s)))
QUICK := $(call suites,host,$(CHECK_QUICK))
VM    := $(call suites,host,$(CHECK_HOST_VM)) $(call suites,vm,$(CHECK_VM))
LONG  := $(call suites,host,$(CHECK_LONG))
LINT  := host:scripts/lint/run@900

check: all $(filter build/%,$(CHECK_QUICK) $(CHECK_HOST_VM)) $(CHECK_DEPS) ## Lint and all tests (cold about 30 minutes)
	$(Q)scripts/run-tests $(LINT) $(QUICK) $(VM)
check-quick: lib $(filter build/%,$(CHECK_QUICK)) ## Tests on the host alone, without a VM
	$(Q)scripts/run-tests $(QUICK)
check-vm: all $(filter build/%,$(CHECK_HOST_VM)) $(CHECK_DEPS) ## Tests inside a VM
	$(Q)scripts/run-tests $(VM)
check-long: all $(filter build/%,$(CHECK_QUICK) $(CHECK_HOST_VM) $(CHECK_LONG)) $(CHECK_DEPS) ## All of that and the long runs
	$(Q)scripts/run-tests $(LINT) $(QUICK) $(VM) $(LONG)
lint: lib tools samples module qemu $(filter build/%,$(CHECK_QUICK)) ## Format, warnings, sparse, checkpatch, shellcheck, licences, padding, who includes whom
	$(Q)scripts/run-tests $(LINT)

##@ Care
format: deps ## Bring all C files into the house style
	$(Q)scripts/lint/format --fix
clean: ## Remove build/ (the cache outside the tree stays)
	rm -rf build
help: ## This list
	@awk -f scripts/make/help.awk $(MAKEFILE_LIST)

.PHONY: all lib tools samples module qemu deps demo bench check check-quick check-vm check-long lint format clean help

$(eval $(call read_saved))
