# What `cmake --install` leaves works from any folder.
if(TARGET firn)
    find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
    add_test(NAME install
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/install_test.py
            ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR})
    set_tests_properties(install PROPERTIES TIMEOUT 120
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()
