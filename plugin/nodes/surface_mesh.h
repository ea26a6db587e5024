/// Polygons around particles, with velocities and channels on their points.
#ifndef FIRN_SURFACE_MESH_H
#define FIRN_SURFACE_MESH_H

#include "point_values.h"

#include "firn/data.h"
#include "firn/params.h"
#include "firn/vdb_polygons.h"

typedef struct firn_surface_def {
    float voxel_size; // m; 0: half the spacing of the particles
    float smoothness; // spacings of particles over which the surface is evened out
    float adaptivity; // 0 to 1
    int thread_count; // 0 uses every core
} firn_surface_def;

firn_param_table firn_surface_params(void);

typedef struct firn_surface_mesh {
    firn_vdb_polygons *polygons;
    firn_vdb_mesh mesh;
    float *velocity;                  // m/s, of each point; NULL: the particles have none
    float *values[FIRN_CHANNEL_LIST]; // of each point, in the order of the channels
    firn_channel_list channels;
    double volume, particle_volume; // m^3, inside of the surface, and of the particles
} firn_surface_mesh;

/// Makes the surface; words lists channels. Free it also after a failure.
firn_result firn_surface_mesh_make(firn_surface_mesh *mesh, const firn_surface_def *def,
                                   const char *words, const firn_particle_data *from,
                                   firn_error *error);
void firn_surface_mesh_free(firn_surface_mesh *mesh);

#endif
