# Tests of plugin/alembic/: they see its private headers.
find_library(JANSSON_LIBRARY jansson REQUIRED)

function(firn_abc_test name)
    firn_test(${name} LIBRARIES firn_abc ${JANSSON_LIBRARY} LABELS asan ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/plugin/alembic/src)
endfunction()

firn_abc_test(abc_fixtures SOURCES unit/abc_fixtures.c)
firn_abc_test(abc_damage SOURCES unit/abc_damage.c unit/abc_builder.c)
firn_abc_test(abc_geometry SOURCES unit/abc_geometry.c unit/abc_builder.c)
firn_abc_test(abc_layers SOURCES unit/abc_layers.c unit/abc_builder.c)
firn_abc_test(abc_structure SOURCES unit/abc_structure.c unit/abc_builder.c)
find_package(Threads REQUIRED)
firn_abc_test(abc_threads SOURCES unit/abc_threads.c)
target_link_libraries(abc_threads PRIVATE Threads::Threads)
set_property(TEST abc_threads APPEND PROPERTY LABELS tsan)
firn_test_program(abc_threads tsan)

# The fuzzer starts from the fixtures and from the inputs that once found a fault. With clang it runs
# for a few seconds; otherwise, or under another sanitizer than it needs, it replays them.
file(GLOB FIRN_ABC_SEEDS CONFIGURE_DEPENDS
    fixtures/alembic/*.abc fixtures/alembic/corrupt/*.abc fuzz/corpus_abc/*)
if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND NOT FIRN_SANITIZE MATCHES "thread")
    file(GLOB FIRN_ABC_FUZZED CONFIGURE_DEPENDS
        ${PROJECT_SOURCE_DIR}/plugin/alembic/src/*.c
        ${PROJECT_SOURCE_DIR}/core/src/base/base.c
        ${PROJECT_SOURCE_DIR}/core/src/base/file.c
        ${PROJECT_SOURCE_DIR}/core/src/base/pattern.c)
    add_executable(fuzz_abc fuzz/fuzz_abc.c ${FIRN_ABC_FUZZED})
    target_include_directories(fuzz_abc PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
        ${PROJECT_SOURCE_DIR}/plugin/alembic/include ${PROJECT_SOURCE_DIR}/plugin/alembic/src
        ${PROJECT_SOURCE_DIR}/core/include)
    target_link_libraries(fuzz_abc PRIVATE firn_flags m)
    target_compile_options(fuzz_abc PRIVATE
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -g)
    target_link_options(fuzz_abc PRIVATE -fsanitize=fuzzer,address,undefined)
    file(COPY ${FIRN_ABC_SEEDS} DESTINATION ${PROJECT_BINARY_DIR}/tests/fuzz_abc_seeds)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fuzz_abc_found)
    set(FIRN_ABC_FUZZ_ARGUMENTS -max_total_time=5 -timeout=10 -rss_limit_mb=1024 -max_len=16384
        -print_final_stats=1 fuzz_abc_found fuzz_abc_seeds)
else()
    add_executable(fuzz_abc fuzz/fuzz_abc.c fuzz/replay_corpus.c fuzz/mutate_corpus.c)
    target_include_directories(fuzz_abc PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(fuzz_abc PRIVATE firn_flags firn_abc)
    set(FIRN_ABC_FUZZ_ARGUMENTS ${FIRN_ABC_SEEDS})
endif()
set_target_properties(fuzz_abc PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_test(NAME fuzz_abc COMMAND fuzz_abc ${FIRN_ABC_FUZZ_ARGUMENTS}
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(fuzz_abc PROPERTIES LABELS asan TIMEOUT 120)
firn_test_program(fuzz_abc asan)
