# SPDX-License-Identifier: MIT
# libvtpu: the shared library libvtpu.so.0, and libvtpu.a, which tests link to reach what is not exported.
#
# Tests that use the shared library see exactly what an application sees.
LIBVTPU_SOURCES := $(sort $(wildcard libvtpu/src/*/*.c libvtpu/src/*/*/*.c))
LIBVTPU_HEADERS := $(sort $(wildcard libvtpu/include/vtpu/*.h))

CFLAGS_libvtpu += -fvisibility=hidden $(shell pkg-config --cflags libdrm)
CFLAGS_libvtpu/src/core/version.c += -DVTPU_BUILD_VERSION='"$(VERSION)"'

$(eval $(call static_library,libvtpu,$(LIBVTPU_SOURCES)))
$(eval $(call shared_library,libvtpu.so.0,$(LIBVTPU_SOURCES),libmodel.a -ldrm -lnuma -lz -llzma -ljson-c,\
	-Wl$(comma)--version-script=libvtpu/libvtpu.map -Wl$(comma)-z$(comma)relro -Wl$(comma)-z$(comma)now))
build/lib/libvtpu.so.0: libvtpu/libvtpu.map

# For programs that link with -lvtpu, and for pkg-config users of a build that is not installed.
build/lib/libvtpu.so: build/lib/libvtpu.so.0
	$(call say,LN,$@)
	$(Q)ln -sf libvtpu.so.0 $@

build/lib/pkgconfig/vtpu.pc: libvtpu/vtpu.pc.in VERSION
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sed -e 's|@PREFIX@|$(or $(PREFIX),/usr/local)|' -e 's|@VERSION@|$(VERSION)|' $< >$@

LIBS += build/lib/libvtpu.so.0 build/lib/libvtpu.so build/lib/pkgconfig/vtpu.pc
