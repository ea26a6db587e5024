# Tests of the Alembic writer: they see its private headers.
function(firn_abc_write_test name)
    firn_test(${name} LIBRARIES firn_abc firn_core ${ARGN})
    target_include_directories(${name} PRIVATE
        ${PROJECT_SOURCE_DIR}/plugin/alembic/src ${PROJECT_SOURCE_DIR}/tests/unit)
    target_compile_definitions(${name} PRIVATE _POSIX_C_SOURCE=200809L)
endfunction()

firn_abc_write_test(abc_hash SOURCES unit/abc_hash.c LABELS asan)
firn_abc_write_test(abc_write SOURCES unit/abc_write.c unit/abc_write_scene.c LABELS asan)
