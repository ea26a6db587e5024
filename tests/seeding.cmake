foreach(part emission fine noise seed_volume seeding)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan)
endforeach()
firn_core_test(test_field SOURCES unit/field.c LABELS asan tsan)
