# How snow behaves: small scenes with closed-form answers or clear expectations.
foreach(scene models rest waves contact damping packing impact moving forces wind adhesion
        snowfall)
    firn_test(scene_${scene} SOURCES scenes/${scene}.c LIBRARIES firn_core)
endforeach()
firn_test(scene_loose SOURCES scenes/loose.c LIBRARIES firn_core)
add_test(NAME scene_loose_whole COMMAND scene_loose whole)
set_tests_properties(scene_loose_whole PROPERTIES LABELS slow TIMEOUT 600
    ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
# The longest; of what they look at, the laws of models, packing and test_sleep run always.
foreach(scene granular press sleeping)
    firn_test(scene_${scene} SOURCES scenes/${scene}.c LIBRARIES firn_core LABELS slow)
endforeach()
firn_test(scene_heat SOURCES scenes/heat.c LIBRARIES firn_core)
add_test(NAME scene_heat_whole COMMAND scene_heat whole)
set_tests_properties(scene_heat_whole PROPERTIES LABELS slow TIMEOUT 600
    ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
firn_test(scene_liquids SOURCES scenes/liquids.c LIBRARIES firn_core)
add_test(NAME scene_liquids_whole COMMAND scene_liquids whole)
set_tests_properties(scene_liquids_whole PROPERTIES LABELS slow TIMEOUT 600
    ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
