# Laws of the discretization and robustness of the solver as a whole.
foreach(part channels checkpoint cycle flight free_flight hessian implicit integrator particles retry clearance scratch
        settings_range sim sleep sort state step transfer)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan)
endforeach()
firn_core_test(test_determinism SOURCES unit/determinism.c LABELS tsan TIMEOUT 900)

firn_fuzz(checkpoint firn_core)
target_include_directories(fuzz_checkpoint PRIVATE ${PROJECT_SOURCE_DIR}/core/src)
