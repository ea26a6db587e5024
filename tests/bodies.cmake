# Rigid bodies: among themselves, and with snow.
firn_core_test(test_bodies SOURCES unit/bodies.c LABELS asan)
firn_test(scene_bodies SOURCES scenes/bodies.c LIBRARIES firn_core)
