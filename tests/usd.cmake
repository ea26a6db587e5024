# USD layers and stages. `./bootstrap hosts usd` compares them with USD itself.
firn_test(test_usd SOURCES unit/usd.c LIBRARIES firn_usd m LABELS asan)
target_include_directories(test_usd PRIVATE ${PROJECT_SOURCE_DIR}/plugin/usd/src)

firn_test(usd_scene SOURCES unit/usd_scene.c LIBRARIES firn_usd m LABELS asan)

if(TARGET firn AND NOT FIRN_SANITIZE)
    add_test(NAME usd_stage
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/usd_test.py $<TARGET_FILE:firn>)
    set_tests_properties(usd_stage PROPERTIES TIMEOUT 120 ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()

firn_fuzz(usd firn_usd)
firn_fuzz(usd_scene firn_usd)
