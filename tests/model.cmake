# The mathematics of one particle, compiled for every instruction set that the kernels are: each
# variant of a test is the same source. A processor without the instructions skips.
set(FIRN_LANE_FLAGS_baseline "")
set(FIRN_LANE_FLAGS_scalar -DFIRN_SCALAR)
set(FIRN_LANE_VARIANTS baseline scalar)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(FIRN_LANE_FLAGS_avx2 -mavx2 -mfma)
    set(FIRN_LANE_FLAGS_avx512 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma)
    list(APPEND FIRN_LANE_VARIANTS avx2 avx512)
endif()

foreach(unit simd svd snow)
    foreach(variant ${FIRN_LANE_VARIANTS})
        set(name test_${unit}_${variant})
        firn_core_test(${name} SOURCES unit/${unit}.c LABELS asan)
        target_compile_options(${name} PRIVATE ${FIRN_LANE_FLAGS_${variant}})
        set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
endforeach()
