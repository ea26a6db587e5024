firn_core_test(unit_collider_shapes SOURCES unit/collider_shapes.c LABELS asan)
firn_core_test(unit_colliders SOURCES unit/colliders.c LABELS asan)
firn_core_test(unit_contact SOURCES unit/contact.c LABELS asan)
firn_core_test(unit_sdf SOURCES unit/sdf.c LABELS asan)
