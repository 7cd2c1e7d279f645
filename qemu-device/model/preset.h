/* SPDX-License-Identifier: MIT */
/*
 * preset.h - which chips the model can be.
 */
#ifndef VTPU_PRESET_H
#define VTPU_PRESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtpu_hw.h"

/**
 * vtpu_preset_geometry() - geometry of a preset
 * @name: "v3" (also NULL), or "custom"
 * @cores: 1..VTPU_MAX_CORES
 * @custom: for "custom": fields that are not zero replace v3's; may be NULL.
 *	For other presets all fields must be zero, so that nothing is ignored in silence
 * @out: the geometry
 * @err: gets a sentence that names the bad property, its value and what is allowed
 * @n: room in @err
 *
 * Return: false with @err set when there is no such chip.
 */
bool vtpu_preset_geometry(const char *name, uint32_t cores, const struct vtpu_hw_geometry *custom,
			  struct vtpu_hw_geometry *out, char *err, size_t n);

#endif /* VTPU_PRESET_H */
