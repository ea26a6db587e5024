# The Blender add-on, installed from its zip into a real Blender, with and without a window.
if(TARGET blender_addon)
    find_program(BLENDER blender)
    if(NOT BLENDER)
        message(WARNING "Blender is not there: the tests of its add-on are left out")
        return()
    endif()
    add_test(NAME blender
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/blender_test.py
            ${PROJECT_BINARY_DIR}/firn.zip ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/pictures)
    set_tests_properties(blender PROPERTIES TIMEOUT 600 RUN_SERIAL ON
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()
