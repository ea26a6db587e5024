/// USD: particles as crate layers (.usdc) of one frame each, and a stage (.usda) that joins them
/// and the volumes of a cache. docs/usd.md describes what the files hold.
///
///     firn_usd_points_def def = {.prim = "/snow/particles", .frame = 7};
///     FIRN_TRY(firn_usd_write_points("points.0007.usdc", &points, &def, error));
#ifndef FIRN_USD_H
#define FIRN_USD_H

#include "firn/points.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Where particles stand in a stage.
typedef struct firn_usd_points_def {
    const char *prim; // path of the Points prim, "/snow/particles"
    double frame;     // time code
} firn_usd_points_def;

/// Writes a layer with the particles of one frame, the value clip of a stage: points, velocities
/// (m/s), widths (diameters, m), ids, extent, and every other column as a primvar. The same
/// particles give the same bytes.
FIRN_API firn_result firn_usd_write_points(const char *path, const firn_points *points,
                                           const firn_usd_points_def *def, firn_error *error);

/// The name and type of a column in a layer, "primvars:Jp" and "float[]"; false: it is left out.
FIRN_API bool firn_usd_attribute(const firn_attribute *column, char *name, size_t size,
                                 const char **type);

// --- Reading -------------------------------------------------------------------------------------

typedef struct firn_usd_layer firn_usd_layer;

/// An attribute of a layer: its last value. Arrays are of float, int, int64 or three floats.
typedef struct firn_usd_value {
    const char *path;     // "/snow/particles.points"
    const char *type;     // "point3f[]"
    firn_storage storage; // of one component
    int tuple_size;
    size_t count;
    const void *data;
    double time; // of the sample; 0 for a value without time
} firn_usd_value;

/// Reads a crate layer that may come from anywhere: versions 0.4 to 0.13, arrays that are not
/// compressed. What it holds besides is passed over.
FIRN_API firn_result firn_usd_open(const char *path, firn_usd_layer **layer, firn_error *error);

/// The attributes with arrays, in the order of the file; NULL past the last.
FIRN_API const firn_usd_value *firn_usd_look(const firn_usd_layer *layer, size_t index);
FIRN_API const firn_usd_value *firn_usd_find(const firn_usd_layer *layer, const char *path);

FIRN_API void firn_usd_close(firn_usd_layer *layer); // accepts NULL

#ifdef __cplusplus
}
#endif

#endif
