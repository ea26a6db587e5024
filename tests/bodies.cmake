# Rigid bodies: among themselves, and with snow.
firn_core_test(test_bodies SOURCES unit/bodies.c LABELS asan)
firn_test(scene_bodies SOURCES scenes/bodies.c LIBRARIES firn_core)
if(TARGET firn_shared)
    add_test(NAME cli_bodies
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/bodies_test.py
            $<TARGET_FILE:firn> $<TARGET_FILE:firn_shared> ${PROJECT_SOURCE_DIR})
    set_tests_properties(cli_bodies PROPERTIES TIMEOUT 300 ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()
