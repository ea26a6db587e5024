/// What colliders and bodies share: a shape, where it stands, how it touches, and the file that a
/// mesh or a level set is read from.
#ifndef FIRN_SOLID_SETTINGS_H
#define FIRN_SOLID_SETTINGS_H

#include "collider_surface.h"

enum {
    FIRN_SOLID_PLANE,
    FIRN_SOLID_BOX,
    FIRN_SOLID_SPHERE,
    FIRN_SOLID_CAPSULE,
    FIRN_SOLID_MESH,
    FIRN_SOLID_LEVEL_SET
};

typedef struct firn_solid_settings {
    int shape;
    firn_vec3 rotation; // degrees
    firn_vec3 pivot;    // m
    firn_vec3 color;    // for pictures; zero: theirs
    firn_collider_def def;
    firn_surface_input input; // what a mesh or level set is read from
} firn_solid_settings;

/// Rows of its own; those of the core's and of the bridges' tables are in FIRN_SOLID_ROWS.
firn_param_table firn_solid_params(void);

#define FIRN_SOLID_INPUT(field) offsetof(firn_solid_settings, input.field)
#define FIRN_SOLID_FROM_FILE "shape==mesh|level_set"

/// Rows of other tables, for settings that begin with a firn_solid_settings.
#define FIRN_SOLID_ROWS                                                                            \
    {firn_axes_params, FIRN_SOLID_INPUT(axes), NULL, "file_", FIRN_SOLID_FROM_FILE},               \
        {firn_clip_params, FIRN_SOLID_INPUT(clip), NULL, "time_", FIRN_SOLID_FROM_FILE},           \
        {firn_layer_params, FIRN_SOLID_INPUT(layers), NULL, NULL, "shape==mesh"},                  \
        {firn_subd_params, FIRN_SOLID_INPUT(subd), NULL, "subd_", "shape==mesh"},                  \
        {firn_vdb_mesh_params, FIRN_SOLID_INPUT(mesh), "memory_limit thread_count", "mesh_",       \
         "shape==mesh"},                                                                           \
        {firn_vdb_shape_params, FIRN_SOLID_INPUT(level_set), "velocity", "vdb_",                   \
         "shape==level_set"},                                                                      \
    {                                                                                              \
        firn_vdb_sequence_params, FIRN_SOLID_INPUT(sequence), "first last missing", "sequence_",   \
            "shape==level_set"                                                                     \
    }

void firn_solid_reset(firn_solid_settings *solid);
firn_result firn_solid_check(const firn_solid_settings *solid, firn_error *error);
bool firn_solid_has_file(const firn_solid_settings *solid);
bool firn_solid_file(const firn_solid_settings *solid, const firn_param *param, int frame,
                     char *path, size_t size);
firn_transform firn_solid_pose(const firn_solid_settings *solid);
/// The def of the core that the shape stands for, where it stands.
firn_collider_def firn_solid_def(const firn_solid_settings *solid);

#endif
