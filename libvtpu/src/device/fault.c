// SPDX-License-Identifier: MIT
/*
 * fault.c - a failed job in words: what, where, and what to do.
 */
#include <stdio.h>
#include <string.h>

#include "device/device.h"

/* What somebody can do about it; "" where the status says all */
static const char *advice(uint32_t status)
{
	switch ((enum vtpu_hw_status)status) {
	case VTPU_ST_UNMAPPED:
		return "keep buffers until the jobs that use them have ended";
	case VTPU_ST_READ_ONLY:
		return "allocate the buffer without VTPU_BUFFER_READONLY";
	case VTPU_ST_NOT_CONTIGUOUS:
		return "bind each base inside one buffer";
	case VTPU_ST_ALIAS:
		return "bind written bases to bytes of their own";
	case VTPU_ST_MISALIGNED:
		return "bind it at a multiple of the base's alignment";
	case VTPU_ST_SYSTEM_MEMORY:
		return "copy the data to a buffer in HBM first";
	case VTPU_ST_MASK:
		return "give the stream a core mask with that many free neighbours, or none";
	case VTPU_ST_CYCLE_LIMIT:
		return "raise max_cycles of the stream, or make the program smaller";
	case VTPU_ST_TIMEOUT:
		return "the device was reset for this job only; make a new stream";
	case VTPU_ST_ABORTED:
	case VTPU_ST_RESET:
		return "make a new stream and run it again";
	case VTPU_ST_INDEX:
		return "all row indices must be below index_limit";
	case VTPU_ST_NO_PROGRAM:
		return "keep programs until they have been entered";
	case VTPU_ST_DMA_ERROR:
		return "see dmesg; the host buffer may be gone";
	case VTPU_ST_ECC:
		return "reload the data and run it again";
	case VTPU_ST_LINK:
		return "make a new stream and run it again; if it comes back, use fewer cores";
	case VTPU_ST_INTERNAL:
		return "this is a fault of the device model: please report it";
	default:
		return "";
	}
}

static const char *unit_name(uint32_t unit)
{
	static const char *const names[VTPU_UNITS] = {
		[VTPU_UNIT_CTL] = "CTL", [VTPU_UNIT_DMA] = "DMA", [VTPU_UNIT_MXU] = "MXU",
		[VTPU_UNIT_VPU] = "VPU", [VTPU_UNIT_XLU] = "XLU", [VTPU_UNIT_ICI] = "ICI",
	};

	return unit < VTPU_UNITS ? names[unit] : "?";
}

static bool is_base_fault(uint32_t status)
{
	switch ((enum vtpu_hw_status)status) {
	case VTPU_ST_UNMAPPED:
	case VTPU_ST_READ_ONLY:
	case VTPU_ST_NOT_CONTIGUOUS:
	case VTPU_ST_ALIAS:
	case VTPU_ST_MISALIGNED:
	case VTPU_ST_BAD_PTE:
	case VTPU_ST_SYSTEM_MEMORY:
	case VTPU_ST_WRAPS:
		return true;
	default:
		return false;
	}
}

void vtpu_fault_describe(struct vtpu_device *device, const struct vtpu_names *names,
			 const struct vtpu_queue_state *state, char *text, size_t bytes)
{
	const struct vtpu_image *image = names ? names->image : NULL;
	const char *todo = advice(state->status);
	char at[160] = "", where[256] = "";
	struct vtpu_base_info base;
	const char *op;

	if (state->status == VTPU_ST_INDEX && names)
		todo = "labels must be at least 0 and below the number of classes";
	op = image && state->op_id ? vtpu_image_op_name(image, state->op_id) : NULL;
	if (is_base_fault(state->status) && image &&
	    !vtpu_image_base(image, VTPU_WHERE_BASE(state->where), &base))
		snprintf(where, sizeof(where), ", base %u '%s' at 0x%llx",
			 VTPU_WHERE_BASE(state->where), base.name,
			 (unsigned long long)state->fault_addr);
	else if (is_base_fault(state->status) || state->status == VTPU_ST_DMA_ERROR)
		snprintf(where, sizeof(where), ", descriptor %u at 0x%llx",
			 VTPU_WHERE_BASE(state->where), (unsigned long long)state->fault_addr);
	else if (state->status == VTPU_ST_INDEX && names)
		snprintf(where, sizeof(where), ", operation '%s' (%s, core %u), label %lld",
			 op ? op : "?", unit_name(VTPU_WHERE_UNIT(state->where)),
			 VTPU_WHERE_CORE(state->where), (long long)state->fault_addr);
	else if (state->status == VTPU_ST_INDEX)
		snprintf(where, sizeof(where), ", descriptor %u, index %llu",
			 VTPU_WHERE_BASE(state->where), (unsigned long long)state->fault_addr);
	else if (op)
		snprintf(where, sizeof(where), ", operation '%s' (%s, core %u)", op,
			 unit_name(VTPU_WHERE_UNIT(state->where)), VTPU_WHERE_CORE(state->where));
	if (state->status == VTPU_ST_ECC)
		snprintf(where + strlen(where), sizeof(where) - strlen(where), " at 0x%llx",
			 (unsigned long long)state->fault_addr);
	if (is_base_fault(state->status) || state->status == VTPU_ST_ECC)
		vtpu_address_describe(device, state->fault_addr, at, sizeof(at));
	snprintf(text, bytes, "%s%s%s failed%s: %s%s%s%s%s", names ? "program '" : "copy job",
		 names ? names->name : "", names ? "'" : "", where,
		 state->status ? vtpu_status_text(state->status) : "lost to a reset of the device",
		 *at ? "; that is " : "", at, *todo ? "; " : "", todo);
}
