# Checks of the source itself: layout, include directions, headers that stand alone.
find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
foreach(check headers includes shape words api format)
    add_test(NAME source_${check}
        COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/check_source.py ${check})
    set_tests_properties(source_${check} PROPERTIES TIMEOUT 300)
endforeach()

# The program that the README shows compiles and runs.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
file(READ ${PROJECT_SOURCE_DIR}/README.md readme)
string(FIND "${readme}" "```c\n" begin)
string(SUBSTRING "${readme}" ${begin} -1 readme)
string(SUBSTRING "${readme}" 5 -1 readme)
string(FIND "${readme}" "```" end)
string(SUBSTRING "${readme}" 0 ${end} program)
file(CONFIGURE OUTPUT readme_program.c CONTENT "${program}" @ONLY)
add_executable(readme_program ${CMAKE_CURRENT_BINARY_DIR}/readme_program.c)
target_link_libraries(readme_program PRIVATE firn_flags firn_core)
add_test(NAME readme_program COMMAND readme_program)
set_tests_properties(readme_program PROPERTIES
    PASS_REGULAR_EXPRESSION "^[1-9][0-9]* particles\n$"
    ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
set_target_properties(readme_program PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
