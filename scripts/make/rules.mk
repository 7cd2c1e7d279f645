# SPDX-License-Identifier: MIT
# How programs and libraries are declared and built. A room's build.mk says, one line each:
#
#   $(eval $(call static_library,NAME,SOURCES))               build/lib/NAME.a
#   $(eval $(call shared_library,NAME,SOURCES,LIBS,LDFLAGS))  build/lib/NAME       (libvtpu.so.0)
#   $(eval $(call program,NAME,SOURCES,LIBS,VARIANT))         build/NAME           (bin/vtpu-smi)
#   $(eval $(call test,NAME,SOURCES,LIBS,VARIANT))            the same, and runs in `make check-quick`
#
# NAME may hold folders. SOURCES are paths from the top of the tree. LIBS are words: `libmodel.a` or
# `libvtpu.so.0` is a library declared this way, anything with a dash goes to the linker as it is.
# VARIANT (default: plain) is one of VARIANTS below; a program takes its objects and static libraries
# from that variant, each object is built once per variant that somebody uses.
#
# Flags of a file: CFLAGS, then CFLAGS_<path> for each folder above it from the top down, and last for
# the file itself, so that the nearest word wins:
#
#   CFLAGS_qemu-device/model := @qemu-device/model/flags
#   CFLAGS_qemu-device/model/gemm_avx2.c := -mavx2 -mfma
#
# What the compiler says is shown and kept beside the object, where `make lint` looks for warnings.
# A changed command line rebuilds what it makes, so no flag needs a `make clean`.

VARIANTS := plain pic asan tsan fuzz

VARIANT_CFLAGS_plain :=
VARIANT_CFLAGS_pic   := -fPIC
VARIANT_CFLAGS_asan  := -DVTPU_CHECKED -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
VARIANT_CFLAGS_tsan  := -DVTPU_CHECKED -fsanitize=thread -fno-omit-frame-pointer
VARIANT_CFLAGS_fuzz  := -DVTPU_CHECKED -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
VARIANT_LDFLAGS_asan := -fsanitize=address,undefined
VARIANT_LDFLAGS_tsan := -fsanitize=thread
VARIANT_LDFLAGS_fuzz := -fsanitize=address,undefined,fuzzer
VARIANT_CC_fuzz      := clang

CC      ?= cc
CFLAGS  := -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wshadow -ffp-contract=off \
	   $(if $(WERROR),-Werror) $(EXTRA_CFLAGS)
LDFLAGS := $(EXTRA_LDFLAGS)
LDLIBS  := -lm -pthread
AR      ?= ar

# Quiet by default: one short line per step; V=1 shows the commands.
Q   := $(if $(filter 1,$(V)),,@)
say  = $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n' '$1' '$(patsubst build/%,%,$2)')

# $(call variant_dir,VARIANT): where its objects and static libraries live.
variant_dir = build$(if $(filter-out plain,$1),/$1)
objs        = $(patsubst %.c,$(call variant_dir,$1)/obj/%.o,$2)

# $(call parents,a/b/c.c) = a a/b a/b/c.c
parents     = $(if $(filter-out ./,$(dir $1)),$(call parents,$(patsubst %/,%,$(dir $1)))) $1
file_cflags = $(foreach p,$(call parents,$1),$(CFLAGS_$p))

# Run the command cmd_$1 for $@ if a prerequisite is newer or the command itself has changed since.
# The command is kept beside the target in a make fragment that the next run reads.
escape_cmd = $(subst ','\'',$(subst $(hash),\$(hash),$(subst $$,$$$$,$(strip $1))))
if_changed = $(if $(or $(filter-out FORCE,$?),$(call differs,$(strip $(cmd_$1)),$(saved_cmd_$@))),$(call run,$1))
differs    = $(filter-out =$(subst $(space),_,$2)=,=$(subst $(space),_,$1)=)
define run
	@mkdir -p $(@D)
	$(call say,$1,$@)
	$(Q)$(cmd_$1)
	@printf '%s\n' '$(call escape_cmd,saved_cmd_$@ := $(cmd_$1))' >$@.cmd
endef
hash  := \#
define newline


endef
empty :=
space := $(empty) $(empty)

cmd_CC     = $(or $(VARIANT_CC_$(VARIANT)),$(CC)) $(CFLAGS) $(VARIANT_CFLAGS_$(VARIANT)) \
	     $(call file_cflags,$<) -MMD -MP -MF $@.d -c -o $@ $< 2>$@.warn; rc=$$?; cat $@.warn >&2; exit $$rc
cmd_AR     = rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
cmd_LD     = $(or $(VARIANT_CC_$(VARIANT)),$(CC)) $(LDFLAGS) $(VARIANT_LDFLAGS_$(VARIANT)) -o $@ \
	     $(filter %.o,$^) $(LINK_LIBS) $(LDLIBS)
cmd_LDSO   = $(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs -o $@ $(filter %.o,$^) \
	     $(LINK_LIBS) $(LDLIBS)

define variant_rules
$(call variant_dir,$1)/obj/%.o: VARIANT := $1
$(call variant_dir,$1)/obj/%.o: %.c FORCE
	$$(call if_changed,CC)
endef
$(foreach v,$(VARIANTS),$(eval $(call variant_rules,$v)))

# A library word to the file that make waits for, and to what the linker sees.
lib_file  = $(foreach l,$2,$(if $(filter -%,$l),,$(if $(filter %.a,$l),$(call variant_dir,$1),build)/lib/$l))
lib_link  = $(foreach l,$2,$(if $(filter -%,$l),$l,$(call lib_file,$1,$l)))
# A program finds our shared libraries by its own place, so that build/ can be copied into a VM.
lib_rpath = $(if $(findstring .so,$2),'-Wl$(comma)-rpath$(comma)$$$$ORIGIN/$(subst $(space),,$(foreach d,$(subst /, ,$(patsubst %/,%,$(filter-out ./,$(dir $1)))),../))lib')
comma    := ,

define static_library_variant
OBJECTS += $(call objs,$1,$3)
LINKED += $(call variant_dir,$1)/lib/$2.a
$(call variant_dir,$1)/lib/$2.a: $(call objs,$1,$3) FORCE
	$$(call if_changed,AR)
endef
static_library = $(foreach v,$(VARIANTS),$(eval $(call static_library_variant,$v,$(strip $1),$2)))

define shared_library
OBJECTS += $(call objs,pic,$2)
LINKED += build/lib/$(strip $1)
build/lib/$(strip $1): LINK_LIBS = $(call lib_link,pic,$3) $4
build/lib/$(strip $1): $(call objs,pic,$2) $(call lib_file,pic,$3) FORCE
	$$(call if_changed,LDSO)
endef

define program
PROGRAMS += build/$(strip $1)
OBJECTS += $(call objs,$(or $(strip $4),plain),$2)
LINKED += build/$(strip $1)
build/$(strip $1): VARIANT := $(or $(strip $4),plain)
build/$(strip $1): LINK_LIBS = $(call lib_link,$(or $(strip $4),plain),$3) $(call lib_rpath,$(strip $1),$3)
build/$(strip $1): $(call objs,$(or $(strip $4),plain),$2) $(call lib_file,$(or $(strip $4),plain),$3) FORCE
	$$(call if_changed,LD)
endef

define test
$(call program,$1,$2,$3,$4)
CHECK_QUICK += build/$(strip $1)
endef

# The last line of the Makefile calls this: what was learned in earlier runs.
define read_saved
-include $$(wildcard $$(addsuffix .d,$$(sort $$(OBJECTS))) $$(addsuffix .cmd,$$(sort $$(OBJECTS) $$(LINKED))))
endef

.PHONY: FORCE
FORCE:
