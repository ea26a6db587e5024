# The Python package as hosts use it.
if(TARGET firn_shared)
    add_test(NAME python
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/python_test.py
            $<TARGET_FILE:firn_shared> ${PROJECT_SOURCE_DIR})
    set_tests_properties(python PROPERTIES TIMEOUT 300
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()
