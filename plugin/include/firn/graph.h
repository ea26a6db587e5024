/// The scene: nodes with parameters and links, cooked frame by frame, saved as JSON.
///
///     firn_graph *graph = NULL;
///     FIRN_TRY(firn_graph_load("shot.firn", &graph, error));
///     FIRN_TRY(firn_graph_set_text(graph, "solver.cell_size=0.01", error));
///     const firn_data *data = NULL;
///     FIRN_TRY(firn_graph_cook(graph, "solver", 24, &data, error)); // frames 1 to 24
///     printf("%zu particles\n", data->particles->points.count);
///     firn_graph_destroy(graph);
///
/// Only what changed is cooked again. A graph is used by one thread at a time; several graphs live
/// side by side.
#ifndef FIRN_GRAPH_H
#define FIRN_GRAPH_H

#include "firn/data.h"
#include "firn/file.h"
#include "firn/node.h"
#include "firn/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct firn_graph firn_graph;

FIRN_API firn_result firn_graph_create(firn_graph **graph, firn_error *error);
FIRN_API void firn_graph_destroy(firn_graph *graph); // accepts NULL

// --- Node types ----------------------------------------------------------------------------------

/// A type as hosts see it: one table of all its parameters.
typedef struct firn_node_info {
    const char *name, *label, *category, *help;
    firn_param_table params;
    const firn_node_input *inputs;
    size_t input_count;
    firn_kind output;
    bool sequential;
} firn_node_info;

/// The types in order, NULL past the last; or by name. Valid as long as the graph.
FIRN_API const firn_node_info *firn_graph_type(const firn_graph *graph, size_t index);
FIRN_API const firn_node_info *firn_graph_type_find(const firn_graph *graph, const char *name);

/// All types, or one (type not NULL; "shot" are the settings of the graph), as the JSON of
/// `firn describe --json`. Released with firn_free.
FIRN_API firn_result firn_graph_describe(const firn_graph *graph, const char *type, char **text,
                                         firn_error *error);

/// True when the parameter of that type may have keys.
FIRN_API bool firn_graph_param_is_animated(const firn_graph *graph, const char *type,
                                           const char *param);

// --- The shot ------------------------------------------------------------------------------------

typedef enum firn_quality { FIRN_QUALITY_PREVIEW, FIRN_QUALITY_FINAL } firn_quality;

/// Settings of the whole graph; the names of the fields are the keys in the file. They are set
/// like parameters, with the node NULL.
typedef struct firn_shot {
    char name[FIRN_TEXT_SIZE]; // of the cache
    float fps;                 // frames per second
    int first, last;           // frames
    int quality;               // firn_quality: whether the "final" values of nodes count
    char base[FIRN_TEXT_SIZE]; // folder of caches
    int version;               // of the cache
    int wedge;                 // variant, -1: none
    char comment[FIRN_TEXT_SIZE];
} firn_shot;

FIRN_API firn_param_table firn_shot_params(void);
FIRN_API firn_node_info firn_shot_info(void); // the same as if it were a node type
FIRN_API const firn_shot *firn_graph_shot(const firn_graph *graph);

// --- Nodes and links -----------------------------------------------------------------------------

/// Names are letters, digits and '_', and begin with a letter.
FIRN_API firn_result firn_graph_add(firn_graph *graph, const char *type, const char *name,
                                    firn_error *error);
FIRN_API firn_result firn_graph_remove(firn_graph *graph, const char *name, firn_error *error);
FIRN_API firn_result firn_graph_rename(firn_graph *graph, const char *name, const char *new_name,
                                       firn_error *error);

/// Nodes in the order in which they were added; NULL past the last.
FIRN_API const char *firn_graph_node(const firn_graph *graph, size_t index);
FIRN_API const firn_node_info *firn_graph_node_type(const firn_graph *graph, const char *name);

/// Leads the output of `from` into an input of `to`; input NULL takes the one of that kind.
FIRN_API firn_result firn_graph_link(firn_graph *graph, const char *from, const char *to,
                                     const char *input, firn_error *error);
FIRN_API firn_result firn_graph_unlink(firn_graph *graph, const char *from, const char *to,
                                       const char *input, firn_error *error);

/// The node behind link number index of an input, NULL past the last.
FIRN_API const char *firn_graph_input(const firn_graph *graph, const char *node, const char *input,
                                      size_t index);

// --- Parameters ----------------------------------------------------------------------------------

/// When a value counts: always, or only in final quality, where it stands above the other.
typedef enum firn_layer { FIRN_LAYER_ALWAYS, FIRN_LAYER_FINAL } firn_layer;

typedef enum firn_interpolation {
    FIRN_INTERPOLATION_CONSTANT, // holds until the next key
    FIRN_INTERPOLATION_LINEAR,
    FIRN_INTERPOLATION_SMOOTH, // passes the keys without a corner
} firn_interpolation;

typedef struct firn_key {
    double frame;
    double value[3];
} firn_key;

/// Numbers of a parameter, a choice as its index. A value that always counts replaces the final
/// one.
FIRN_API firn_result firn_graph_set(firn_graph *graph, const char *node, const char *param,
                                    const double values[3], firn_error *error);

/// The same from text: "0.02", "0 -9.81 0", "true", the name of a choice, a path.
FIRN_API firn_result firn_graph_set_param(firn_graph *graph, const char *node, const char *param,
                                          const char *text, firn_layer layer, firn_error *error);

/// The same from one text, "solver.dt_max=5e-4" or "fps=25".
FIRN_API firn_result firn_graph_set_text(firn_graph *graph, const char *assignment,
                                         firn_error *error);

/// An animated parameter: keys with rising frames, copied.
FIRN_API firn_result firn_graph_set_keys(firn_graph *graph, const char *node, const char *param,
                                         const firn_key *keys, size_t count,
                                         firn_interpolation interpolation, firn_layer layer,
                                         firn_error *error);

/// Back to the default.
FIRN_API firn_result firn_graph_reset(firn_graph *graph, const char *node, const char *param,
                                      firn_error *error);

/// The value that counts at a frame: as numbers, and as text that firn_graph_set_param reads.
FIRN_API firn_result firn_graph_get(const firn_graph *graph, const char *node, const char *param,
                                    double frame, double values[3], firn_error *error);
FIRN_API firn_result firn_graph_get_text(const firn_graph *graph, const char *node,
                                         const char *param, double frame, char *text, size_t size,
                                         firn_error *error);

/// A path parameter with variables and relative parts resolved; frame tokens stay.
FIRN_API firn_result firn_graph_get_path(const firn_graph *graph, const char *node,
                                         const char *param, char *path, size_t size,
                                         firn_error *error);

/// The keys of a parameter, NULL when it has none.
FIRN_API const firn_key *firn_graph_keys(const firn_graph *graph, const char *node,
                                         const char *param, size_t *count,
                                         firn_interpolation *interpolation);

/// JSON of the host about a node (or the graph, node NULL), such as its place on the screen; kept
/// in the file, otherwise ignored. NULL: none.
FIRN_API firn_result firn_graph_set_ui(firn_graph *graph, const char *node, const char *json,
                                       firn_error *error);
FIRN_API const char *firn_graph_ui(const firn_graph *graph, const char *node);

/// What `firn wedge` varies unless it is told otherwise, such as "snow.hardening=5,10,20"; kept in
/// the file. NULL past the last.
FIRN_API firn_result firn_graph_add_vary(firn_graph *graph, const char *text, firn_error *error);
FIRN_API const char *firn_graph_vary(const firn_graph *graph, size_t index);

// --- Files ---------------------------------------------------------------------------------------

/// Reads a scene. Paths in it are relative to its folder. Every message names line, node and key.
FIRN_API firn_result firn_graph_load(const char *path, firn_graph **graph, firn_error *error);

/// The same from text; folder is where relative paths begin.
FIRN_API firn_result firn_graph_load_memory(const char *text, size_t size, const char *name,
                                            const char *folder, firn_graph **graph,
                                            firn_error *error);

/// Writes the scene; relative paths keep their meaning only in the same folder.
FIRN_API firn_result firn_graph_save(const firn_graph *graph, const char *path, firn_error *error);

/// Writes what will be cooked: quality applied, paths absolute, so that it cooks from anywhere.
FIRN_API firn_result firn_graph_save_resolved(const firn_graph *graph, const char *path,
                                              firn_error *error);

/// Either as text, released with firn_free.
FIRN_API firn_result firn_graph_print(const firn_graph *graph, bool resolved, char **text,
                                      firn_error *error);

/// Where relative paths begin; "." at first.
FIRN_API firn_result firn_graph_set_folder(firn_graph *graph, const char *folder,
                                           firn_error *error);

// --- Validation ----------------------------------------------------------------------------------

/// Reads a scene to its end and tells every mistake in it, each with file and line. FIRN_OK when it
/// can be loaded; the first mistake otherwise.
typedef void firn_scene_tell(const char *message, void *user);
FIRN_API firn_result firn_scene_check(const char *path, firn_scene_tell *tell, void *user,
                                      firn_error *error);

/// One thing that is wrong; node and param are "" where they do not apply.
typedef struct firn_problem {
    firn_level level;
    firn_result code;
    const char *node, *param;
    const char *message;
} firn_problem;

/// Looks for everything that would stop a cook: missing links, loops, files that are not there,
/// values that do not fit together. FIRN_OK when there is no error; the first one otherwise.
/// Problems stay valid until the next call for this graph.
FIRN_API firn_result firn_graph_validate(firn_graph *graph, const firn_problem **problems,
                                         size_t *count, firn_error *error);

/// A checksum of all that the node's result depends on: types, values, links, files. 0: no such
/// node. node NULL: all nodes that write files.
FIRN_API uint64_t firn_graph_hash(firn_graph *graph, const char *node);

/// The box (m) that the shot takes in: its sources, the way of their snow until it meets something,
/// and what is solid near it. It follows from the scene alone, so that cameras framed by it are the
/// same for every frame and everybody. FIRN_ERR_NOT_FOUND when there is no snow.
FIRN_API firn_result firn_graph_box(const firn_graph *graph, firn_vec3 *lower, firn_vec3 *upper,
                                    firn_error *error);

// --- Cooking -------------------------------------------------------------------------------------

typedef enum firn_answer {
    FIRN_CONTINUE,
    FIRN_STOP,       // finish the substep, checkpoint, return FIRN_ERR_CANCELLED
    FIRN_CHECKPOINT, // write a checkpoint after this frame and go on
} firn_answer;

/// What is going on in a cook.
typedef struct firn_report {
    const char *node;
    int frame;
    double fraction; // 0 to 1, of the frame
    size_t stat_count;
    const firn_stat *stats; // of the last substep: particles, substep, dt, ...
} firn_report;

/// What a host listens to; any member may be NULL.
typedef struct firn_host {
    firn_answer (*progress)(const firn_report *report, void *user);
    void (*log)(firn_level level, const char *node, const char *message, void *user);

    /// A frame of a bake is on disk; skipped: it was there already.
    void (*frame_done)(int frame, bool skipped, const firn_stat *stats, size_t count, void *user);
    void *user;
} firn_host;

FIRN_API void firn_graph_set_host(firn_graph *graph, const firn_host *host);

/// Cooks a node and what it needs; sequential nodes cook every frame up to this one. *data stays
/// valid until the next cook or change of the graph.
FIRN_API firn_result firn_graph_cook(firn_graph *graph, const char *node, int frame,
                                     const firn_data **data, firn_error *error);

/// The node that failed in the last cook, bake or validation; "" when none did.
FIRN_API const char *firn_graph_failed_node(const firn_graph *graph);

/// How often the node's cook function has run.
FIRN_API size_t firn_graph_cook_count(const firn_graph *graph, const char *node);

#ifdef __cplusplus
}
#endif

#endif
