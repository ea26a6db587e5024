#include "archive.h"

#include "firn/abc_scene.h"

#include <math.h>

enum { CORE_COUNT = 16 };

firn_result firn_abc_read_camera(const firn_abc *archive, int object, double time,
                                 firn_abc_camera *camera, firn_error *error)
{
    *camera = (firn_abc_camera){0};
    bool is_camera = firn_abc_object_at(archive, object)->kind == FIRN_ABC_KIND_CAMERA;
    FIRN_TRY(firn_abc_check_query(archive, object, is_camera, "camera", time, error));
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    int property = firn_abc_property_find(archive, object, ".geom/.core");
    if (property < 0)
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "it has no lens (.geom/.core)");
    firn_abc_bracket bracket = firn_abc_bracket_at(archive, property, time);
    double core[CORE_COUNT];
    const uint32_t samples[2] = {bracket.before, bracket.after};
    for (int side = 0; side < 2; side++) {
        firn_abc_array values;
        FIRN_TRY(firn_abc_read_typed(archive, property, samples[side], FIRN_ABC_POD_FLOAT64,
                                     CORE_COUNT, &values, error));
        const double *value = values.values;
        bool whole = values.count == 1;
        for (int i = 0; i < CORE_COUNT && whole; i++) {
            core[i] = side == 0 ? value[i] : core[i] + bracket.mix * (value[i] - core[i]);
            whole = isfinite(core[i]);
        }
        firn_abc_array_free(&values);
        if (!whole)
            return firn_abc_fail(&place, FIRN_ERR_FORMAT, "its lens is damaged");
    }
    *camera = (firn_abc_camera){.focal_length = core[0],
                                .aperture = {core[1], core[3]},
                                .film_offset = {core[2], core[4]},
                                .lens_squeeze = core[5],
                                .f_stop = core[10],
                                .focus_distance = core[11],
                                .shutter = {core[12], core[13]},
                                .near_clip = core[14],
                                .far_clip = core[15]};
    return FIRN_OK;
}
