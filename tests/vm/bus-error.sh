#!/bin/sh
# SPDX-License-Identifier: MIT
# Errors of the bus, as PCI Express reports them.
exec tests/vm/with-faults.sh build/kselftest/vtpu/bus_error "timeout_ms=1000 reset_ms=1000" "$@"
