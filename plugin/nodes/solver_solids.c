#include "solver_solids.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const contact_parts[] = {"force_x",  "force_y",  "force_z",   "torque_x",
                                            "torque_y", "torque_z", "force_peak"};
// Where a body is: whoever has these of a frame can show it (firn/shot.h).
static const char *const body_parts[] = {"x",  "y",  "z",  "qx", "qy", "qz", "qw",
                                         "vx", "vy", "vz", "wx", "wy", "wz"};
enum { CONTACT_PARTS = 7, BODY_PARTS = 13, PART_SIZE = 12, OVERLAPS_TOLD = 8 };
// Level sets of thin shapes are off by less than this.
#define CROSSING_SHARE 0.2

static bool is_body(const firn_solver_solid *solid) { return solid->body.index1 != 0; }

static const firn_collider_data *data_of(const firn_cook *cook, const firn_solver_solids *solids,
                                         size_t index)
{
    size_t link = solids->items[index].link;
    const firn_collider_data *data = firn_cook_input(cook, "colliders", link)->collider;
    for (size_t i = index; i > 0 && solids->items[i - 1].link == link; i--)
        data = data->body->next;
    return data;
}

static size_t count_pieces(const firn_collider_data *data)
{
    size_t count = 1;
    for (; data->body != NULL && data->body->next != NULL; data = data->body->next)
        count++;
    return count;
}

bool firn_solver_has_bodies(const firn_cook *cook)
{
    // By their types: a replay does not cook what comes before.
    for (size_t i = 0; i < firn_cook_input_count(cook, "colliders"); i++) {
        const char *type = firn_cook_input_type(cook, "colliders", i);
        if (strcmp(type, "body") == 0 || strcmp(type, "joint") == 0)
            return true;
    }
    return false;
}

// Simulated time is zero at the first frame.
static double time_of(const firn_cook *cook, double frame)
{
    return (frame - cook->start_frame) / cook->fps;
}

// --- Numbers -------------------------------------------------------------------------------------

static void name_stats(const firn_solver_solid *solid, firn_stat **stat, char **name)
{
    size_t size = strlen(solid->name) + 1 + PART_SIZE;
    int count = CONTACT_PARTS + (is_body(solid) ? BODY_PARTS : 0);
    for (int k = 0; k < count; k++) {
        const char *part = k < CONTACT_PARTS ? contact_parts[k] : body_parts[k - CONTACT_PARTS];
        snprintf(*name, size, "%s.%s", solid->name, part);
        (*stat)->name = *name;
        (*stat)++;
        *name += size;
    }
}

// Numbers and names in one piece of memory.
static firn_result claim_stats(firn_solver_solids *solids, size_t room, firn_error *error)
{
    size_t bytes = 0, count = room;
    for (size_t i = 0; i < solids->count; i++) {
        size_t parts = CONTACT_PARTS + (is_body(&solids->items[i]) ? BODY_PARTS : 0);
        bytes += parts * (strlen(solids->items[i].name) + 1 + PART_SIZE);
        count += parts;
    }
    solids->stats = firn_alloc_zero((count + 1) * sizeof *solids->stats + bytes);
    if (solids->stats == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep numbers");
    solids->stat_count = count;
    solids->first_stat = room;
    char *name = (char *)(solids->stats + count + 1);
    firn_stat *stat = solids->stats + room;
    for (size_t i = 0; i < solids->count; i++)
        name_stats(&solids->items[i], &stat, &name);
    return FIRN_OK;
}

static firn_stat *put(firn_stat *stat, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        (stat++)->value = values[i];
    return stat;
}

// --- Adding --------------------------------------------------------------------------------------

static void name_solid(const firn_cook *cook, const firn_collider_data *data,
                       firn_solver_solid *solid)
{
    const char *node = firn_cook_input_name(cook, "colliders", solid->link);
    bool piece = data->body != NULL && data->body->piece[0] != '\0';
    snprintf(solid->name, sizeof solid->name, piece ? "%.60s.%.60s" : "%.60s%.0s", node,
             piece ? data->body->piece : "");
}

// Six times the volume that the corner at the origin spans with a fan of triangles.
static double signed_volume(const firn_solid_mesh *mesh)
{
    double sum = 0.0;
    const int32_t *corner = mesh->corner;
    for (size_t f = 0; f < mesh->face_count; corner += mesh->face_size[f++])
        for (int32_t k = 2; k < mesh->face_size[f]; k++) {
            firn_vec3 a = mesh->position[corner[0]], b = mesh->position[corner[k - 1]],
                      c = mesh->position[corner[k]];
            sum += (double)firn_dot(a, firn_cross(b, c));
        }
    return sum / 6.0;
}

// What faces enclose counts twice where they cross, and against each other where they are turned.
static void compare_volumes(const firn_cook *cook, const firn_collider_data *data,
                            const firn_solver_solid *solid)
{
    const firn_collider_def *shape = &data->body->def.shape;
    double scale = (double)shape->pose.scale, shell = solid->mass.volume;
    if (shape->shape != FIRN_SHAPE_LEVEL_SET || shape->offset != 0.0f ||
        data->body->mesh.face_count == 0)
        return;
    double faces = scale * scale * scale * signed_volume(&data->body->mesh);
    if (fabs(faces - shell) > CROSSING_SHARE * shell)
        firn_cook_log(cook, FIRN_LEVEL_WARNING,
                      "the faces of body '%s' enclose %.3g liters, its outer shell %.3g: its mesh "
                      "is open, crosses itself or has faces that are turned inside out; the shell "
                      "counts for its weight",
                      solid->name, 1e3 * faces, 1e3 * shell);
}

static const char *name_of_overlap(const firn_solver_solids *solids, const firn_body_overlap *o)
{
    for (size_t i = 0; i < solids->count; i++) {
        const firn_solver_solid *s = &solids->items[i];
        bool same = is_body(s) ? s->body.index1 == o->other.index1
                               : s->collider.index1 == o->collider.index1;
        if (same && is_body(s) == (o->other.index1 != 0))
            return s->name;
    }
    return "another";
}

// Bodies that begin inside something are pushed out, which is hardly ever what was meant.
static firn_result warn_of_overlaps(const firn_solver_solids *solids, const firn_cook *cook,
                                    firn_sim *sim, firn_error *error)
{
    firn_body_overlap found[OVERLAPS_TOLD];
    int count = 0;
    FIRN_TRY(firn_sim_body_overlaps(sim, found, OVERLAPS_TOLD, &count, error));
    for (int i = 0; i < count && i < OVERLAPS_TOLD; i++) {
        const char *name = "";
        for (size_t k = 0; k < solids->count; k++)
            if (solids->items[k].body.index1 == found[i].body.index1)
                name = solids->items[k].name;
        firn_cook_log(cook, FIRN_LEVEL_WARNING,
                      "body '%s' begins %.3g m inside of '%s' and will be pushed out; move one of "
                      "them, or join them",
                      name, found[i].depth, name_of_overlap(solids, &found[i]));
    }
    if (count > OVERLAPS_TOLD)
        firn_cook_log(cook, FIRN_LEVEL_WARNING, "%d more bodies begin inside of something",
                      count - OVERLAPS_TOLD);
    return FIRN_OK;
}

static firn_result add_solid(const firn_cook *cook, firn_sim *sim, const firn_collider_data *data,
                             firn_solver_solid *solid, firn_error *error)
{
    name_solid(cook, data, solid);
    if (data->body == NULL)
        return firn_sim_add_collider(sim, &data->def, &solid->collider, error);
    FIRN_TRY(firn_sim_add_body(sim, &data->body->def, &solid->body, error));
    FIRN_TRY(firn_sim_body_mass(sim, solid->body, &solid->mass, error));
    compare_volumes(cook, data, solid);
    const firn_body_mass *m = &solid->mass;
    firn_cook_log(
        cook, FIRN_LEVEL_INFO,
        "body '%s' weighs %.6g kg, center %.4g %.4g %.4g m, inertia %.4g %.4g %.4g kg m^2",
        solid->name, m->mass, m->center[0], m->center[1], m->center[2], m->inertia[0],
        m->inertia[4], m->inertia[8]);
    return FIRN_OK;
}

static firn_body_id body_of(const firn_cook *cook, const firn_solver_solids *solids,
                            const firn_collider_data *data)
{
    for (size_t i = 0; i < solids->count; i++)
        if (data != NULL && is_body(&solids->items[i]) && data_of(cook, solids, i) == data)
            return solids->items[i].body;
    return (firn_body_id){0, 0};
}

static firn_result add_joints(const firn_solver_solids *solids, const firn_cook *cook,
                              firn_sim *sim, firn_error *error)
{
    for (size_t i = 0; i < firn_cook_input_count(cook, "joints"); i++) {
        const firn_joint_data *data = firn_cook_input(cook, "joints", i)->joint;
        firn_joint_def def = data->def;
        def.first = body_of(cook, solids, data->first);
        def.second = body_of(cook, solids, data->second);
        if (def.second.index1 == 0 || (data->first != NULL && def.first.index1 == 0))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "joint '%s' holds a body that is not linked to colliders of the "
                             "solver; link it there too",
                             firn_cook_input_name(cook, "joints", i));
        FIRN_TRY(firn_cook_blame(cook, "joints", i, firn_sim_add_joint(sim, &def, NULL, error)));
    }
    return FIRN_OK;
}

static firn_result claim_solids(firn_solver_solids *solids, const firn_cook *cook,
                                firn_error *error)
{
    size_t links = firn_cook_input_count(cook, "colliders"), count = 0;
    for (size_t i = 0; i < links; i++)
        count += count_pieces(firn_cook_input(cook, "colliders", i)->collider);
    solids->items = firn_alloc_zero((count + 1) * sizeof *solids->items);
    solids->poses = firn_alloc_zero((count + 1) * sizeof *solids->poses);
    if (solids->items == NULL || solids->poses == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot add the colliders");
    return FIRN_OK;
}

firn_result firn_solver_solids_add(firn_solver_solids *solids, const firn_cook *cook, firn_sim *sim,
                                   size_t room, firn_error *error)
{
    FIRN_TRY(claim_solids(solids, cook, error));
    for (size_t i = 0; i < firn_cook_input_count(cook, "colliders"); i++) {
        const firn_collider_data *data = firn_cook_input(cook, "colliders", i)->collider;
        for (; data != NULL; data = data->body != NULL ? data->body->next : NULL) {
            firn_solver_solid *solid = &solids->items[solids->count];
            solid->link = i;
            firn_result added = add_solid(cook, sim, data, solid, error);
            FIRN_TRY(data->body != NULL ? firn_cook_blame(cook, "colliders", i, added) : added);
            solids->count++;
        }
    }
    FIRN_TRY(add_joints(solids, cook, sim, error));
    if (cook->restore == NULL && firn_solver_has_bodies(cook))
        FIRN_TRY(warn_of_overlaps(solids, cook, sim, error));
    return claim_stats(solids, room, error);
}

void firn_solver_solids_free(firn_solver_solids *solids)
{
    firn_free(solids->items);
    firn_free(solids->keys);
    firn_free(solids->poses);
    firn_free(solids->stats);
}

// --- From frame to frame -------------------------------------------------------------------------

firn_result firn_solver_solids_change(firn_solver_solids *solids, const firn_cook *cook,
                                      firn_sim *sim, firn_error *error)
{
    for (size_t i = 0; i < solids->count; i++)
        if (!is_body(&solids->items[i]))
            FIRN_TRY(firn_sim_change_collider(sim, solids->items[i].collider,
                                              &data_of(cook, solids, i)->def, error));
    return FIRN_OK;
}

static firn_result move_solid(firn_solver_solids *solids, const firn_cook *cook, firn_sim *sim,
                              size_t index, firn_error *error)
{
    const firn_solver_solid *solid = &solids->items[index];
    const firn_collider_data *data = data_of(cook, solids, index);
    if (data->deforms) {
        firn_surface_key from = data->surface[0], to = data->surface[1];
        from.time = time_of(cook, from.time);
        to.time = time_of(cook, to.time);
        return firn_sim_deform_collider(sim, solid->collider, &from, &to, error);
    }
    if (data->key_count == 0)
        return FIRN_OK;
    firn_free(solids->keys);
    solids->keys = firn_alloc((size_t)data->key_count * sizeof *solids->keys);
    if (solids->keys == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot move a collider");
    for (int k = 0; k < data->key_count; k++) {
        solids->keys[k] = data->keys[k];
        solids->keys[k].time = time_of(cook, data->keys[k].time);
    }
    return is_body(solid)
               ? firn_sim_move_body(sim, solid->body, solids->keys, data->key_count, error)
               : firn_sim_move_collider(sim, solid->collider, solids->keys, data->key_count, error);
}

firn_result firn_solver_solids_move(firn_solver_solids *solids, const firn_cook *cook,
                                    firn_sim *sim, firn_error *error)
{
    for (size_t i = 0; i < solids->count; i++) {
        firn_result moved = move_solid(solids, cook, sim, i, error);
        FIRN_TRY(is_body(&solids->items[i])
                     ? firn_cook_blame(cook, "colliders", solids->items[i].link, moved)
                     : moved);
    }
    return FIRN_OK;
}

firn_result firn_solver_solids_publish(firn_solver_solids *solids, const firn_cook *cook,
                                       const firn_sim *sim, firn_error *error)
{
    firn_stat *stat = solids->stats + solids->first_stat;
    solids->pose_count = 0;
    for (size_t i = 0; i < solids->count; i++) {
        const firn_solver_solid *solid = &solids->items[i];
        firn_collider_force f;
        FIRN_TRY(is_body(solid) ? firn_sim_body_force(sim, solid->body, &f, error)
                                : firn_sim_collider_force(sim, solid->collider, &f, error));
        stat = put(stat, f.force, 3);
        stat = put(stat, f.torque, 3);
        stat = put(stat, &f.peak, 1);
        if (!is_body(solid))
            continue;
        firn_body_pose *pose = &solids->poses[solids->pose_count++];
        pose->name = solid->name;
        pose->collider = data_of(cook, solids, i);
        FIRN_TRY(firn_sim_body(sim, solid->body, &pose->state, error));
        stat = put(stat, pose->state.translation, 3);
        stat = put(stat, pose->state.rotation, 4);
        stat = put(stat, pose->state.velocity, 3);
        stat = put(stat, pose->state.angular_velocity, 3);
    }
    return FIRN_OK;
}
