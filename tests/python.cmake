# The Python package as hosts use it.
if(TARGET firn_shared)
    add_test(NAME python
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/python_test.py
            $<TARGET_FILE:firn_shared> ${PROJECT_SOURCE_DIR})
    add_test(NAME python_channels
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/channels_test.py
            $<TARGET_FILE:firn_shared> ${PROJECT_SOURCE_DIR})
    set_tests_properties(python python_channels PROPERTIES TIMEOUT 300
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()
