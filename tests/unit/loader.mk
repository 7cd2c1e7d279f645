# SPDX-License-Identifier: MIT
# The chip model's loader: image, costs, simulation, hazards, and all of it together.
$(eval $(call test,tests/unit/test_hazard,tests/unit/test_hazard.c,libmodel.a))
