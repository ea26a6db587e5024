#include "seeding.h"

#include "base/noise.h"
#include "seed_emission.h"
#include "seed_volume.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK_EDGE = 4,    // lattice spacings; space is visited in blocks
    BATCH = 512,       // blocks that threads share
    FEW = 16,          // blocks that are not worth it
    MOST_POINTS = 128, // of the lattice in a block: 4 along an axis, or 5 by rounding
};

static double lattice_spacing(float cell_size, float particles_per_cell)
{
    double root = cbrt((double)particles_per_cell);
    double whole = nearbyint(root);
    // Whole numbers per axis stay exact, so that the lattice meets the grid in every cell.
    if (whole * whole * whole == (double)particles_per_cell)
        root = whole;
    return (double)cell_size / root;
}

// Flakes that fall with their velocity stand farther apart than what becomes of them.
static double source_spacing(const firn_source_def *def, float cell_size)
{
    double spacing = lattice_spacing(cell_size, def->particles_per_cell);
    double speed = (double)firn_length(def->velocity), rate = (double)def->snowfall;
    return rate > 0.0 && speed > rate ? spacing * cbrt(speed / rate) : spacing;
}

static bool is_filling(const firn_seed_emission *e) { return e->from < 0; }

static bool is_wanted(const firn_seed_emission *e, const double origin[3])
{
    if (e->region.kind == FIRN_REGION_LEVEL_SET) {
        const double move[3] = {e->velocity[0] * e->tick, e->velocity[1] * e->tick,
                                e->velocity[2] * e->tick};
        return firn_seed_region_enters(&e->region, origin, move, e->to);
    }
    double entry = firn_seed_region_entry(&e->region, origin, e->velocity);
    return (is_filling(e) || entry > e->tick * (double)e->from) && entry <= e->tick * (double)e->to;
}

static void lattice_point(const firn_seed_emission *e, const int64_t index[3], double origin[3])
{
    double offset[3];
    firn_hash_offsets(firn_lattice_hash(index, firn_seed_stream(e->def, STREAM_JITTER)), offset);
    for (int axis = 0; axis < 3; axis++)
        origin[axis] =
            ((double)index[axis] + 0.5 + (double)e->def->jitter * offset[axis]) * e->spacing +
            e->shift[axis];
}

/// The lattice points whose unmoved place is in a block when the lattice has traveled until e->to.
typedef struct lattice_box {
    int64_t first[3];
    int edge[3];
} lattice_box;

static lattice_box box_of(const firn_seed_emission *e, const int64_t block[3])
{
    lattice_box box;
    for (int axis = 0; axis < 3; axis++) {
        double way = e->shift[axis] + e->velocity[axis] * e->tick * (double)e->to;
        double traveled = way / e->spacing + 0.5;
        double end = ceil((double)(BLOCK_EDGE * (block[axis] + 1)) - traveled);
        box.first[axis] = (int64_t)ceil((double)(BLOCK_EDGE * block[axis]) - traveled);
        box.edge[axis] = (int)((int64_t)end - box.first[axis]);
    }
    FIRN_ASSERT(box.edge[0] * box.edge[1] * box.edge[2] <= MOST_POINTS);
    return box;
}

static void point_of(const lattice_box *box, int i, int64_t index[3])
{
    index[0] = box->first[0] + i / (box->edge[1] * box->edge[2]);
    index[1] = box->first[1] + i / box->edge[2] % box->edge[1];
    index[2] = box->first[2] + i % box->edge[2];
}

/// Blocks that threads look through together: first for the points that are wanted, and when these
/// have been counted and have their places, to make particles of them.
typedef struct batch {
    int count;
    int64_t block[BATCH][3];
    uint64_t wanted[BATCH][MOST_POINTS / 64]; // a bit for each point
    size_t begin[BATCH];                      // place of the first seed; before, how many
} batch;

static void find_wanted(const firn_seed_emission *e, batch *todo, int b)
{
    lattice_box box = box_of(e, todo->block[b]);
    memset(todo->wanted[b], 0, sizeof todo->wanted[b]);
    todo->begin[b] = 0;
    for (int i = 0; i < box.edge[0] * box.edge[1] * box.edge[2]; i++) {
        int64_t index[3];
        double origin[3];
        point_of(&box, i, index);
        lattice_point(e, index, origin);
        if (!is_wanted(e, origin))
            continue;
        todo->wanted[b][i / 64] |= (uint64_t)1 << i % 64;
        todo->begin[b]++;
    }
}

static void emit_wanted(const firn_seed_emission *e, const batch *todo, int b)
{
    lattice_box box = box_of(e, todo->block[b]);
    size_t place = todo->begin[b];
    for (int i = 0; i < box.edge[0] * box.edge[1] * box.edge[2]; i++) {
        if ((todo->wanted[b][i / 64] >> i % 64 & 1) == 0)
            continue;
        firn_seed s = {.stiffness = 1.0, .density = 1.0};
        int64_t index[3];
        point_of(&box, i, index);
        lattice_point(e, index, s.origin);
        s.volume = e->share;
        s.mass = (double)e->seeding->density * s.volume;
        if (is_filling(e))
            firn_seed_add_layers(e, &s);
        firn_seed_put(e, place++, 0, &s);
    }
}

static firn_result emit_batch(firn_seed_emission *e, batch *todo, firn_error *error)
{
    int threads = todo->count > FEW && e->seeding->thread_count > 1 ? e->seeding->thread_count : 1;
    size_t count = e->count;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int b = 0; b < todo->count; b++)
        find_wanted(e, todo, b);
    for (int b = 0; b < todo->count; b++) {
        size_t here = todo->begin[b];
        todo->begin[b] = count;
        count += here;
    }
    FIRN_TRY(firn_seeds_reserve(e->seeds, count, error));
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int b = 0; b < todo->count; b++)
        emit_wanted(e, todo, b);
    e->count = firn_seeds_choose(e->seeds, e->count, count);
    todo->count = 0;
    return FIRN_OK;
}

static firn_result emit_block(firn_seed_emission *e, batch *todo, const int64_t block[3],
                              firn_error *error)
{
    memcpy(todo->block[todo->count++], block, sizeof todo->block[0]);
    return todo->count == BATCH ? emit_batch(e, todo, error) : FIRN_OK;
}

// How far from a point of the lattice things matter.
typedef struct range {
    double jitter;   // m, that points are moved from the lattice along each axis
    double reach;    // m, from the center of a block to its farthest point
    double traveled; // m, during the interval
} range;

static range emission_range(const firn_seed_emission *e)
{
    double slack = 1e-6 * e->spacing;
    double jitter = 0.5 * (double)e->def->jitter * e->spacing + slack;
    double speed = sqrt(e->velocity[0] * e->velocity[0] + e->velocity[1] * e->velocity[1] +
                        e->velocity[2] * e->velocity[2]);
    range r = {.jitter = jitter,
               .reach = 1.7320508075688772 * (0.5 * BLOCK_EDGE * e->spacing + jitter),
               .traveled = is_filling(e) ? 0.0 : speed * e->tick * (double)(e->to - e->from)};
    return r;
}

// Points that came in during the interval are now at most as deep as they traveled.
static bool block_matters(const firn_seed_emission *e, const int64_t block[3], const range *r)
{
    bool listed = e->region.kind == FIRN_REGION_LEVEL_SET;
    if (listed && is_filling(e))
        return true;
    double center[3];
    for (int axis = 0; axis < 3; axis++)
        center[axis] = ((double)block[axis] + 0.5) * BLOCK_EDGE * e->spacing;
    double distance = firn_seed_region_distance(&e->region, center);
    return (listed || distance <= r->reach + r->traveled) &&
           (is_filling(e) || distance >= -r->reach - r->traveled);
}

// One interval of a sphere or box: the blocks of its bounds that matter.
static firn_result emit_shape(firn_seed_emission *e, firn_error *error)
{
    const double edge = BLOCK_EDGE * e->spacing;
    const range r = emission_range(e);
    int64_t first[3], last[3], block[3];
    double blocks = 1.0;
    for (int axis = 0; axis < 3; axis++) {
        double margin = r.jitter + r.traveled;
        double low = floor((e->region.lower[axis] - margin) / edge);
        double high = floor((e->region.upper[axis] + margin) / edge);
        blocks *= high - low + 1.0;
        first[axis] = (int64_t)low;
        last[axis] = (int64_t)high;
    }
    if (!(blocks < (double)FIRN_SEED_LIMIT))
        return firn_seeds_refuse(blocks * BLOCK_EDGE * BLOCK_EDGE * BLOCK_EDGE, error);
    batch todo = {.count = 0};
    for (block[0] = first[0]; block[0] <= last[0]; block[0]++)
        for (block[1] = first[1]; block[1] <= last[1]; block[1]++)
            for (block[2] = first[2]; block[2] <= last[2]; block[2]++)
                if (block_matters(e, block, &r))
                    FIRN_TRY(emit_block(e, &todo, block, error));
    return emit_batch(e, &todo, error);
}

// One interval of a level set, which takes the ticks one by one.
static firn_result emit_level_set(firn_seed_emission *e, firn_seed_volume *volume,
                                  firn_error *error)
{
    const int64_t last = e->to;
    e->to = e->from + 1;
    const range r = emission_range(e);
    FIRN_TRY(firn_seed_volume_list(volume, BLOCK_EDGE * e->spacing, r.jitter, error));
    batch todo = {.count = 0};
    for (; e->to <= last; e->to++) {
        for (size_t i = 0; i < volume->blocks.count; i++) {
            firn_coord coord = volume->blocks.entries[i].coord;
            const int64_t block[3] = {coord.x, coord.y, coord.z};
            if (block_matters(e, block, &r))
                FIRN_TRY(emit_block(e, &todo, block, error));
        }
        FIRN_TRY(emit_batch(e, &todo, error));
    }
    return FIRN_OK;
}

static firn_result emit_interval(firn_seed_emission *e, firn_seed_volume *volume, firn_error *error)
{
    return volume != NULL ? emit_level_set(e, volume, error) : emit_shape(e, error);
}

// The velocity of the lattice as seen from the region.
static firn_vec3 flow_of(const firn_source_def *def)
{
    return firn_sub(def->velocity, def->region_velocity);
}

// Emission proceeds in whole ticks; until the next there is nothing to do.
static int64_t count_ticks(double elapsed, double tick) { return (int64_t)floor(elapsed / tick); }

static firn_result emit_stream(firn_seed_emission *e, const firn_source *source, double time,
                               firn_error *error)
{
    double end = fmin(time, e->def->end);
    double before = source->started ? fmin(source->emitted, end) : source->begun;
    // More than this would be a week of work, or overflow.
    const double most_ticks = 1e9;
    if (!(end > source->begun))
        return FIRN_OK;
    if (!((end - source->begun) / e->tick < most_ticks))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the source emits at %g m/s for %g s, which is too far for particles %g m "
                         "apart",
                         (double)firn_length(flow_of(e->def)), end - source->begun, e->spacing);
    e->from = count_ticks(before - source->begun, e->tick);
    e->to = count_ticks(end - source->begun, e->tick);
    return e->to > e->from ? emit_interval(e, source->volume, error) : FIRN_OK;
}

// Seconds in which the lattice moves by half a spacing or voxel; 0: it stands still.
static double tick_of(const firn_source *source, double spacing)
{
    const firn_sdf *sdf = source->volume != NULL ? &source->volume->sdf : NULL;
    double step = sdf != NULL ? fmin(spacing, (double)sdf->set.map.scale) : spacing;
    double speed = (double)firn_length(flow_of(&source->def));
    return speed > 0.0 ? 0.5 * step / speed : 0.0;
}

static firn_result emit_region(firn_seed_emission *e, const firn_source *source, double time,
                               firn_error *error)
{
    const firn_sdf *sdf = source->volume != NULL ? &source->volume->sdf : NULL;
    e->region = firn_seed_region_make(e->def, sdf);
    e->tick = tick_of(source, e->spacing);
    if (!source->started) {
        double volume = sdf == NULL ? firn_seed_region_volume(&e->region) : 0.0;
        double expected = volume / (e->spacing * e->spacing * e->spacing);
        if (!(expected < (double)FIRN_SEED_LIMIT))
            return firn_seeds_refuse(expected, error);
        // Memory for all at once, if there is; growing would copy it again and again.
        if (e->seeds->wants == NULL)
            (void)firn_seeds_reserve(e->seeds, e->count + (size_t)(1.01 * expected), NULL);
        e->from = -1;
        e->to = 0;
        FIRN_TRY(emit_interval(e, source->volume, error));
    }
    return e->tick > 0.0 ? emit_stream(e, source, time, error) : FIRN_OK;
}

static bool has_value(const firn_source *source, int column)
{
    for (int i = 0; i < source->value_count; i++)
        if (source->values[i].column == column)
            return true;
    return false;
}

// Points that come with a mass and without a volume have that of the material's density; the grid
// would see too much around those at a surface.
static void put_volume(const firn_seed_emission *e, size_t i)
{
    float *volume = (float *)e->seeds->column[FIRN_VOLUME].data + i;
    const float *mass = (const float *)e->seeds->column[FIRN_MASS].data + i;
    if (!(*volume > 0.0f))
        *volume = *mass / e->seeding->density;
}

static firn_result emit_points(firn_seed_emission *e, firn_error *error)
{
    const firn_source_def *def = e->def;
    FIRN_TRY(firn_seeds_reserve(e->seeds, e->count + def->point_count, error));
    double share = e->spacing * e->spacing * e->spacing;
    bool weighed = has_value(e->source, FIRN_MASS);
    int threads = e->seeding->thread_count > 1 ? e->seeding->thread_count : 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < def->point_count; i++) {
        firn_vec3 x = def->points[i];
        firn_seed s = {.origin = {(double)x.x, (double)x.y, (double)x.z},
                       .mass = (double)e->seeding->density * share,
                       .stiffness = 1.0,
                       .density = 1.0};
        firn_seed_put(e, e->count + i, i, &s);
        if (weighed)
            put_volume(e, e->count + i);
    }
    e->count = firn_seeds_choose(e->seeds, e->count, e->count + def->point_count);
    return FIRN_OK;
}

firn_result firn_source_emit(firn_source *source, const firn_seeding *seeding, double time,
                             firn_seeds *seeds, firn_error *error)
{
    FIRN_ASSERT(time >= source->emitted);
    if (time < source->def.start) {
        source->emitted = time;
        return FIRN_OK;
    }
    firn_source next = *source;
    if (!source->started)
        next.begun = fmax(source->def.start, source->emitted);
    const firn_source_def *def = &source->def;
    const firn_vec3 flow = flow_of(def);
    const double moving = time - source->moved;
    const double body = lattice_spacing(seeding->cell_size, def->particles_per_cell);
    firn_seed_emission e = {
        .source = source,
        .def = def,
        .seeding = seeding,
        .seeds = seeds,
        .spacing = source_spacing(def, seeding->cell_size),
        .share = body * body * body,
        .velocity = {(double)flow.x, (double)flow.y, (double)flow.z},
        .shift = {source->shift[0], source->shift[1], source->shift[2]},
        .travel = {(double)def->travel.x + (double)def->region_velocity.x * moving,
                   (double)def->travel.y + (double)def->region_velocity.y * moving,
                   (double)def->travel.z + (double)def->region_velocity.z * moving},
        .now = time - next.begun,
        .count = seeds->count,
    };
    bool listed = def->region == FIRN_REGION_POINTS;
    if (!listed)
        FIRN_TRY(emit_region(&e, &next, time, error));
    else if (!source->started)
        FIRN_TRY(emit_points(&e, error));

    bool goes_on = !listed && def->end > next.begun && firn_length(flow) > 0.0f;
    if (!source->started && !goes_on && e.count == seeds->count && seeds->total == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the source holds no particle; enlarge the region, use smaller cells or "
                         "more particles per cell (spacing %g m)",
                         e.spacing);
    next.started = true;
    next.emitted = time;
    *source = next;
    seeds->count = e.count;
    return FIRN_OK;
}

// The lattice goes on from where it is with the part of a tick that it has traveled since the last
// whole one, so that what came in before is there and what comes later is not. To a stream that
// stands still that part is lost, half a spacing at most.
static void turn(firn_source *source, firn_vec3 velocity, firn_vec3 region_velocity, double spacing)
{
    double elapsed = source->emitted - source->begun, tick = tick_of(source, spacing);
    double ticks = tick > 0.0 ? elapsed / tick : 0.0, part = ticks - floor(ticks);
    const firn_vec3 was = flow_of(&source->def), is = firn_sub(velocity, region_velocity);
    source->def.velocity = velocity;
    source->def.region_velocity = region_velocity;
    double next = tick_of(source, spacing), whole = next > 0.0 ? elapsed : tick * floor(ticks);
    const double v[2][3] = {{(double)was.x, (double)was.y, (double)was.z},
                            {(double)is.x, (double)is.y, (double)is.z}};
    for (int axis = 0; axis < 3; axis++)
        source->shift[axis] += v[0][axis] * whole - v[1][axis] * part * next;
    source->begun = source->emitted -= part * next;
}

void firn_source_change(firn_source *source, const firn_source_def *def, double time,
                        float cell_size)
{
    const firn_vec3 change = firn_sub(flow_of(def), flow_of(&source->def));
    bool streams = source->started && source->emitted < source->def.end;
    if (streams && firn_dot(change, change) > 0.0f)
        turn(source, def->velocity, def->region_velocity, source_spacing(&source->def, cell_size));
    source->def.velocity = def->velocity;
    source->def.region_velocity = def->region_velocity;
    source->def.travel = def->travel;
    source->moved = time;
    source->def.angular_velocity = def->angular_velocity;
    source->def.stiffness_noise = def->stiffness_noise;
    source->def.density_noise = def->density_noise;
    source->def.strength_noise = def->strength_noise;
}
