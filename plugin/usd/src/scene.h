/// Prims of a scene, composed: what each layer says of them, the strongest first.
#ifndef FIRN_USD_SCENE_PRIVATE_H
#define FIRN_USD_SCENE_PRIVATE_H

#include "doc.h"

#include "firn/usd_scene.h"

/// What one layer says of a prim. Its times are (code - offset) / scale.
typedef struct firn_usd_opinion {
    int doc, spec, prim;
    double offset, scale;
    int depth;     // of arcs that led there
    bool expanded; // into variants
    int next;
} firn_usd_opinion;

typedef struct firn_usd_prim {
    const char *name, *type;
    char *path;
    int parent, first_child, last_child, next, depth;
    int first_opinion, last_opinion;
    bool inactive;
} firn_usd_prim;

struct firn_usd_scene {
    firn_usd_doc **docs; // the first is the layer that was opened
    size_t doc_count, doc_room;
    firn_usd_prim *prims;
    size_t prim_count, prim_room;
    firn_usd_opinion *opinions;
    size_t opinion_count, opinion_room;
    double codes_per_second;
    char metadata[96];
};

/// Fills the tree from the first doc.
firn_result firn_usd_compose(firn_usd_scene *scene, firn_error *error);

/// True when the prim and those above it are there: defined, active, no class, none of the
/// prototypes of an instancer.
bool firn_usd_prim_counts(const firn_usd_scene *scene, int prim);

// --- Values over time ----------------------------------------------------------------------------

/// An attribute with its strongest opinion; doc NULL: nobody says anything.
typedef struct firn_usd_attribute_view {
    firn_usd_doc *doc;
    const firn_usd_property *property;
    double offset, scale;
} firn_usd_attribute_view;

firn_usd_attribute_view firn_usd_find_attribute(const firn_usd_scene *scene, int prim,
                                                const char *name);

/// The samples around a time code and how far it is between them; both are the same where the value
/// does not change.
typedef struct firn_usd_bracket {
    firn_usd_ref lower, upper;
    double share, since; // of the way; codes since the lower one
} firn_usd_bracket;

firn_usd_bracket firn_usd_bracket_at(const firn_usd_attribute_view *view, double code);

/// Numbers at a time code, interpolated where both samples have as many; kind F32 or F64 for that.
firn_result firn_usd_numbers_at(const firn_usd_scene *scene, int prim, const char *name,
                                double code, firn_usd_number_kind kind, firn_usd_numbers *numbers,
                                firn_error *error);

/// The first word of an attribute, or "".
const char *firn_usd_word_at(const firn_usd_scene *scene, int prim, const char *name, double code);

/// Widens a range of codes by the samples of an attribute; false: it has fewer than two.
bool firn_usd_add_range(const firn_usd_scene *scene, int prim, const char *name, double *first,
                        double *last, bool *any);

// --- Transforms ----------------------------------------------------------------------------------

/// For row vectors, p' = p * m.
typedef struct firn_usd_matrix {
    double m[16];
} firn_usd_matrix;

firn_usd_matrix firn_usd_matrix_identity(void);
firn_usd_matrix firn_usd_matrix_mul(const firn_usd_matrix *a, const firn_usd_matrix *b);
bool firn_usd_matrix_invert(const firn_usd_matrix *a, firn_usd_matrix *inverse);
double firn_usd_matrix_det(const firn_usd_matrix *a);
firn_vec3 firn_usd_matrix_point(const firn_usd_matrix *a, firn_vec3 p);
firn_vec3 firn_usd_matrix_vector(const firn_usd_matrix *a, firn_vec3 v);

/// From a quaternion x y z w of any length but zero.
firn_usd_matrix firn_usd_matrix_turn(const double q[4]);

/// The reader's order of a quaternion, x y z w, whatever that of the file.
void firn_usd_quaternion(const firn_usd_scene *scene, int prim, const char *name,
                         firn_usd_numbers *numbers);

firn_result firn_usd_world_matrix(const firn_usd_scene *scene, int prim, double code,
                                  firn_usd_matrix *matrix, firn_error *error);

/// Change of the world matrix per second; *moves false: it stands still.
firn_result firn_usd_world_rate(const firn_usd_scene *scene, int prim, double code,
                                firn_usd_matrix *rate, bool *moves, firn_error *error);

/// Widens a range of codes by what moves a prim and those above it.
void firn_usd_add_moving_range(const firn_usd_scene *scene, int prim, double *first, double *last,
                               bool *any);

// --- Meshes --------------------------------------------------------------------------------------

bool firn_usd_is_points(const firn_usd_scene *scene, int prim);
bool firn_usd_is_mesh(const firn_usd_scene *scene, int prim);

/// By its path, or by that of a subset of its faces.
bool firn_usd_mesh_selected(const firn_usd_scene *scene, int prim, const char *pattern);

/// The faces that a pattern takes of a mesh; NULL in *kept: all.
firn_result firn_usd_kept_faces(const firn_usd_scene *scene, int prim, const char *pattern,
                                double code, size_t face_count, bool **kept, firn_error *error);

/// The rules of a subdivision surface, whose counts the caller knows; none: it is a polygon mesh.
firn_result firn_usd_read_cage(const firn_usd_scene *scene, int prim, double code,
                               firn_usd_cage *cage, bool *none, firn_error *error);

/// Bends points to where a skeleton brings them, in world space; *skinned false: there is none.
firn_result firn_usd_skin(const firn_usd_scene *scene, int prim, double code, size_t count,
                          firn_vec3 *position, bool *skinned, firn_error *error);
/// The prim that a target of a relationship of a prim, or of one above it, leads to; -1: none.
int firn_usd_find_related(const firn_usd_scene *scene, int prim, const char *name, size_t which);

/// Adds the blend shapes of an animation, in the space of the mesh; *shaped false: there are none.
firn_result firn_usd_blend(const firn_usd_scene *scene, int prim, double code, size_t count,
                           firn_vec3 *position, bool *shaped, firn_error *error);
void firn_usd_add_skin_range(const firn_usd_scene *scene, int prim, double *first, double *last,
                             bool *any);

/// Hidden, a guide or a proxy at the time.
bool firn_usd_is_hidden(const firn_usd_scene *scene, int prim, double code);

firn_result firn_usd_fail_memory(const firn_usd_scene *scene, firn_error *error);
firn_result firn_usd_fail_prim(const firn_usd_scene *scene, int prim, const char *what,
                               firn_error *error);

static inline bool firn_usd_is_type(const firn_usd_scene *scene, int prim, const char *type)
{
    const char *a = scene->prims[prim].type;
    while (*a != '\0' && *a == *type) {
        a++;
        type++;
    }
    return *a == *type;
}

#endif
