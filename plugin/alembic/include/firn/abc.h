/// Reading Alembic archives (Ogawa): animated meshes, particles, transforms and any property.
///
/// Opening an archive reads its table of contents only; sample values are read when asked for. An
/// open archive never changes, so threads may share it. Objects and properties are numbered depth
/// first; object 0 is the root "/", and the properties of an object follow one another:
///
///     firn_abc *archive = NULL;
///     FIRN_TRY(firn_abc_open("actor.abc", &archive, error));
///     firn_abc_mesh mesh;
///     firn_result result = firn_abc_read_world_mesh(archive, "/actor/*", 0.5, &mesh, error);
///     if (result == FIRN_OK)
///         collide_with(mesh.position, mesh.velocity, mesh.vertex_count);
///     firn_abc_mesh_free(&mesh);
///     firn_abc_close(archive);
///
/// Times are seconds. A damaged file is FIRN_ERR_FORMAT with a sentence that names the object.
#ifndef FIRN_ABC_H
#define FIRN_ABC_H

#include "firn/base.h"
#include "firn/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_abc firn_abc;

/// The type of one number of a value; the codes are those of the file.
typedef enum firn_abc_pod {
    FIRN_ABC_POD_BOOL = 0,
    FIRN_ABC_POD_UINT8 = 1,
    FIRN_ABC_POD_INT8 = 2,
    FIRN_ABC_POD_UINT16 = 3,
    FIRN_ABC_POD_INT16 = 4,
    FIRN_ABC_POD_UINT32 = 5,
    FIRN_ABC_POD_INT32 = 6,
    FIRN_ABC_POD_UINT64 = 7,
    FIRN_ABC_POD_INT64 = 8,
    FIRN_ABC_POD_FLOAT16 = 9,
    FIRN_ABC_POD_FLOAT32 = 10,
    FIRN_ABC_POD_FLOAT64 = 11,
    FIRN_ABC_POD_STRING = 12,
    FIRN_ABC_POD_WSTRING = 13,
    FIRN_ABC_POD_COUNT = 14,
} firn_abc_pod;

/// The name that archives use, such as "float32_t".
FIRN_API const char *firn_abc_pod_name(firn_abc_pod pod);

/// Bytes of one number; of one character for strings.
FIRN_API size_t firn_abc_pod_size(firn_abc_pod pod);

// --- The archive ---------------------------------------------------------------------------------

/// Opens a file and reads its table of contents. Close the archive with firn_abc_close.
FIRN_API firn_result firn_abc_open(const char *path, firn_abc **archive, firn_error *error);

/// Opens several files as layers of one archive: objects and properties of later files stand over
/// those of the same path in earlier ones, and further ones are added. The metadata prune=1 takes
/// an object or property away, replace=1 forgets what the layers before have below it.
FIRN_API firn_result firn_abc_open_layers(const char *const *paths, int count, firn_abc **archive,
                                          firn_error *error);

/// The same as firn_abc_open for bytes in memory, which must outlive the archive; name serves the
/// messages.
FIRN_API firn_result firn_abc_open_memory(const void *bytes, size_t size, const char *name,
                                          firn_abc **archive, firn_error *error);

/// Accepts NULL.
FIRN_API void firn_abc_close(firn_abc *archive);

/// "key=value;..." of the whole archive: application, description, frame rate.
FIRN_API const char *firn_abc_metadata(const firn_abc *archive);

/// The library that wrote it: major * 10000 + minor * 100 + patch.
FIRN_API int firn_abc_library_version(const firn_abc *archive);

/// Copies the value of a key of a metadata string; false, and an empty value, when it is absent.
FIRN_API bool firn_abc_metadata_value(const char *metadata, const char *key, char *value,
                                      size_t size);

// --- Time ----------------------------------------------------------------------------------------

typedef enum firn_abc_time_kind {
    FIRN_ABC_TIME_UNIFORM, // start and step
    FIRN_ABC_TIME_CYCLIC,  // a few times that repeat
    FIRN_ABC_TIME_ACYCLIC, // a time for each sample
} firn_abc_time_kind;

typedef struct firn_abc_time_sampling {
    firn_abc_time_kind kind;
    double time_per_cycle; // s
    uint32_t max_samples;  // the most samples of a property that uses it, as the writer says
    uint32_t time_count;   // at least 1
    const double *times;   // s, increasing
} firn_abc_time_sampling;

FIRN_API int firn_abc_time_sampling_count(const firn_abc *archive);
FIRN_API const firn_abc_time_sampling *firn_abc_time_sampling_at(const firn_abc *archive,
                                                                 int index);

/// When sample `index` of a property with this sampling is taken (s).
FIRN_API double firn_abc_sample_time(const firn_abc_time_sampling *sampling, uint32_t index);

/// The last of `count` samples that is not after time; the first when all are after it. A sample
/// less than 10 microseconds ahead counts as reached.
FIRN_API uint32_t firn_abc_sample_before(const firn_abc_time_sampling *sampling, uint32_t count,
                                         double time);

// --- Objects -------------------------------------------------------------------------------------

typedef enum firn_abc_kind {
    FIRN_ABC_KIND_GROUP, // without a schema, such as the root
    FIRN_ABC_KIND_XFORM,
    FIRN_ABC_KIND_POLYMESH,
    FIRN_ABC_KIND_SUBD, // a subdivision surface, of which the cage is read as a mesh
    FIRN_ABC_KIND_POINTS,
    FIRN_ABC_KIND_FACESET, // some faces of the mesh above it
    FIRN_ABC_KIND_CAMERA,
    FIRN_ABC_KIND_OTHER, // a schema that is not handled: curves, lights, patches
} firn_abc_kind;

typedef struct firn_abc_object {
    const char *path; // "/actor/body"
    const char *name; // "body"
    const char *metadata;
    firn_abc_kind kind;
    int parent;         // -1 for the root
    int depth;          // 0 for the root
    int child_count;    // direct children
    int first_property; // the properties of an object have consecutive numbers
    int property_count;
} firn_abc_object;

FIRN_API int firn_abc_object_count(const firn_abc *archive);
FIRN_API const firn_abc_object *firn_abc_object_at(const firn_abc *archive, int object);

/// The object with this path, or -1.
FIRN_API int firn_abc_object_find(const firn_abc *archive, const char *path);

/// True when the pattern selects the object: it matches its path or that of a parent. `*` stands
/// for any characters but '/', `**` for any, `?` for one. A pattern without '/' is compared with
/// names: "body*" selects every body and what is below. Several patterns stand in a list with
/// blanks between them, and one that begins with ^ excludes: "body* ^*_eye". NULL and "" select
/// everything.
FIRN_API bool firn_abc_object_matches(const firn_abc *archive, int object, const char *pattern);

// --- Properties ----------------------------------------------------------------------------------

typedef enum firn_abc_property_kind {
    FIRN_ABC_PROPERTY_COMPOUND, // holds properties
    FIRN_ABC_PROPERTY_SCALAR,   // one value per sample
    FIRN_ABC_PROPERTY_ARRAY,    // any number of values per sample
} firn_abc_property_kind;

typedef struct firn_abc_property {
    const char *path; // below its object: ".geom/P"
    const char *name; // "P"
    const char *metadata;
    firn_abc_property_kind kind;
    int object;
    int parent; // the compound that holds it, -1 at the top
    // The rest is zero for compounds.
    firn_abc_pod pod;
    int extent;        // numbers per value, 3 for a vector
    int time_sampling; // index of a firn_abc_time_sampling
    uint32_t sample_count;
    bool constant;    // every sample is the same
    bool scalar_like; // an array whose samples have one value each
} firn_abc_property;

FIRN_API int firn_abc_property_count(const firn_abc *archive);
FIRN_API const firn_abc_property *firn_abc_property_at(const firn_abc *archive, int property);

/// The property of an object with this path, such as ".geom/P", or -1.
FIRN_API int firn_abc_property_find(const firn_abc *archive, int object, const char *path);

/// The values of a sample. Numbers lie as in C arrays, extent per value. Strings lie one after the
/// other, each with its terminating zero (wide ones as 32-bit characters).
typedef struct firn_abc_array {
    firn_abc_pod pod;
    int extent;
    size_t count; // values
    size_t bytes;
    void *values;
    uint8_t key[16]; // the writer's digest of the bytes; zeros when there are none
} firn_abc_array;

/// Reads a sample of a scalar or array property. An index past the end reads the last sample; a
/// property without samples gives no values. Free the array with firn_abc_array_free.
FIRN_API firn_result firn_abc_read(const firn_abc *archive, int property, uint32_t index,
                                   firn_abc_array *array, firn_error *error);

/// The same for a geometry parameter, which may be an indexed compound: its values are looked up,
/// so that there is one value per point, face or corner.
FIRN_API firn_result firn_abc_read_param(const firn_abc *archive, int property, uint32_t index,
                                         firn_abc_array *array, firn_error *error);

/// True for a property that firn_abc_read_param reads from two arrays, `.vals` and `.indices`.
FIRN_API bool firn_abc_is_indexed_param(const firn_abc *archive, int property);

/// Leaves an empty array behind.
FIRN_API void firn_abc_array_free(firn_abc_array *array);

// --- Transforms ----------------------------------------------------------------------------------

/// For row vectors, row by row: world = (x, y, z, 1) * matrix; the translation is in m[12..14].
typedef struct firn_abc_matrix {
    double m[16];
} firn_abc_matrix;

/// The matrix of an object's space to the world, and its change per second when rate is not NULL.
/// Between samples the channels of transforms are interpolated, rotations as rotations.
FIRN_API firn_result firn_abc_world_matrix(const firn_abc *archive, int object, double time,
                                           firn_abc_matrix *matrix, firn_abc_matrix *rate,
                                           firn_error *error);

// --- Meshes --------------------------------------------------------------------------------------

typedef struct firn_abc_cage firn_abc_cage;

typedef struct firn_abc_mesh {
    size_t vertex_count;
    firn_vec3 *position;
    firn_vec3 *velocity;  // per second
    bool velocity_stored; // velocities are those of the archive, at least of one of its meshes
    size_t face_count;
    int32_t *face_size; // corners of each face
    size_t corner_count;
    int32_t *corner;      // vertex of each corner, face after face
    size_t cage_count;    // of a world mesh: those of its parts that are subdivision surfaces
    firn_abc_cage *cages; // firn/abc_scene.h
} firn_abc_mesh;

/// A mesh in its own space. Corners come in the stored order, clockwise seen from outside, so
/// that face-varying parameters fit. Between samples of one topology positions are interpolated;
/// where the topology changes the sample before time moves on by its velocities. Velocities are the
/// stored ones or else differences of neighboring samples.
FIRN_API firn_result firn_abc_read_mesh(const firn_abc *archive, int object, double time,
                                        firn_abc_mesh *mesh, firn_error *error);

/// Every mesh that the pattern selects, as one mesh in world space. Corners run
/// counter-clockwise seen from outside; velocities include the motion of the transforms. Instances
/// bring the meshes of what they stand for, also inside of one another, and are selected by their
/// own paths. A pattern that selects face sets and not their mesh brings their faces alone; one
/// that excludes a face set leaves them out. What is hidden at the time takes no part: the mesh may
/// be empty.
/// FIRN_ERR_NOT_FOUND when the pattern selects no mesh.
FIRN_API firn_result firn_abc_read_world_mesh(const firn_abc *archive, const char *pattern,
                                              double time, firn_abc_mesh *mesh, firn_error *error);

/// Leaves an empty mesh behind.
FIRN_API void firn_abc_mesh_free(firn_abc_mesh *mesh);

// --- Particles -----------------------------------------------------------------------------------

/// A geometry parameter at a time.
typedef struct firn_abc_attribute {
    const char *name;  // valid as long as the archive
    const char *scope; // "con", "uni", "var", "vtx" or "fvr"
    firn_abc_array array;
} firn_abc_attribute;

typedef struct firn_abc_points {
    size_t count;
    firn_vec3 *position;
    firn_vec3 *velocity; // per second; zero where the archive has none
    uint64_t *id;        // NULL when the archive has none at this time
    float *width;        // diameter; NULL when the archive has none at this time
    int attribute_count;
    firn_abc_attribute *attributes; // those of `.arbGeomParams`, as stored
} firn_abc_points;

/// A Points object in world space. Between samples with the same ids everything is interpolated;
/// otherwise the particles of the sample before time move on by their velocities.
FIRN_API firn_result firn_abc_read_points(const firn_abc *archive, int object, double time,
                                          firn_abc_points *points, firn_error *error);

/// Leaves no points behind.
FIRN_API void firn_abc_points_free(firn_abc_points *points);

#ifdef __cplusplus
}
#endif

#endif
