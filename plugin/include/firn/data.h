/// What travels along the links of a graph: materials, sources, colliders, particles, volumes.
///
/// Everything here is a view: the node that made it owns the arrays, and they stay as they are
/// until that node cooks again or the graph changes.
#ifndef FIRN_DATA_H
#define FIRN_DATA_H

#include "firn/body.h"
#include "firn/channel.h"
#include "firn/collider.h"
#include "firn/field.h"
#include "firn/force.h"
#include "firn/level_set.h"
#include "firn/material.h"
#include "firn/patch.h"
#include "firn/points.h"
#include "firn/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the files of a cache say about their units.
#define FIRN_UNITS "m kg s, Y up"

typedef enum firn_kind {
    FIRN_KIND_NONE, // nothing: nodes at the end, which write files
    FIRN_KIND_MATERIAL,
    FIRN_KIND_SOURCE,
    FIRN_KIND_COLLIDER,
    FIRN_KIND_PARTICLES,
    FIRN_KIND_VOLUME,
    FIRN_KIND_FORCE,
    FIRN_KIND_JOINT,
    FIRN_KIND_COUNT
} firn_kind;

/// "material", "particles", ...
FIRN_API const char *firn_kind_name(firn_kind kind);

/// Snow to add at the start of a simulation; def.material is filled in by the solver.
typedef struct firn_source_data {
    firn_source_def def;
    const firn_channel *channels; // that the particles must have beside those they need
    size_t channel_count;
    const firn_material_def *material; // NULL: the default material
    float fall_speed;                  // m/s, of flakes in still air; 0: there is no air
    float fall_spread;                 // share by which flakes fall faster or slower
    float flutter;                     // m/s, that they sway with
    const firn_patch *patch;           // where a field of such snow goes on; NULL: it cannot
    const firn_material_def *partner;  // what the material melts or freezes to; NULL: nothing
} firn_source_data;

/// The patch of a source, or a sentence on why its snow cannot go on as a field.
FIRN_API firn_result firn_source_patch(const firn_source_data *source, const firn_patch **patch,
                                       firn_error *error);

/// Something solid during the interval that ends with the frame that was cooked. The times of its
/// keys are frames; the solver turns them into seconds.
typedef struct firn_body_data firn_body_data;
typedef struct firn_collider_data {
    firn_collider_def def;
    int key_count;             // of a rigid animation, 0: it stands still
    const firn_pose_key *keys; // from the frame before to this one
    bool deforms;              // then surface tells where it begins and ends
    firn_surface_key surface[2];
    firn_vec3 color;            // red, green, blue in pictures; zero: what the renderer has
    const firn_body_data *body; // NULL: it is animated; else snow moves it
} firn_collider_data;

/// Polygons in the space of a shape; corners run counter-clockwise seen from outside.
typedef struct firn_solid_mesh {
    size_t vertex_count;
    const firn_vec3 *position; // m
    size_t face_count;
    const int32_t *face_size; // 3 or more each
    size_t corner_count;
    const int32_t *corner;
} firn_solid_mesh;

/// A collider that snow moves. Several pieces of a file are several bodies, one after the other.
struct firn_body_data {
    firn_body_def def; // its shape is that of the collider; release in s of the simulation
    const char *piece; // name of the piece; "": the node stands for one body
    firn_solid_mesh mesh;
    const firn_collider_data *next; // piece; NULL: this is the last
};

/// A joint between bodies, named by what came along the links of its node.
typedef struct firn_joint_data {
    firn_joint_def def;              // without its bodies
    const firn_collider_data *first; // NULL: the world
    const firn_collider_data *second;
} firn_joint_data;

/// Where a body is after a frame, and what it is.
typedef struct firn_body_pose {
    const char *name; // of its node, with that of its piece behind a dot
    const firn_collider_data *collider;
    firn_body_state state;
} firn_body_pose;

/// The collider as it stands at the end of the interval.
static inline firn_collider_def firn_collider_at_end(const firn_collider_data *data)
{
    firn_collider_def def = data->def;
    if (data->key_count > 0)
        def.pose = data->keys[data->key_count - 1].pose;
    return def;
}

/// What acts from afar in the interval that ends with the frame that was cooked.
typedef struct firn_force_data {
    firn_force_def def;
} firn_force_data;

/// Particles with Houdini's names: P v id pscale mass Jp and more.
typedef struct firn_particle_data {
    firn_points points;
    float cell_size; // m, of the simulation that they come from; 0: unknown
    const firn_body_pose *bodies;
    size_t body_count;
} firn_particle_data;

/// Voxels, as far as they were made.
typedef struct firn_volume_data {
    const firn_field_view *field;       // density, velocity, compaction; NULL: none
    const firn_level_set *surface;      // NULL: none
    const firn_velocity_grid *velocity; // of the surface; NULL: none
    const firn_body_pose *bodies;       // among the particles that it was made of
    size_t body_count;
} firn_volume_data;

/// A number about a cooked frame, such as {"substeps", 42}.
typedef struct firn_stat {
    const char *name;
    double value;
} firn_stat;

/// The output of a node at a frame; the member that belongs to the kind is set.
typedef struct firn_data {
    firn_kind kind;
    const firn_material_def *material;
    const firn_source_data *source;
    const firn_collider_data *collider;
    const firn_particle_data *particles;
    const firn_volume_data *volume;
    size_t stat_count;
    const firn_stat *stats;
    const firn_force_data *force;
    const firn_joint_data *joint;
    const firn_material_def *partner; // of a material: what it melts or freezes to; NULL: nothing
} firn_data;

#ifdef __cplusplus
}
#endif

#endif
