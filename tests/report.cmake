# The pages of `firn report`, in a browser.
if(TARGET firn)
    find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
    add_test(NAME report
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/report_test.py $<TARGET_FILE:firn>)
    set_tests_properties(report PROPERTIES TIMEOUT 300
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()
