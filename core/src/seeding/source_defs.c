#include "firn/defs.h"
#include "seed_volume.h"
#include "seeding.h"

#include <math.h>
#include <string.h>

#define ROW(field) FIRN_PARAM(firn_source_def, field)
#define REGIONS "sphere|box|level_set|points"

// clang-format off
static const firn_param source_params[] = {
    // name, offset, type, default, min, max, unit, help, choices, label, visible_when
    {ROW(region), FIRN_CHOICE, {FIRN_REGION_SPHERE}, 0, 3, "",
     "What the snow fills", REGIONS, NULL, NULL},
    {ROW(center), FIRN_VEC3, {0, 0, 0}, -1e6, 1e6, "m", "Center of the region and of the spin"},
    {ROW(radius), FIRN_FLOAT, {0.25}, 1e-5, 1e5, "m",
     "Radius of the sphere", NULL, NULL, "region==sphere"},
    {ROW(half_size), FIRN_VEC3, {0.25, 0.25, 0.25}, 1e-5, 1e5, "m",
     "Half of the box's edges", NULL, NULL, "region==box"},
    {ROW(particles_per_cell), FIRN_FLOAT, {8}, 0.125, 512, "",
     "Particles in a grid cell of fresh snow"},
    {ROW(jitter), FIRN_FLOAT, {0.5}, 0, 1, "",
     "Random share of the spacing by which particles leave the exact lattice"},
    {ROW(seed), FIRN_INT, {0}, 0, 2147483647, "",
     "Chooses among random variants of jitter and noise"},
    {ROW(velocity), FIRN_VEC3, {0, 0, 0}, -1e4, 1e4, "m/s",
     "Initial velocity, and direction of continuous emission"},
    {ROW(inherit_velocity), FIRN_FLOAT, {0}, -100, 100, "",
     "Share of the velocity of the mesh or volume it is made from that the snow gets in addition",
     .added = true},
    {ROW(angular_velocity), FIRN_VEC3, {0, 0, 0}, -1e4, 1e4, "rad/s",
     "Initial spin about the center"},
    {ROW(start), FIRN_DOUBLE, {0}, 0, 1e6, "s", "Simulated time at which the region is filled"},
    {ROW(end), FIRN_DOUBLE, {0}, 0, 1e6, "s",
     "Emission goes on until here; not after start: fill only once"},
    {ROW(stiffness_noise), FIRN_FLOAT, {0}, 0, 1, "",
     "Amplitude of lumps in the stiffness, relative"},
    {ROW(density_noise), FIRN_FLOAT, {0}, 0, 1, "", "Amplitude of lumps in the density, relative"},
    {ROW(noise_scale), FIRN_FLOAT, {0.1}, 1e-4, 1e4, "m", "Size of the lumps"},
    {ROW(shell_thickness), FIRN_FLOAT, {0}, 0, 1e3, "m",
     "Depth of a layer under the whole surface; 0: none"},
    {ROW(shell_stiffness), FIRN_FLOAT, {1}, 0.01, 100, "", "Factor on the stiffness in the shell"},
    {ROW(shell_density), FIRN_FLOAT, {1}, 0.01, 100, "", "Factor on the density in the shell"},
    {ROW(crust_depth), FIRN_FLOAT, {0}, 0, 1e3, "m",
     "Depth of a layer on the side of the sky; 0: none"},
    {ROW(crust_stiffness), FIRN_FLOAT, {1}, 0.01, 100, "", "Factor on the stiffness in the crust"},
    {ROW(crust_density), FIRN_FLOAT, {1}, 0.01, 100, "", "Factor on the density in the crust"},
    {ROW(chunk_size), FIRN_FLOAT, {0}, 0, 1e4, "m",
     "Size of the chunks that the snow is made of. They are bound by thin sheets that tear early, "
     "so that a blow leaves chunks with fine snow between them; four cells or more, 0: it breaks "
     "anywhere"},
    {ROW(chunk_bond), FIRN_FLOAT, {0.04}, 1e-3, 1, "",
     "Factor on the critical stretch in the sheets between chunks. Lower comes apart at a touch, 1 "
     "holds like the chunks themselves"},
    {ROW(strength_noise), FIRN_FLOAT, {0}, 0, 4, "",
     "Amplitude of lumps of noise_scale and of a half, quarter and eighth of it, in the logarithm "
     "of the stiffness; of porous snow, of its cohesion: strong lumps survive where weak snow "
     "between them breaks. 1.4 for a snowball", .added = true},
    {ROW(snowfall), FIRN_FLOAT, {0}, 0, 100, "m/s",
     "Depth of snow that comes down in a second where it falls with its velocity: particles are "
     "that far apart, each as large as in a body of snow; 0: a body of snow", .added = true},
    {ROW(size_spread), FIRN_FLOAT, {0}, 0, 0.9, "",
     "Share by which the mass and volume of single flakes vary, with snowfall", .added = true},
    {ROW(density_spread), FIRN_FLOAT, {0}, 0, 0.9, "",
     "Share by which the density of single flakes varies, with snowfall", .added = true},
    {ROW(loose), FIRN_BOOL, {0}, 0, 1, "",
     "The snow begins as loose flakes: no hold on each other, and as soft as their distance says, "
     "until they have packed to nine tenths of the density of their material and become snow like "
     "any other. For snow that falls or is poured; models snow and porous", .added = true},
};
// clang-format on

firn_param_table firn_source_params(void)
{
    firn_param_table table = {source_params, FIRN_COUNT(source_params)};
    return table;
}

void firn_source_def_reset(firn_source_def *def, size_t size)
{
    firn_source_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_source_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_source_def firn_source_def_sphere(firn_vec3 center, float radius)
{
    firn_source_def def = firn_source_def_default();
    def.region = FIRN_REGION_SPHERE;
    def.center = center;
    def.radius = radius;
    return def;
}

firn_source_def firn_source_def_box(firn_vec3 center, firn_vec3 half_size)
{
    firn_source_def def = firn_source_def_default();
    def.region = FIRN_REGION_BOX;
    def.center = center;
    def.half_size = half_size;
    return def;
}

firn_source_def firn_source_def_level_set(const firn_level_set *level_set)
{
    firn_source_def def = firn_source_def_default();
    def.region = FIRN_REGION_LEVEL_SET;
    def.level_set = level_set;
    return def;
}

firn_source_def firn_source_def_points(const firn_vec3 *points, size_t count)
{
    firn_source_def def = firn_source_def_default();
    def.region = FIRN_REGION_POINTS;
    def.points = points;
    def.point_count = count;
    return def;
}

static firn_result check_points(const firn_source_def *def, firn_error *error)
{
    if (def->points == NULL || def->point_count == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the source has a list of points without points");
    if (def->point_count > FIRN_SEED_LIMIT)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the source has %zu points; at most %u particles can be made",
                         def->point_count, FIRN_SEED_LIMIT);
    for (size_t i = 0; i < def->point_count; i++)
        if (!firn_vec_is_finite(def->points[i]))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "point %zu of the source has a position that is not finite", i);
    return FIRN_OK;
}

firn_result firn_source_check(const firn_source_def *def, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_source_params(), def, "source", error));
    if (!firn_vec_is_finite(def->travel) || !firn_vec_is_finite(def->region_velocity))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the region of the source moves to a place that is not finite");
    if (def->flow != NULL && !(def->flow->spacing > 0.0f && def->flow->size[0] > 0 &&
                               def->flow->size[1] > 0 && def->flow->size[2] > 0))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the flow of the source has no spacing or no values");
    if (def->region == FIRN_REGION_POINTS)
        FIRN_TRY(check_points(def, error));
    if (def->region != FIRN_REGION_LEVEL_SET)
        return FIRN_OK;
    if (def->level_set == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the source has a level set that is not there");
    if (def->shell_thickness > def->level_set->background)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a shell of %g m is thicker than the band of the level set, %g m; make "
                         "the level set with a wider band",
                         (double)def->shell_thickness, (double)def->level_set->background);
    return FIRN_OK;
}

static firn_result copy_points(firn_source *source, const firn_source_def *def, firn_error *error)
{
    const size_t bytes = def->point_count * sizeof *def->points;
    firn_vec3 *points = firn_alloc(bytes);
    if (points == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY,
                         "out of memory: cannot copy %.1f MB of source points",
                         1e-6 * (double)bytes);
    memcpy(points, def->points, bytes);
    source->def.points = points;
    return FIRN_OK;
}

firn_result firn_source_open(firn_source *source, const firn_source_def *def,
                             const firn_channel_set *channels, double time, firn_error *error)
{
    FIRN_TRY(firn_source_check(def, error));
    source->def = *def;
    source->def.points = NULL;
    source->started = false;
    source->begun = source->emitted = source->moved = time;
    memset(source->shift, 0, sizeof source->shift);
    source->volume = NULL;
    firn_result result = firn_seed_values_open(source, def, channels, error);
    if (result == FIRN_OK && def->region == FIRN_REGION_LEVEL_SET)
        result = firn_seed_volume_create(def->level_set, &source->volume, error);
    if (result == FIRN_OK && def->region == FIRN_REGION_POINTS)
        result = copy_points(source, def, error);
    if (result != FIRN_OK)
        firn_source_close(source);
    return result;
}

void firn_source_close(firn_source *source)
{
    firn_seed_volume_destroy(source->volume);
    source->volume = NULL;
    firn_seed_values_close(source);
    if (source->def.region == FIRN_REGION_POINTS)
        firn_free((void *)source->def.points);
    source->def.points = NULL;
}
