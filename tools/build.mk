# SPDX-License-Identifier: MIT
# Commands for people. vtpu-vm is a script and needs no building.
$(eval $(call program,bin/vtpu-smi,$(addprefix tools/vtpu-smi/,device.c dmon.c json.c main.c process.c sample.c \
	table.c),libvtpu.so.0 -ljson-c))
TOOLS += build/bin/vtpu-smi

$(eval $(call program,bin/vtpu-asm,tools/vtpu-asm/main.c,libvtpu.so.0))
TOOLS += build/bin/vtpu-asm
