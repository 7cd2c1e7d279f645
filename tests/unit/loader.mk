# SPDX-License-Identifier: MIT
# The chip model's loader: image, costs, simulation, hazards, and all of it together.
$(eval $(call test,tests/unit/test_image,tests/unit/test_image.c,libmodel.a,asan))
$(eval $(call test,tests/unit/test_cost,tests/unit/test_cost.c,libmodel.a))
$(eval $(call test,tests/unit/test_sim,tests/unit/test_sim.c,libmodel.a))
$(eval $(call test,tests/unit/test_hazard,tests/unit/test_hazard.c,libmodel.a))
$(eval $(call test,tests/unit/test_load,tests/unit/test_load.c,libmodel.a \
	-Wl$(comma)--wrap=malloc -Wl$(comma)--wrap=calloc -Wl$(comma)--wrap=realloc,asan))
$(eval $(call test,tests/unit/test_load_conv,tests/unit/test_load_conv.c,libmodel.a,asan))
$(eval $(call test,tests/unit/test_load_train,tests/unit/test_load_train.c,libmodel.a,asan))
$(eval $(call test,tests/unit/test_send,tests/unit/test_send.c tests/bits/programs_train.c,libmodel.a))
