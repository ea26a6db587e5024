# The Houdini assets: their files, their Python against a stand-in for hou, the installed package.
if(TARGET firn_shared)
    foreach(part assets build cook network package)
        add_test(NAME houdini_${part}
            COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/houdini/test_${part}.py)
        set_tests_properties(houdini_${part} PROPERTIES TIMEOUT 300
            ENVIRONMENT "${FIRN_TEST_ENVIRONMENT};FIRN_LIBRARY=$<TARGET_FILE:firn_shared>;FIRN_BUILD=${PROJECT_BINARY_DIR}")
    endforeach()
endif()
