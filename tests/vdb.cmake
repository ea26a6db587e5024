# Tests of vdb_bridge/, through its C ABI.
if(NOT FIRN_VDB)
    return()
endif()
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED) # it has pyopenvdb

function(firn_vdb_test name)
    firn_test(${name} SOURCES unit/${name}.c LIBRARIES firn_vdb firn_core ${ARGN})
    add_dependencies(${name} firn-vdb-helper)
endfunction()

firn_vdb_test(vdb_volume_test LABELS asan)
firn_vdb_test(vdb_hostile_test LABELS asan)
firn_vdb_test(vdb_sequence_test LABELS asan)
firn_vdb_test(vdb_surface_test LABELS asan)
firn_vdb_test(vdb_fine_mesh_test LABELS asan)
firn_vdb_test(vdb_points_test LABELS asan)
firn_vdb_test(vdb_subdivide_test LABELS asan)

# Files go both ways between the bridge and pyopenvdb.
add_executable(vdb_exchange unit/vdb_exchange.c)
target_compile_definitions(vdb_exchange PRIVATE
    FIRN_FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures")
target_include_directories(vdb_exchange PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(vdb_exchange PRIVATE firn_flags firn_vdb firn_core ${CMOCKA_LIBRARY})
set_target_properties(vdb_exchange PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(vdb_exchange firn-vdb-helper)
add_test(NAME vdb_check
    COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/vdb_check.py
        $<TARGET_FILE:vdb_exchange>)
set_tests_properties(vdb_check PROPERTIES LABELS asan TIMEOUT 300)
firn_test_program(vdb_exchange asan)

add_test(NAME vdb_headers
    COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/vdb_headers.py
        $<TARGET_FILE:firn_vdb> ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}
        ${PROJECT_SOURCE_DIR}/vdb_bridge/include ${PROJECT_SOURCE_DIR}/core/include)

if(FIRN_SANITIZE)
    # OpenVDB itself is not instrumented, so the bounds of its vectors are unknown; and the helper's
    # limit of address space, which sanitizers do not bear, becomes one of resident memory.
    set_tests_properties(vdb_volume_test vdb_hostile_test vdb_sequence_test vdb_surface_test
        vdb_fine_mesh_test
        vdb_points_test vdb_check PROPERTIES ENVIRONMENT
        "ASAN_OPTIONS=detect_container_overflow=0:hard_rss_limit_mb=2000;FIRN_VDB_MUTATIONS=100")
endif()

firn_fuzz(vdb firn_core ${PROJECT_SOURCE_DIR}/vdb_bridge/src/layout.c)
target_include_directories(fuzz_vdb PRIVATE ${PROJECT_SOURCE_DIR}/vdb_bridge/src
    ${PROJECT_SOURCE_DIR}/vdb_bridge/include)
