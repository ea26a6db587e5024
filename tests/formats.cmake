# Tests of plugin/formats/: they see its private headers.
find_package(ZLIB REQUIRED)
function(firn_formats_test name)
    firn_test(${name} LIBRARIES firn_formats ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/plugin/formats/src)
endfunction()

firn_formats_test(formats_number SOURCES unit/number.c LABELS asan)
firn_formats_test(formats_bgeo SOURCES unit/bgeo.c unit/bgeo_tables.c LABELS asan)
firn_formats_test(formats_bgeo_hostile SOURCES unit/bgeo_hostile.c unit/bgeo_tables.c LABELS asan)
# The test stands between the library and the disk, to make it full.
target_link_options(formats_bgeo_hostile PRIVATE -Wl,--wrap=write)
target_link_libraries(formats_bgeo_hostile PRIVATE ZLIB::ZLIB)
firn_formats_test(formats_obj SOURCES unit/obj.c LABELS asan)
firn_formats_test(formats_polygons SOURCES unit/polygons.c LABELS asan)

# A parser in another language reads what the library writes.
add_executable(bgeo_sample scripts/bgeo_sample.c)
target_link_libraries(bgeo_sample PRIVATE firn_flags firn_formats)
add_test(NAME formats_python
    COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/scripts/check_bgeo.py
        $<TARGET_FILE:bgeo_sample> ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(formats_python PROPERTIES LABELS asan TIMEOUT 60)
firn_test_program(bgeo_sample asan)

foreach(target bgeo obj polygons)
    firn_fuzz(${target} firn_formats)
endforeach()
