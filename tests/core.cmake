# Laws of the discretization and robustness of the solver as a whole. Threads that wait asleep leave
# the processors to those that work.
foreach(part checkpoint determinism implicit settings_range sim sort step transfer)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan)
    set_tests_properties(test_${part} PROPERTIES
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT};OMP_WAIT_POLICY=passive")
endforeach()
set_tests_properties(test_determinism PROPERTIES LABELS tsan)
