# The pages of `firn report`, in a browser.
if(TARGET firn)
    find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
    add_test(NAME report
        COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/report_test.py $<TARGET_FILE:firn>)
    set_tests_properties(report PROPERTIES TIMEOUT 300
        ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
endif()

# What `firn measure` finds in clouds that are known.
if(TARGET firn)
    firn_test(cli_measures LIBRARIES firn_core LABELS asan
        SOURCES unit/measures.c ${PROJECT_SOURCE_DIR}/plugin/report/packing.c
            ${PROJECT_SOURCE_DIR}/plugin/report/pieces.c)
    target_include_directories(cli_measures PRIVATE ${PROJECT_SOURCE_DIR}/plugin/report)
endif()

# Its pieces: plots, texts, tables, labels.
if(TARGET firn_picture)
    firn_test(cli_page LIBRARIES firn_picture m LABELS asan
        SOURCES unit/page.c ${PROJECT_SOURCE_DIR}/plugin/report/page.c
            ${PROJECT_SOURCE_DIR}/plugin/report/page_plot.c ${PROJECT_SOURCE_DIR}/plugin/report/csv.c)
    target_include_directories(cli_page PRIVATE ${PROJECT_SOURCE_DIR}/plugin/report)
endif()
