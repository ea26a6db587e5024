# The `firn` command as its users run it: exit codes, resume, signals, wedges, help.
if(TARGET firn)
    find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
    add_test(NAME cli
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cli_test.py $<TARGET_FILE:firn>)
    set_tests_properties(cli PROPERTIES TIMEOUT 300
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()
