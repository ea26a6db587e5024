# How snow behaves: small scenes with closed-form answers or clear expectations.
foreach(scene granular models rest waves contact damping packing impact moving press forces wind adhesion
        sleeping)
    firn_test(scene_${scene} SOURCES scenes/${scene}.c LIBRARIES firn_core)
endforeach()
firn_test(scene_loose SOURCES scenes/loose.c LIBRARIES firn_core TIMEOUT 600)
