# Volumes for renderers: kernels, boundaries, velocities for motion blur.
foreach(part motion_blur raster_anisotropy raster_edge)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan tsan)
endforeach()

# The same light in Cycles, where there is a Blender: about 35 s of one core.
if(TARGET firn AND NOT FIRN_SANITIZE)
    add_test(NAME cycles_agrees
        COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/scripts/render_compare.py
            $<TARGET_FILE:firn> ${PROJECT_BINARY_DIR}/tests/cycles)
    set_tests_properties(cycles_agrees PROPERTIES LABELS slow SKIP_RETURN_CODE 77 TIMEOUT 600
        PROCESSORS 2)
endif()
