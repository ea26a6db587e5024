# What `cmake --install` leaves works from any folder, and strangers can link it.
if(TARGET firn AND NOT FIRN_SANITIZE)
    find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
    add_test(NAME install
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/install_test.py
            ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER})
    set_tests_properties(install PROPERTIES TIMEOUT 240
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()

# The packages start on other systems than the one that built them.
if(TARGET blender_addon)
    add_test(NAME packages
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/elf_test.py
            ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    set_tests_properties(packages PROPERTIES TIMEOUT 120)
endif()
