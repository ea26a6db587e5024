# Tests of core/: they see its private headers.
function(firn_core_test name)
    firn_test(${name} LIBRARIES firn_core ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/core/src)
endfunction()
