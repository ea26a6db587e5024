firn_core_test(unit_contact SOURCES unit/contact.c LABELS asan)
firn_core_test(unit_sdf SOURCES unit/sdf.c LABELS asan)
