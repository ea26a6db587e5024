# Tests of plugin/alembic/: they see its private headers.
find_library(JANSSON_LIBRARY jansson REQUIRED)

function(firn_abc_test name)
    firn_test(${name} LIBRARIES firn_abc ${JANSSON_LIBRARY} LABELS asan ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/plugin/alembic/src)
endfunction()

firn_abc_test(abc_fixtures SOURCES unit/abc_fixtures.c)
firn_abc_test(abc_damage SOURCES unit/abc_damage.c)
