# Volumes for renderers: kernels, boundaries, velocities for motion blur.
foreach(part drift raster_edge raster_shape)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan tsan)
endforeach()
