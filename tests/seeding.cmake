foreach(part field noise seeding)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan)
endforeach()
