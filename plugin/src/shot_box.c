/// The box that a shot takes in, known before anything is cooked: where a camera that is framed by
/// itself looks. It follows from the scene alone, so that every frame has it, whoever makes it.
#include "graph_state.h"

#include <math.h>
#include <string.h>

enum { PATH_STEPS = 48, POSES = 3 };

#define LOOK_AHEAD 2.0 // s that snow is followed on its way
#define SPREAD 0.15f   // of the size of the snow, on each side

typedef struct box {
    firn_vec3 lower, upper; // m; upside down: nothing in it
} box;

static const box nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static bool is_empty(box b) { return !(b.lower.x <= b.upper.x); }

static box with_point(box b, firn_vec3 p)
{
    b.lower = firn_vec(fminf(b.lower.x, p.x), fminf(b.lower.y, p.y), fminf(b.lower.z, p.z));
    b.upper = firn_vec(fmaxf(b.upper.x, p.x), fmaxf(b.upper.y, p.y), fmaxf(b.upper.z, p.z));
    return b;
}

static box with_box(box a, box b)
{
    return is_empty(b) ? a : with_point(with_point(a, b.lower), b.upper);
}

static box moved(box b, firn_vec3 way)
{
    return (box){firn_add(b.lower, way), firn_add(b.upper, way)};
}

static box around(firn_vec3 center, firn_vec3 half)
{
    return (box){firn_sub(center, half), firn_add(center, half)};
}

static box posed(box b, firn_transform pose)
{
    box all = nothing;
    for (int corner = 0; corner < 8 && !is_empty(b); corner++) {
        firn_vec3 p = {corner & 1 ? b.lower.x : b.upper.x, corner & 2 ? b.lower.y : b.upper.y,
                       corner & 4 ? b.lower.z : b.upper.z};
        all = with_point(all, firn_transform_point(pose, p));
    }
    return all;
}

static firn_vec3 size_of(box b) { return firn_sub(b.upper, b.lower); }

static box box_of_level_set(const firn_level_set *set)
{
    box all = nothing;
    for (size_t i = 0; i < set->leaf_count; i++) {
        firn_coord o = set->leaf_origin[i];
        firn_vec3 corner = {(float)o.x, (float)o.y, (float)o.z};
        all = with_point(with_point(all, corner), firn_add(corner, firn_vec(8.0f, 8.0f, 8.0f)));
    }
    return posed(all, set->map);
}

// --- Solids --------------------------------------------------------------------------------------

static bool is_plane(const firn_collider_def *def) { return def->shape == FIRN_SHAPE_PLANE; }

// Of a solid that has an end.
static box box_of_collider(const firn_collider_data *data)
{
    firn_collider_def def = firn_collider_at_end(data);
    firn_vec3 round = {def.radius, def.radius, def.radius};
    firn_vec3 origin = {0.0f, 0.0f, 0.0f};
    if (data->deforms && data->surface[1].level_set != NULL)
        return box_of_level_set(data->surface[1].level_set);
    switch (def.shape) {
    case FIRN_SHAPE_BOX:
        return posed(around(origin, def.half_size), def.pose);
    case FIRN_SHAPE_SPHERE:
        return posed(around(origin, round), def.pose);
    case FIRN_SHAPE_CAPSULE:
        round.y += def.half_size.y;
        return posed(around(origin, round), def.pose);
    case FIRN_SHAPE_LEVEL_SET:
        return def.level_set != NULL ? posed(box_of_level_set(def.level_set), def.pose) : nothing;
    default:
        return nothing;
    }
}

/// What is in the way: solids at the first, the middle and the last frame, and snow at rest.
typedef struct solids {
    box *boxes;
    size_t box_count; // of solids; those of snow follow
    size_t snow_count;
    firn_transform *planes;
    size_t plane_count;
    box reach; // as far as snow is followed
} solids;

static void add_collider(solids *all, const firn_collider_data *data)
{
    box b = box_of_collider(data);
    if (is_plane(&data->def))
        all->planes[all->plane_count++] = firn_collider_at_end(data).pose;
    else if (!is_empty(b))
        all->boxes[all->box_count++] = b;
}

static bool is_inside(box b, firn_vec3 p)
{
    return p.x > b.lower.x && p.y > b.lower.y && p.z > b.lower.z && p.x < b.upper.x &&
           p.y < b.upper.y && p.z < b.upper.z;
}

// Whether something is in the way at a point, or it is out of reach. Snow does not stop itself.
static bool is_stopped(const solids *all, size_t self, firn_vec3 p)
{
    for (size_t i = 0; i < all->plane_count; i++) {
        firn_vec3 up = firn_rotate(all->planes[i].rotation, firn_vec(0.0f, 1.0f, 0.0f));
        if (firn_dot(up, firn_sub(p, all->planes[i].translation)) < 0.0f)
            return true;
    }
    for (size_t i = 0; i < all->box_count + all->snow_count; i++)
        if (i != all->box_count + self && is_inside(all->boxes[i], p))
            return true;
    return !is_inside(all->reach, p);
}

// --- Snow ----------------------------------------------------------------------------------------

static box box_of_source(const firn_source_def *def)
{
    box all = nothing;
    firn_vec3 round = {def->radius, def->radius, def->radius};
    switch (def->region) {
    case FIRN_REGION_SPHERE:
        return around(def->center, round);
    case FIRN_REGION_BOX:
        return around(def->center, def->half_size);
    case FIRN_REGION_LEVEL_SET:
        return def->level_set != NULL ? box_of_level_set(def->level_set) : nothing;
    default:
        for (size_t i = 0; i < def->point_count; i++)
            all = with_point(all, def->points[i]);
        return all;
    }
}

// Where the snow of a source flies until it meets something.
static box way_of(const solids *all, size_t self, firn_vec3 velocity, firn_vec3 gravity,
                  double seconds)
{
    box start = all->boxes[all->box_count + self], way = start;
    firn_vec3 middle = firn_lerp(start.lower, start.upper, 0.5f);
    seconds = fmin(seconds, LOOK_AHEAD);
    for (int i = 1; i <= PATH_STEPS; i++) {
        float t = (float)(seconds * i / PATH_STEPS);
        firn_vec3 gone = firn_add_scaled(firn_scale(t, velocity), 0.5f * t * t, gravity);
        if (is_stopped(all, self, firn_add(middle, gone)))
            break;
        way = with_box(way, moved(start, gone));
    }
    return way;
}

// Where it bursts and spreads.
static box spread(box snow)
{
    float room = SPREAD * firn_length(size_of(snow));
    return (box){firn_sub(snow.lower, firn_vec(room, room, room)),
                 firn_add(snow.upper, firn_vec(room, room, room))};
}

// Down to the ground, where the snow comes to lie in the end.
static box grounded(box snow, const solids *all, firn_vec3 gravity)
{
    firn_vec3 middle = firn_lerp(snow.lower, snow.upper, 0.5f), down = firn_normalize(gravity);
    float nearest = 2.0f * firn_length(size_of(snow));
    bool found = false;
    for (size_t i = 0; i < all->plane_count && firn_length(gravity) > 0.0f; i++) {
        firn_vec3 up = firn_rotate(all->planes[i].rotation, firn_vec(0.0f, 1.0f, 0.0f));
        float sinks = -firn_dot(up, down);
        float distance = firn_dot(up, firn_sub(middle, all->planes[i].translation)) / sinks;
        if (sinks < 0.5f || distance < 0.0f || distance > nearest)
            continue;
        nearest = distance;
        found = true;
    }
    return found ? with_point(snow, firn_add_scaled(middle, nearest, down)) : snow;
}

// The part of something large that is near the snow.
static box near_part(box solid, box snow)
{
    firn_vec3 room = firn_scale(0.25f, size_of(snow));
    box wide = {firn_sub(snow.lower, room), firn_add(snow.upper, room)};
    box part = {firn_vec(fmaxf(solid.lower.x, wide.lower.x), fmaxf(solid.lower.y, wide.lower.y),
                         fmaxf(solid.lower.z, wide.lower.z)),
                firn_vec(fminf(solid.upper.x, wide.upper.x), fminf(solid.upper.y, wide.upper.y),
                         fminf(solid.upper.z, wide.upper.z))};
    bool meets = part.lower.x <= part.upper.x && part.lower.y <= part.upper.y &&
                 part.lower.z <= part.upper.z;
    return meets ? part : nothing;
}

// --- The shot ------------------------------------------------------------------------------------

static firn_result gather_solids(firn_graph *graph, solids *all, firn_error *error)
{
    const firn_shot *shot = &graph->shot;
    const int frames[POSES] = {shot->first, shot->first + (shot->last - shot->first) / 2,
                               shot->last};
    for (size_t i = 0; i < graph->node_count; i++)
        for (int k = 0; k < POSES && graph->nodes[i]->type->info.output == FIRN_KIND_COLLIDER;
             k++) {
            const firn_data *data = NULL;
            FIRN_TRY(firn_graph_cook(graph, graph->nodes[i]->name, frames[k], &data, error));
            add_collider(all, data->collider);
        }
    return FIRN_OK;
}

static firn_vec3 gravity_of(const firn_graph *graph)
{
    double g[3] = {0.0, -9.81, 0.0};
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i]->type->info.sequential &&
            firn_graph_get(graph, graph->nodes[i]->name, "gravity", graph->shot.first, g, NULL) ==
                FIRN_OK)
            break;
    return firn_vec((float)g[0], (float)g[1], (float)g[2]);
}

static firn_result gather_snow(firn_graph *graph, solids *all, firn_vec3 *velocities,
                               firn_error *error)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_data *data = NULL;
        if (graph->nodes[i]->type->info.output != FIRN_KIND_SOURCE)
            continue;
        FIRN_TRY(firn_graph_cook(graph, graph->nodes[i]->name, graph->shot.first, &data, error));
        box start = box_of_source(&data->source->def);
        if (is_empty(start))
            continue;
        velocities[all->snow_count] = data->source->def.velocity;
        all->boxes[all->box_count + all->snow_count++] = start;
    }
    return FIRN_OK;
}

// The snow on its way, with what is solid near it.
static box join(const firn_graph *graph, solids *all, const firn_vec3 *velocities)
{
    const firn_shot *shot = &graph->shot;
    double seconds = (shot->last - shot->first) / (double)shot->fps;
    firn_vec3 gravity = gravity_of(graph);
    box *starts = all->boxes + all->box_count, snow = nothing, found;
    for (size_t i = 0; i < all->snow_count; i++)
        snow = with_box(snow, starts[i]);
    if (is_empty(snow))
        return snow;
    float room = firn_length(size_of(snow));
    all->reach = (box){firn_sub(snow.lower, firn_vec(room, room, room)),
                       firn_add(snow.upper, firn_vec(room, room, room))};
    for (size_t i = 0; i < all->snow_count; i++)
        snow = with_box(snow, way_of(all, i, velocities[i], gravity, seconds));
    found = snow = grounded(spread(snow), all, gravity);
    for (size_t i = 0; i < all->box_count; i++)
        found = with_box(found, near_part(all->boxes[i], snow));
    return found;
}

static firn_result find_box(firn_graph *graph, box *found, firn_error *error)
{
    solids all = {0};
    size_t most = POSES * graph->node_count + 1;
    all.boxes = firn_alloc_zero(most * sizeof *all.boxes);
    all.planes = firn_alloc_zero(most * sizeof *all.planes);
    firn_vec3 *velocities = firn_alloc_zero(most * sizeof *velocities);
    bool claimed = all.boxes != NULL && all.planes != NULL && velocities != NULL;
    firn_result result =
        claimed ? FIRN_OK : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot frame");
    if (result == FIRN_OK)
        result = gather_solids(graph, &all, error);
    if (result == FIRN_OK)
        result = gather_snow(graph, &all, velocities, error);
    *found = result == FIRN_OK ? join(graph, &all, velocities) : nothing;
    firn_free(velocities);
    firn_free(all.boxes);
    firn_free(all.planes);
    return result;
}

firn_result firn_graph_box(const firn_graph *graph, firn_vec3 *lower, firn_vec3 *upper,
                           firn_error *error)
{
    char *text = NULL;
    firn_graph *copy = NULL; // so that nothing of a cook in progress is touched
    box found = nothing;
    FIRN_TRY(firn_graph_print(graph, true, &text, error));
    firn_result result =
        firn_graph_load_memory(text, strlen(text), "the shot", graph->folder, &copy, error);
    firn_free(text);
    if (result == FIRN_OK)
        result = find_box(copy, &found, error);
    firn_graph_destroy(copy);
    FIRN_TRY(result);
    if (is_empty(found))
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "the shot has no source of snow to look at");
    *lower = found.lower;
    *upper = found.upper;
    return FIRN_OK;
}

firn_result firn_cook_shot_box(const firn_cook *cook, firn_vec3 *lower, firn_vec3 *upper,
                               firn_error *error)
{
    firn_graph *graph = ((firn_node *)cook->owner)->graph;
    uint64_t hash = ((firn_node *)cook->owner)->fresh;
    if (graph->box_hash != hash)
        FIRN_TRY(firn_graph_box(graph, &graph->box[0], &graph->box[1], error));
    graph->box_hash = hash;
    *lower = graph->box[0];
    *upper = graph->box[1];
    return FIRN_OK;
}
