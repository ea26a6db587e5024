# The path tracer: they see its private headers.
function(firn_render_test name)
    firn_test(${name} LIBRARIES firn_render ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/plugin/render/src)
endfunction()
firn_render_test(test_render_tracking SOURCES unit/render_tracking.c LABELS asan)
firn_render_test(test_render_path SOURCES unit/render_path.c LABELS asan)
firn_render_test(test_render_grains SOURCES unit/render_grains.c LABELS asan)
firn_render_test(test_render SOURCES unit/render.c LABELS asan tsan)
if(TARGET firn)
    add_test(NAME render_cli
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/render_cli.py $<TARGET_FILE:firn>)
    set_tests_properties(render_cli PROPERTIES TIMEOUT 300
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()

firn_fuzz(exr firn_render)
target_include_directories(fuzz_exr PRIVATE ${PROJECT_SOURCE_DIR}/plugin/render/src)
