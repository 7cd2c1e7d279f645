#!/bin/sh
# SPDX-License-Identifier: MIT
# Rows kernel-*: a training step's convolutions and products, each alone on one thread.
exec build/tests/bench/bench_conv -r
