/// Writing OpenVDB files for renderers: density, velocity, compaction and a surface in one file.
///
///     firn_vdb_write_def def = firn_vdb_write_def_default();
///     def.frame = 7;
///     firn_field_view view = firn_field_read(field);
///     firn_vdb_content content = {0};
///     content.field = &view;
///     FIRN_TRY(firn_vdb_write("ball.0007.vdb", &def, &content, &stamp, error));
///
/// The file appears under its name when it is whole, checked and on disk; until then, and after
/// any failure, what stood there before is untouched.
#ifndef FIRN_VDB_WRITE_H
#define FIRN_VDB_WRITE_H

#include "firn/vdb.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum firn_vdb_compression {
    FIRN_VDB_BLOSC, // fast, and the only one whose readers notice damage
    FIRN_VDB_ZIP,   // four to five times slower to write, hardly smaller
    FIRN_VDB_NONE,
} firn_vdb_compression;

typedef enum firn_vdb_density {
    FIRN_VDB_DENSITY_RELATIVE, // 1 is the reference density
    FIRN_VDB_DENSITY_KG_M3,
} firn_vdb_density;

typedef struct firn_vdb_write_def {
    uint32_t cookie;
    bool half;               // 16 bits for a value: 5e-4 relative error, half the size
    int compression;         // firn_vdb_compression
    int density;             // firn_vdb_density: the unit of the grid `density`
    float reference_density; // kg/m^3, of packed snow
    float extinction;        // 1/m at the reference density
    firn_vec3 albedo;        // red, green, blue
    float anisotropy;        // mean cosine g of the scattering angle
    int frame;
    float fps;               // frames/s
    int thread_count;        // 0 uses every core
    float powder_extinction; // 1/m at the reference density, of the layer `powder`
} firn_vdb_write_def;

FIRN_API void firn_vdb_write_def_reset(firn_vdb_write_def *def, size_t size);
FIRN_API firn_param_table firn_vdb_write_params(void);

static inline firn_vdb_write_def firn_vdb_write_def_default(void)
{
    firn_vdb_write_def def;
    firn_vdb_write_def_reset(&def, sizeof def);
    return def;
}

/// What goes into one file; leave out what there is none of.
typedef struct firn_vdb_content {
    const firn_field_view *field;  // grids `density`, and `vel`, `compaction`, ... as it has them
    const firn_level_set *surface; // grid `surface`
    const firn_velocity_grid *velocity; // grid `vel` of the surface, when the field has none
    size_t meta_count;
    const firn_vdb_meta *meta; // more metadata of the file; types "string", "int32", "float"
} firn_vdb_content;

/// Writes one file. stamp, if not NULL, receives what is needed to trust the file later.
FIRN_API firn_result firn_vdb_write(const char *path, const firn_vdb_write_def *def,
                                    const firn_vdb_content *content, firn_vdb_stamp *stamp,
                                    firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
