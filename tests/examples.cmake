# The example shots, and the pictures of them.
if(TARGET firn_graph)
    firn_test(examples_check SOURCES unit/examples.c unit/graph_fixture.c LIBRARIES firn_graph firn_picture)
    target_compile_definitions(examples_check PRIVATE
        FIRN_SCENES="${PROJECT_SOURCE_DIR}/docs/scenes" FIRN_MAKE_WALKER="$<TARGET_FILE:make_walker>"
        FIRN_PROGRAM="$<TARGET_FILE:firn>")
    add_dependencies(examples_check make_walker firn firn-vdb-helper)
endif()
firn_test(test_picture SOURCES unit/picture.c LIBRARIES firn_picture LABELS asan)
