foreach(part field noise seed_volume seeding)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan)
endforeach()
