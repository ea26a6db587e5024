/// Snow seen from straight above, on pixels that are aligned to the world.
#ifndef FIRN_HEIGHT_MAP_H
#define FIRN_HEIGHT_MAP_H

#include "firn/data.h"
#include "firn/params.h"

typedef struct firn_height_def {
    firn_vec3 center;    // m; y is not used
    firn_vec3 half_size; // m, along x and z
    float pixel_size;    // m
    float level;         // m, where nothing lies
    int smooth;          // pixels
} firn_height_def;

firn_param_table firn_height_params(void);

/// Rows go along z, from the lowest; pixels of a row along x.
typedef struct firn_height_map {
    int width, height; // pixels
    float *top;        // m, of the snow, or level
    float *covered;    // 1: there is snow
    float *load;       // kg/m^2
} firn_height_map;

firn_result firn_height_map_make(const firn_height_def *def, const firn_points *points,
                                 firn_height_map *map, firn_error *error);
void firn_height_map_free(firn_height_map *map);

#endif
