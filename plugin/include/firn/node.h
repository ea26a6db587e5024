/// For authors of nodes: what a node type is and what its cook function may ask for.
///
/// A node is one file that ends with its type. Its settings are one struct that the parameter rows
/// describe; rows of the core's tables are taken over as they are:
///
///     typedef struct settings {
///         firn_field_def field;
///         bool surface;
///     } settings;
///
///     static const firn_node_rows rows[] = {{firn_field_params, offsetof(settings, field)}};
///     static const firn_param params[] = {
///         {FIRN_PARAM(settings, surface), FIRN_BOOL, {0}, 0, 1, "", "Also make a level set"},
///     };
#ifndef FIRN_NODE_H
#define FIRN_NODE_H

#include "firn/data.h"
#include "firn/file.h"
#include "firn/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Rows of another table as parameters of a node. Lists of names have spaces between them.
typedef struct firn_node_rows {
    firn_param_table (*table)(void);
    size_t offset;            // of the struct that the table describes, in the node's settings
    const char *omit;         // names that the node leaves out; NULL: none
    const char *prefix;       // put before every name; NULL: none
    const char *visible_when; // of rows that do not have their own; NULL: always
} firn_node_rows;

typedef struct firn_node_input {
    const char *name;
    firn_kind kind;
    bool many;     // any number of links, else one
    bool required; // at least one
    const char *help;
} firn_node_input;

/// A file that a node writes, as firn_cook_output_path names it.
typedef struct firn_node_output {
    const char *name; // first part of it; "": the name of the graph
    const char *extension;
    bool every_frame; // one for each frame, else one for all
} firn_node_output;

typedef struct firn_cook firn_cook;

/// Members are appended, never reordered; size says which exist.
typedef struct firn_node_type {
    size_t size;
    const char *name;     // "snow_source"
    const char *label;    // "Snow source"
    const char *category; // "Simulation"
    const char *help;     // a sentence or two
    int version;          // part of the hash: raise it when the results change

    const firn_param *params; // own rows, with offsets in the settings
    size_t param_count;
    const firn_node_rows *rows; // rows of other tables
    size_t row_count;
    size_t settings_size;
    const char *animated; // names of parameters that may have keys; "*": all numbers; NULL: none
    const char *neutral;  // names of parameters that leave the result as it is, such as threads

    const firn_node_input *inputs;
    size_t input_count;
    firn_kind output;

    bool time_dependent; // another result in every frame, even without keys
    bool sequential;     // a frame needs the one before it

    /// Prepares what no row describes; the defaults of the rows follow. NULL: zeros.
    void (*reset)(void *settings);

    /// Fills what a chosen preset says; what the user set is set again afterwards. NULL: none.
    void (*preset)(void *settings);

    /// Looks at settings that are each in range for what does not fit together. NULL: nothing.
    firn_result (*check)(const void *settings, firn_error *error);

    /// The file that a parameter of type path stands for at a frame; false: it reads none. NULL:
    /// the path with its frame number, whenever it is not empty.
    bool (*file)(const void *settings, const firn_param *param, int frame, char *path, size_t size);

    size_t state_size; // of memory that lives as long as the settings and inputs stay the same

    /// Makes the output of cook->frame.
    firn_result (*cook)(firn_cook *cook, firn_error *error);

    /// Releases what the state holds; the state itself is the graph's.
    void (*release)(void *state);

    /// Sequential nodes: writes the state of the last finished frame, *frame, to a file. It comes
    /// back in cook->restore.
    firn_result (*save)(void *state, const char *path, int *frame, firn_error *error);

    /// Nodes that write one file for many frames: opens it and says how many frames an earlier run
    /// left in it; after the last frame completes it. NULL, both: files are written in `cook`.
    firn_result (*begin)(firn_cook *cook, int *frames, firn_error *error);
    firn_result (*finish)(firn_cook *cook, firn_error *error);

    /// Nodes that write: the files that these settings make, by index; false past the last.
    bool (*writes)(const void *settings, size_t index, firn_node_output *file);

    /// True when the node does without some of the numbered files of a parameter; then only a
    /// sequence of which there is none is an error. NULL: it needs them all.
    bool (*bridges_gaps)(const void *settings, const firn_param *param);

    /// Sequential nodes: makes the output of a frame from a file that a write node made of it, to
    /// the same bits for whoever takes it, and without what comes before. FIRN_ERR_UNSUPPORTED when
    /// the file does not have all that takes. NULL: it cannot.
    firn_result (*replay)(firn_cook *cook, const char *path, firn_error *error);

    /// What the bits of the result depend on beside settings and inputs: the name of an instruction
    /// set, into 32 bytes. NULL: nothing.
    void (*machine)(const void *settings, char *name);

    /// Sequential nodes: where several ranks cook one graph (firn/ranks.h), all of them cook this
    /// node; `cook` and `save` are collective then. Others are cooked by the first rank, and by
    /// the rest where such a node needs them.
    bool shared;
    /// Inputs that came later, with spaces between: scenes that do not link them keep their hash.
    const char *added_inputs;
} firn_node_type;

/// What a cook function works with.
struct firn_cook {
    const char *node; // its name
    int frame;
    int start_frame;      // the first frame of the graph, where sequential nodes begin
    int last_frame;       // of the graph
    double fps;           // frames per second
    const void *settings; // at this frame, paths resolved
    void *state;          // zeros before the first cook
    firn_data *output;    // to be filled
    const char *restore;  // a file of `save` to continue from; NULL: none
    bool keep;            // sequential: `save` may be called in the middle of the next frame
    int bake_first;       // first frame that is written, and the distance to the next
    int bake_step;
    bool resume;         // what an earlier run left in a file of all frames is kept
    const char *version; // "firn 0.1.0 3f2a...": program and the node's hash, for files
    void *owner;         // the graph's
    uint64_t hash;       // of the node: its type, values, links and files
};

/// Links of an input slot and what came along one of them.
FIRN_API size_t firn_cook_input_count(const firn_cook *cook, const char *slot);
FIRN_API const firn_data *firn_cook_input(const firn_cook *cook, const char *slot, size_t index);

/// The name of the node at the other end of a link.
FIRN_API const char *firn_cook_input_name(const firn_cook *cook, const char *slot, size_t index);

/// The type of that node; its data need not be there.
FIRN_API const char *firn_cook_input_type(const firn_cook *cook, const char *slot, size_t index);

/// Passes a result on; a failure is then that of the node at the other end of a link.
FIRN_API firn_result firn_cook_blame(const firn_cook *cook, const char *slot, size_t index,
                                     firn_result result);

/// True when one of the parameters has keys.
FIRN_API bool firn_cook_is_animated(const firn_cook *cook, const char *names);

/// The node's own settings at any frame, also between frames.
FIRN_API firn_result firn_cook_evaluate(const firn_cook *cook, double frame, void *settings,
                                        firn_error *error);

/// Nodes that are cooked by all ranks: the exchange with the others, NULL when there are none; and
/// one result for all, that of the first rank that failed. Collective.
FIRN_API const struct firn_exchange *firn_cook_exchange(const firn_cook *cook);
FIRN_API firn_result firn_cook_agree(const firn_cook *cook, firn_result result, firn_error *error);

typedef enum firn_level { FIRN_LEVEL_INFO, FIRN_LEVEL_WARNING, FIRN_LEVEL_ERROR } firn_level;

/// Says something to the host's log.
FIRN_API void firn_cook_log(const firn_cook *cook, firn_level level, const char *format, ...)
    FIRN_PRINTF(3, 4);

/// Reports how far the frame is (0 to 1) with some numbers; false: the host wants to stop.
FIRN_API bool firn_cook_progress(const firn_cook *cook, double fraction, const firn_stat *stats,
                                 size_t stat_count);

/// The name of the file that a writing node makes for this frame: <cache>/<name>_v1.0007.<ext>, or
/// <cache>/<name>_v1.<ext> for one file of all frames. An empty name is that of the graph.
FIRN_API firn_result firn_cook_output_path(const firn_cook *cook, const char *name,
                                           const char *extension, bool every_frame, char *path,
                                           firn_error *error);

/// What was noted about a file when Firn wrote it: size (bytes) and checksum, from the
/// manifest.json beside it. False: it is none of ours.
FIRN_API bool firn_file_noted(const char *path, uint64_t *size, uint64_t *checksum);

/// Adds a file that was written to the manifest of the cache.
FIRN_API firn_result firn_cook_wrote(const firn_cook *cook, const char *path, firn_error *error);

/// The box (m) that the shot takes in, see firn_graph_box.
FIRN_API firn_result firn_cook_shot_box(const firn_cook *cook, firn_vec3 *lower, firn_vec3 *upper,
                                        firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
