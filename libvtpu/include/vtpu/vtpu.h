/* SPDX-License-Identifier: MIT */
/**
 * @file vtpu.h
 * All of libvtpu: #include <vtpu/vtpu.h>, link with `pkg-config --libs vtpu`.
 */
#ifndef VTPU_VTPU_H
#define VTPU_VTPU_H

#include <vtpu/compile.h>
#include <vtpu/core.h>
#include <vtpu/data.h>
#include <vtpu/device.h>
#include <vtpu/graph.h>
#include <vtpu/ops.h>
#include <vtpu/program.h>
#include <vtpu/train.h>

#endif /* VTPU_VTPU_H */
