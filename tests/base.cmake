# Tests of what every part shares: errors, memory, files, parameters and settings.
foreach(part base defs file material memory params path sim_defs)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan tsan)
endforeach()
