# The `firn` command as its users run it: exit codes, resume, signals, wedges, help.
if(TARGET firn)
    find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
    foreach(name cli cli_cook cli_cache cli_chunks cli_detail cli_story cli_submit cli_wind)
        add_test(NAME ${name}
            COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/${name}_test.py
                $<TARGET_FILE:firn>)
        set_tests_properties(${name} PROPERTIES TIMEOUT 300
            ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
    endforeach()
    # A cluster is started for each of its cases: on a busy machine that waits.
    set_tests_properties(cli_submit PROPERTIES TIMEOUT 600)
endif()
