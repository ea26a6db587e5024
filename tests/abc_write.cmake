# Tests of the Alembic writer: they see its private headers.
function(firn_abc_write_test name)
    firn_test(${name} LIBRARIES firn_abc firn_core ${ARGN})
    target_include_directories(${name} PRIVATE
        ${PROJECT_SOURCE_DIR}/plugin/alembic/src ${PROJECT_SOURCE_DIR}/tests/unit)
    target_compile_definitions(${name} PRIVATE _POSIX_C_SOURCE=200809L)
endfunction()

firn_abc_write_test(abc_hash SOURCES unit/abc_hash.c LABELS asan)
firn_abc_write_test(abc_write SOURCES unit/abc_write.c unit/abc_write_scene.c LABELS asan)
firn_abc_write_test(abc_write_refusal SOURCES unit/abc_write_refusal.c LABELS asan)
firn_abc_write_test(abc_write_journal
    SOURCES unit/abc_write_journal.c unit/abc_write_scene.c LABELS asan)
firn_abc_write_test(abc_write_failure
    SOURCES unit/abc_write_failure.c unit/abc_write_scene.c LABELS asan)
firn_abc_write_test(abc_rewrite SOURCES unit/abc_rewrite.c unit/abc_write_scene.c LABELS asan)

# An independent model of the format checks what abc_write left behind.
add_test(NAME abc_write_check
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/scripts/abc_check.py
        abc_scene.abc abc_frame.0001.abc abc_frame.0003.abc abc_equal.abc abc_pause.abc
        abc_whole.abc abc_tiny.abc abc_many.abc abc_windows.abc
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(abc_write PROPERTIES FIXTURES_SETUP abc_written)
set_tests_properties(abc_write_check PROPERTIES FIXTURES_REQUIRED abc_written)

firn_fuzz(journal firn_abc)
