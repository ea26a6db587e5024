# Tests of plugin/src and plugin/nodes: they see private headers.
if(NOT FIRN_VDB)
    return()
endif()
find_library(JANSSON_LIBRARY jansson REQUIRED)

function(firn_graph_test name)
    firn_test(graph_${name} SOURCES unit/${name}.c unit/graph_fixture.c
        LIBRARIES firn_graph ${JANSSON_LIBRARY} LABELS asan TIMEOUT 300)
    target_include_directories(graph_${name} PRIVATE ${PROJECT_SOURCE_DIR}/plugin/src)
    add_dependencies(graph_${name} firn-vdb-helper)
endfunction()

foreach(part graph scene_file scene_lines value cache colliders_from_files shape_ahead snow_cover cover_relief height_map input_matrix
        moving_surface studio_archives archive_kinds inherited_motion own_files point_attributes)
    firn_graph_test(${part})
endforeach()

foreach(part cover_relief shape_ahead height_map moving_surface studio_archives archive_kinds inherited_motion)
    target_include_directories(graph_${part} PRIVATE ${PROJECT_SOURCE_DIR}/plugin/nodes)
endforeach()

# The test stands between the library and the disk, to make it full.
target_link_options(graph_cache PRIVATE -Wl,--wrap=write)

# The shared libraries export what the headers declare, and nothing else.
set(mpi)
if(TARGET firn_mpi)
    set(mpi $<TARGET_FILE:firn_mpi>)
endif()
add_test(NAME graph_exports
    COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/scripts/check_exports.py
        ${PROJECT_SOURCE_DIR} $<TARGET_FILE:firn_shared> $<TARGET_FILE:firn_core_shared> ${mpi})

firn_fuzz(scene firn_graph)
firn_fuzz(cache firn_graph)
firn_fuzz(table firn_graph ${PROJECT_SOURCE_DIR}/plugin/report/csv.c)
target_include_directories(fuzz_table PRIVATE ${PROJECT_SOURCE_DIR}/plugin/report)
