/// The graph from inside: types with one table each, nodes, values, links.
#ifndef FIRN_GRAPH_STATE_H
#define FIRN_GRAPH_STATE_H

#include "firn/exchange.h"
#include "firn/graph.h"
#include "firn/node.h"

enum { FIRN_NAME_SIZE = 64, FIRN_LAYER_COUNT = 2 };

/// A node type with all its rows in one table.
typedef struct firn_type {
    const firn_node_type *node;
    firn_node_info info;
    firn_param *params;
    char (*names)[FIRN_NAME_SIZE]; // of the rows that have a prefix
} firn_type;

/// What the user set for a parameter: keys, a text or numbers.
typedef struct firn_value {
    const firn_param *param;
    double number[3];
    char *text;     // of a string or path
    firn_key *keys; // NULL: it does not move
    size_t key_count;
    firn_interpolation interpolation;
} firn_value;

typedef struct firn_values {
    firn_value *items;
    size_t count, capacity;
} firn_values;

typedef struct firn_node firn_node;

typedef struct firn_slot {
    firn_node **from;
    size_t count, capacity;
} firn_slot;

struct firn_node {
    firn_graph *graph;
    const firn_type *type;
    char name[FIRN_NAME_SIZE];
    firn_values layers[FIRN_LAYER_COUNT];
    firn_slot *inputs; // one for each input of the type
    char *ui;
    char *comment;
    void *settings; // of the last evaluation

    void *state;
    firn_data output;
    uint64_t hash;                // of what state and output were made from
    uint64_t fresh;               // of what they would be made from now
    char version[FIRN_NAME_SIZE]; // "firn 0.1.0 3f2a...": program and hash, for files
    bool cooked;
    bool begun; // the state is of this graph and of all ranks
    int frame;
    size_t cook_count;

    bool varies;   // from frame to frame; with fresh
    bool demanded; // in this pass
    bool reached;
};

/// Receives what a bake has to know; NULL members are not called.
typedef struct firn_bake_hooks {
    firn_result (*wrote)(void *bake, const char *node, const char *path, firn_error *error);
    void (*alive)(void *bake); // the cook goes on
    void *bake;
    int first, step;
    const char *folder;
} firn_bake_hooks;

/// What was read of an input file, so that it need not be read again.
typedef struct firn_file_memo {
    uint64_t path; // hash of its name
    int64_t size, seconds, nanoseconds;
    uint64_t ends; // hash of its first and last bytes
} firn_file_memo;

/// A node type of a plugin, as this version of Firn sees it: what its headers did not know is zero.
typedef struct firn_foreign_type {
    firn_node_type type;
    char origin[FIRN_PATH_SIZE]; // the file that it came from
} firn_foreign_type;

/// Node types from outside.
typedef struct firn_foreign_types {
    firn_foreign_type *rows;
    size_t count, capacity;
} firn_foreign_types;

struct firn_graph {
    firn_foreign_types foreign;
    firn_type *types;
    size_t type_count;
    firn_node **nodes; // in the order of addition
    firn_node **order; // every node after its inputs
    size_t node_count, node_capacity;
    firn_shot shot;
    char *ui;
    char **vary; // what a wedge varies
    size_t vary_count, vary_capacity;
    char folder[FIRN_PATH_SIZE];
    firn_host host;
    bool stop;       // the host answered FIRN_STOP
    bool checkpoint; // the host answered FIRN_CHECKPOINT
    char failed[FIRN_NAME_SIZE];
    firn_bake_hooks hooks;
    uint64_t box_hash; // of the node that the box below was found for; 0: none
    firn_vec3 box[2];  // m, see firn_graph_box

    const firn_exchange *exchange; // NULL: one process; see ranks.c
    bool alone;                    // the others are lost
    bool joined;                   // a follower has come to the node that it was called to

    firn_problem *problems;
    size_t problem_count, problem_capacity;
    firn_file_memo *memos;
    size_t memo_count, memo_capacity;
};

// loader.c
/// Loads the plugins of a list of folders with colons between them; NULL or "": none.
firn_result firn_foreign_types_load(const char *folders, firn_foreign_types *foreign,
                                    firn_error *error);

/// A shared library that stays in the process; advice is what to do where it is missing.
firn_result firn_library_open(const char *name, const char *advice, void **library,
                              firn_error *error);
/// *symbol becomes a pointer to the function.
firn_result firn_library_symbol(void *library, const char *name, void *symbol, firn_error *error);

// registry.c
firn_result firn_types_create(const firn_foreign_types *foreign, firn_type **types, size_t *count,
                              firn_error *error);
void firn_types_destroy(firn_type *types, size_t count);
const firn_type *firn_type_find(const firn_graph *graph, const char *name);

/// Whether a list of names with spaces between them has this one; "*" has all.
bool firn_list_has(const char *list, const char *name);

/// Writes " (did you mean 'x'?)" or nothing.
typedef const char *firn_name_at(const void *owner, size_t index);
void firn_did_you_mean(const void *owner, firn_name_at *name_at, const char *name, char *text,
                       size_t size);
void firn_did_you_mean_param(firn_param_table table, const char *name, char *text, size_t size);

// support.c
/// Makes room for one more item; items of an array that is NULL at first.
firn_result firn_grow(void *items, size_t *capacity, size_t count, size_t item_size,
                      firn_error *error);
char *firn_text_copy(const char *text); // NULL when there is no memory

// value.c
firn_value *firn_values_find(const firn_values *values, const firn_param *param);
firn_result firn_values_put(firn_values *values, const firn_value *value, firn_error *error);
void firn_values_erase(firn_values *values, const firn_param *param);
void firn_values_clear(firn_values *values);
void firn_value_free(firn_value *value);
void firn_value_at(const firn_value *value, double frame, double out[3]);
firn_result firn_value_from_text(const firn_type *type, const firn_param *param, const char *text,
                                 firn_value *value, firn_error *error);

// settings.c
/// The settings of a node at a frame; paths as they are in the file, or ready to open.
firn_result firn_node_settings(const firn_node *node, double frame, bool resolve_paths,
                               void *settings, firn_error *error);
/// The value that counts, NULL: the default does.
const firn_value *firn_node_value(const firn_node *node, const firn_param *param);
firn_result firn_graph_resolve_path(const firn_graph *graph, const char *text, char *path,
                                    size_t size, firn_error *error);
/// The same from the root of the file system; false when it cannot be resolved.
bool firn_absolute_path(const firn_graph *graph, const char *text, char *path, size_t size);
bool firn_node_file(const firn_node *node, const void *settings, const firn_param *param, int frame,
                    char *path, size_t size);

// cache_state.c
/// Whether the node writes one file of many frames, with the settings that it was given last.
bool firn_node_spans(const firn_node *node);

/// Whether a node at the end writes no files as it is set: a bake passes it over.
bool firn_node_is_idle(const firn_node *node);

// stages.c
/// Whether the order and every bit of the particles are in a file of such a name.
bool firn_file_is_exact(const char *name);

// graph.c
firn_node *firn_graph_find(const firn_graph *graph, const char *name);
firn_result firn_graph_need(const firn_graph *graph, const char *name, firn_node **node,
                            firn_error *error);
void firn_graph_sort(firn_graph *graph);
/// Puts "node." in front of a message about a parameter.
firn_result firn_prefix_error(firn_error *error, const char *node);

// param_values.c
firn_result firn_graph_set_numbers(firn_graph *graph, const char *node, const char *param,
                                   const double values[3], firn_layer layer, firn_error *error);

// validate.c
/// Adds to what is wrong with the graph.
firn_result firn_graph_problem(firn_graph *graph, firn_level level, firn_result code,
                               const char *node, firn_error *error, const char *format, ...)
    FIRN_PRINTF(6, 7);

// check_shot.c
firn_result firn_graph_check_shot(firn_graph *graph, firn_error *error);

// hash.c
/// Refreshes fresh and varies of every node.
void firn_graph_refresh(firn_graph *graph);

// cook.c
void firn_node_release(firn_node *node);
/// Releases every state that no longer fits; the last nodes first, because they borrow.
void firn_graph_release_stale(firn_graph *graph);
/// Remembers the node unless all went well or the host stopped; returns result.
firn_result firn_node_failed(const firn_node *node, firn_result result);

/// Refuses a frame before the start when a node that is reached marches from there.
firn_result firn_graph_check_range(const firn_graph *graph, int frame, firn_error *error);
firn_cook firn_node_cook_context(firn_node *node, int frame);
/// A file of a node in the folder of a cache; every_frame false: frame does not count.
firn_result firn_graph_output_path(const firn_graph *graph, const char *folder,
                                   const firn_node_output *output, int frame, char *path,
                                   firn_error *error);
/// Brings the marked targets to a frame; sequential nodes one frame at a time. restore is the
/// folder pattern of checkpoints or NULL.
typedef struct firn_cook_pass {
    int frame;
    bool keep;
    firn_result (*restore)(void *user, const firn_node *node, char *path, size_t size);
    /// The file that a sequential node is read from instead of being cooked; NULL: it is cooked.
    firn_result (*replay)(void *user, const firn_node *node, char *path, size_t size);
    void *user;
} firn_cook_pass;
firn_result firn_graph_run(firn_graph *graph, firn_node *const *targets, size_t target_count,
                           const firn_cook_pass *pass, firn_error *error);

#endif
