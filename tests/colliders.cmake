foreach(part collider_motion collider_near collider_refusals collider_shapes colliders contact
        contact_particles flow sdf)
    firn_core_test(unit_${part} SOURCES unit/${part}.c LABELS asan)
endforeach()
