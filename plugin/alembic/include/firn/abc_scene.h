/// What else an archive holds: the cages of subdivision surfaces, cameras, an overview.
#ifndef FIRN_ABC_SCENE_H
#define FIRN_ABC_SCENE_H

#include "firn/abc.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Subdivision surfaces ------------------------------------------------------------------------

typedef enum firn_abc_scheme {
    FIRN_ABC_SCHEME_CATMULL_CLARK,
    FIRN_ABC_SCHEME_LOOP,
    FIRN_ABC_SCHEME_BILINEAR,
} firn_abc_scheme;

/// Which part of a world mesh is the cage of a subdivision surface, and the rules of that. Vertices
/// and faces are counted from the first of the part.
struct firn_abc_cage {
    int object;
    size_t first_vertex, vertex_count;
    size_t first_face, face_count;
    size_t first_corner, corner_count;
    firn_abc_scheme scheme;
    int boundary; // 0 none, 1 edges and corners, 2 edges only
    size_t crease_count;
    int32_t *crease;         // two vertices each
    float *crease_sharpness; // 10 and more is infinitely sharp
    size_t peak_count;
    int32_t *peak; // vertices that stay sharp
    float *peak_sharpness;
    size_t hole_count;
    int32_t *hole; // faces that only shape the others
};

/// The rules of a SubD object at a time; its counts are those of the mesh that firn_abc_read_mesh
/// gives. Free it with firn_abc_cage_free.
FIRN_API firn_result firn_abc_read_cage(const firn_abc *archive, int object, double time,
                                        firn_abc_cage *cage, firn_error *error);
FIRN_API void firn_abc_cage_free(firn_abc_cage *cage);

// --- Cameras -------------------------------------------------------------------------------------

/// A camera at a time; it looks along -z of its object. firn_abc_world_matrix tells where it is.
typedef struct firn_abc_camera {
    double focal_length;        // mm
    double aperture[2];         // cm, horizontal and vertical
    double film_offset[2];      // cm
    double lens_squeeze;        // width of the film that a picture of width 1 takes
    double f_stop;              // 1
    double focus_distance;      // cm, as Maya counts, whatever the unit of the scene
    double shutter[2];          // s, opens and closes, from the frame on
    double near_clip, far_clip; // units of the scene
} firn_abc_camera;

FIRN_API firn_result firn_abc_read_camera(const firn_abc *archive, int object, double time,
                                          firn_abc_camera *camera, firn_error *error);

// --- Overview ------------------------------------------------------------------------------------

typedef enum firn_abc_variance {
    FIRN_ABC_VARIANCE_CONSTANT,      // nothing changes
    FIRN_ABC_VARIANCE_HOMOGENEOUS,   // positions or transforms change
    FIRN_ABC_VARIANCE_HETEROGENEOUS, // counts or topology may change
} firn_abc_variance;

/// What an object holds over time, in its own space.
typedef struct firn_abc_summary {
    firn_abc_variance variance;
    uint32_t sample_count;
    double first_time, last_time;  // s, of the first and last sample
    size_t min_points, max_points; // of meshes and particles, over all samples
    size_t min_faces, max_faces;   // of meshes
    bool has_bounds;
    double bounds[6]; // min x y z, max x y z of the stored bounds of all samples
} firn_abc_summary;

/// Reads counts and bounds, not the values. An object without a geometry schema gives zeros.
FIRN_API firn_result firn_abc_summarize(const firn_abc *archive, int object,
                                        firn_abc_summary *summary, firn_error *error);

/// What an archive holds that colliders and sources do not take with a pattern: objects of other
/// kinds, and meshes that it does not select, as "2 cameras (/a/lens, /b/lens), 1 curves (/hair)".
/// Empty: nothing. Names are left out where there is no room for them.
FIRN_API void firn_abc_leftover(const firn_abc *archive, const char *pattern, char *text,
                                size_t size);

/// First and last sample time of all animated properties (s); false when nothing is animated.
FIRN_API bool firn_abc_time_range(const firn_abc *archive, double *first, double *last);

#ifdef __cplusplus
}
#endif

#endif
