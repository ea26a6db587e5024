# Tests of what every part shares: errors, memory, files, parameters and settings.
foreach(part base defs material memory params path sim_defs)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan)
endforeach()
firn_core_test(test_file SOURCES unit/file.c LABELS asan tsan)
