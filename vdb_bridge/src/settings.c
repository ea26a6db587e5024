#include "settings.h"

#include "firn/defs.h"

// clang-format off
// Rows that several tables have; ROW is that of the table where they stand.
#define THREAD_ROW {ROW(thread_count), FIRN_INT, {0}, 0.0, 1024.0, "", \
     "Processor cores to use; 0 uses every one", .label = "Threads"}
#define VOXEL_ROW {ROW(voxel_size), FIRN_FLOAT, {0.02}, 1e-6, 1e6, "m", "Edge of a voxel"}
#define FRAME_ROWS \
    {ROW(frame), FIRN_INT, {1}, -1e9, 1e9, "", "Frame number noted in the file"}, \
    {ROW(fps), FIRN_FLOAT, {24.0}, 1e-3, 1e6, "1/s", "Frames per second noted in the file", \
     .label = "Frames per second"}

#define ROW(field) FIRN_PARAM(firn_vdb_reader_def, field)
static const firn_param reader_params[] = {
    {ROW(memory_limit), FIRN_DOUBLE, {FIRN_VDB_MEMORY_LIMIT}, 0.0, 1e9, "MB",
     "Most memory that reading a file of unknown origin may take; 0 sets no limit"},
    {ROW(timeout), FIRN_FLOAT, {60.0}, 0.01, 86400.0, "s",
     "Longest time that reading a file of unknown origin may take"},
};
#undef ROW

#define ROW(field) FIRN_PARAM(firn_vdb_shape_def, field)
static const firn_param shape_params[] = {
    {ROW(region), FIRN_CHOICE, {FIRN_VDB_REGION_LEVEL_SET}, 0.0, 2.0, "",
     "What describes the region: signed distance, fog denser than a threshold, or what there is",
     .choices = "level_set|fog|any"},
    {ROW(velocity), FIRN_BOOL, {1}, 0.0, 1.0, "", "Also read the velocity of the surface"},
    {ROW(threshold), FIRN_FLOAT, {0.5}, -1e9, 1e9, "",
     "Fog that is denser than this is inside", .visible_when = "region==fog"},
    {ROW(half_width), FIRN_FLOAT, {3.0}, 1.5, 100.0, "voxels",
     "Width of the band around the surface of a fog volume", .visible_when = "region==fog"},
};
#undef ROW

#define ROW(field) FIRN_PARAM(firn_vdb_sequence_def, field)
static const firn_param sequence_params[] = {
    {ROW(first), FIRN_INT, {1}, -1e9, 1e9, "", "First frame that has a file",
     .label = "First frame"},
    {ROW(last), FIRN_INT, {1}, -1e9, 1e9, "", "Last frame that has a file", .label = "Last frame"},
    {ROW(offset), FIRN_INT, {0}, -1e9, 1e9, "", "Added to the frame to get the number of its file"},
    {ROW(missing), FIRN_CHOICE, {FIRN_VDB_MISSING_ERROR}, 0.0, 2.0, "",
     "What to do about files that are missing or damaged", .choices = "error|hold|interpolate"},
    {ROW(look_ahead), FIRN_INT, {1}, 0.0, 16.0, "",
     "Files to read while the solver still works on the frames before them"},
};
#undef ROW

#define ROW(field) FIRN_PARAM(firn_vdb_write_def, field)
static const firn_param write_params[] = {
    {ROW(half), FIRN_BOOL, {1}, 0.0, 1.0, "",
     "16 bits for a value: half the size, 0.05 % rounding", .label = "Half float"},
    {ROW(compression), FIRN_CHOICE, {FIRN_VDB_BLOSC}, 0.0, 2.0, "",
     "Blosc is fast; zip is slower and understood by every reader; none is largest",
     .choices = "blosc|zip|none"},
    {ROW(density), FIRN_CHOICE, {FIRN_VDB_DENSITY_RELATIVE}, 0.0, 1.0, "",
     "Unit of the density grid: relative to the reference density, or kg/m^3",
     .choices = "relative|kg_m3", .label = "Density unit"},
    {ROW(reference_density), FIRN_FLOAT, {400.0}, 1e-3, 1e6, "kg/m^3",
     "Density of packed snow, which a relative density of 1 means"},
    {ROW(extinction), FIRN_FLOAT, {724.0}, 0.0, 1e9, "1/m",
     "Extinction of light at the reference density, for shaders"},
    {ROW(albedo), FIRN_VEC3, {0.9, 0.95, 1.0}, 0.0, 1.0, "",
     "Part of the extinction that is scattered, for shaders"},
    {ROW(anisotropy), FIRN_FLOAT, {0.5}, -1.0, 1.0, "",
     "Mean cosine of the scattering angle, for shaders"},
    FRAME_ROWS,
    THREAD_ROW,
    {ROW(powder_extinction), FIRN_FLOAT, {724.0}, 0.0, 1e9, "1/m",
     "Extinction of the layer powder at the reference density, for shaders", .added = true},
};
#undef ROW

#define ROW(field) FIRN_PARAM(firn_vdb_points_def, field)
static const firn_param points_params[] = {
    {ROW(quantize), FIRN_BOOL, {1}, 0.0, 1.0, "",
     "Positions with 16 bits, exact to 1/65536 of the voxel size", .label = "Quantize positions"},
    {ROW(half), FIRN_BOOL, {0}, 0.0, 1.0, "", "Attributes with 16 bits", .label = "Half float"},
    {ROW(voxel_size), FIRN_FLOAT, {0.0}, 0.0, 1e6, "m",
     "Voxels of the tree that holds the points; 0 puts about eight points into one"},
    {ROW(compression), FIRN_CHOICE, {FIRN_VDB_BLOSC}, 0.0, 2.0, "", "Compression of the file",
     .choices = "blosc|zip|none"},
    FRAME_ROWS,
    THREAD_ROW,
};
#undef ROW

#define ROW(field) FIRN_PARAM(firn_vdb_mesh_def, field)
static const firn_param mesh_params[] = {
    VOXEL_ROW,
    {ROW(half_width), FIRN_FLOAT, {3.0}, 1.5, 100.0, "voxels",
     "Width of the band of exact distances on either side of the surface"},
    {ROW(solid), FIRN_CHOICE, {FIRN_VDB_SOLID_AUTO}, 0.0, 2.0, "",
     "Fill what the surface encloses, make a shell around it, or both when it is open",
     .choices = "auto|fill|shell"},
    {ROW(shell_thickness), FIRN_FLOAT, {0.0}, 0.0, 1e6, "m",
     "Thickness of the shell around an open surface; 0 makes it two voxels"},
    {ROW(memory_limit), FIRN_DOUBLE, {FIRN_VDB_MEMORY_LIMIT}, 0.0, 1e9, "MB",
     "Most memory that the voxels may take; 0 sets no limit"},
    THREAD_ROW,
};
#undef ROW

#define ROW(field) FIRN_PARAM(firn_vdb_skin_def, field)
static const firn_param skin_params[] = {
    VOXEL_ROW,
    {ROW(half_width), FIRN_FLOAT, {3.0}, 1.5, 100.0, "voxels",
     "Width of the band on either side of the surface"},
    {ROW(radius), FIRN_FLOAT, {0.02}, 1e-6, 1e6, "m",
     "Radius of a particle; below 1.5 voxels it counts as 1.5 voxels"},
    {ROW(smoothing), FIRN_INT, {2}, 0.0, 100.0, "", "Passes of smoothing"},
    THREAD_ROW,
};
#undef ROW
// clang-format on

firn_param_table firn_vdb_reader_params(void)
{
    firn_param_table table = {reader_params, FIRN_COUNT(reader_params)};
    return table;
}

void firn_vdb_reader_def_reset(firn_vdb_reader_def *def, size_t size)
{
    firn_vdb_reader_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_vdb_reader_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_vdb_reader_def_check(const firn_vdb_reader_def *def, firn_error *error)
{
    return firn_def_check(def->cookie, sizeof *def, firn_vdb_reader_params(), def, "vdb reader",
                          error);
}

firn_param_table firn_vdb_shape_params(void)
{
    firn_param_table table = {shape_params, FIRN_COUNT(shape_params)};
    return table;
}

void firn_vdb_shape_def_reset(firn_vdb_shape_def *def, size_t size)
{
    firn_vdb_shape_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_vdb_shape_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_vdb_shape_def_check(const firn_vdb_shape_def *def, firn_error *error)
{
    return firn_def_check(def->cookie, sizeof *def, firn_vdb_shape_params(), def, "vdb shape",
                          error);
}

firn_param_table firn_vdb_sequence_params(void)
{
    firn_param_table table = {sequence_params, FIRN_COUNT(sequence_params)};
    return table;
}

void firn_vdb_sequence_def_reset(firn_vdb_sequence_def *def, size_t size)
{
    firn_vdb_sequence_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_vdb_sequence_params(), &full);
    full.reader = firn_vdb_reader_def_default();
    full.shape = firn_vdb_shape_def_default();
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_vdb_sequence_def_check(const firn_vdb_sequence_def *def, firn_error *error)
{
    FIRN_TRY(firn_def_check(def->cookie, sizeof *def, firn_vdb_sequence_params(), def,
                            "vdb sequence", error));
    FIRN_TRY(firn_vdb_reader_def_check(&def->reader, error));
    FIRN_TRY(firn_vdb_shape_def_check(&def->shape, error));
    if (def->pattern == NULL || def->pattern[0] == '\0')
        return firn_fail(error, FIRN_ERR_ARGUMENT, "a vdb sequence needs a file pattern");
    if (def->first > def->last)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the vdb sequence '%.200s' starts at frame %d, after its last frame %d",
                         def->pattern, def->first, def->last);
    return FIRN_OK;
}

firn_param_table firn_vdb_write_params(void)
{
    firn_param_table table = {write_params, FIRN_COUNT(write_params)};
    return table;
}

void firn_vdb_write_def_reset(firn_vdb_write_def *def, size_t size)
{
    firn_vdb_write_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_vdb_write_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_vdb_write_def_check(const firn_vdb_write_def *def, firn_error *error)
{
    return firn_def_check(def->cookie, sizeof *def, firn_vdb_write_params(), def, "vdb write",
                          error);
}

firn_param_table firn_vdb_points_params(void)
{
    firn_param_table table = {points_params, FIRN_COUNT(points_params)};
    return table;
}

void firn_vdb_points_def_reset(firn_vdb_points_def *def, size_t size)
{
    firn_vdb_points_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_vdb_points_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_vdb_points_def_check(const firn_vdb_points_def *def, firn_error *error)
{
    return firn_def_check(def->cookie, sizeof *def, firn_vdb_points_params(), def, "vdb points",
                          error);
}

firn_param_table firn_vdb_mesh_params(void)
{
    firn_param_table table = {mesh_params, FIRN_COUNT(mesh_params)};
    return table;
}

void firn_vdb_mesh_def_reset(firn_vdb_mesh_def *def, size_t size)
{
    firn_vdb_mesh_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_vdb_mesh_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_vdb_mesh_def_check(const firn_vdb_mesh_def *def, firn_error *error)
{
    return firn_def_check(def->cookie, sizeof *def, firn_vdb_mesh_params(), def, "mesh to vdb",
                          error);
}

firn_param_table firn_vdb_skin_params(void)
{
    firn_param_table table = {skin_params, FIRN_COUNT(skin_params)};
    return table;
}

void firn_vdb_skin_def_reset(firn_vdb_skin_def *def, size_t size)
{
    firn_vdb_skin_def full = {.cookie = firn_def_cookie(size)};
    firn_params_reset(firn_vdb_skin_params(), &full);
    firn_def_copy(def, size, &full, sizeof full);
}

firn_result firn_vdb_skin_def_check(const firn_vdb_skin_def *def, firn_error *error)
{
    return firn_def_check(def->cookie, sizeof *def, firn_vdb_skin_params(), def, "vdb surface",
                          error);
}
