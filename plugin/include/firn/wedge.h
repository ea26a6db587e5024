/// The same shot with many values of some parameters, a cache for each.
///
///     const char *vary[] = {"snow.hardening=5,10,20", "ground.friction=0:0.5:3"};
///     firn_wedge *wedge = NULL;
///     FIRN_TRY(firn_wedge_create(graph, vary, 2, &wedge, error));
///     for (size_t v = 0; v < firn_wedge_count(wedge); v++) // each in a process, if you like
///         firn_wedge_bake(wedge, v, graph, NULL, error);
///     FIRN_TRY(firn_wedge_sheet(wedge, graph, error));
///     firn_wedge_destroy(wedge);
#ifndef FIRN_WEDGE_H
#define FIRN_WEDGE_H

#include "firn/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FIRN_AXIS_MAX = 16, FIRN_AXIS_VALUES = 1000, FIRN_VARIANT_MAX = 100000 };

typedef struct firn_wedge firn_wedge;

/// Each text is "node.param=a,b,c" or "node.param=from:to:count", both ends included; vectors as
/// "0 1 0,0 2 0". Every combination is a variant; the last text changes fastest. With a count of 0
/// those that the scene of the graph lists under "vary" are taken; otherwise it may be NULL.
FIRN_API firn_result firn_wedge_create(const firn_graph *graph, const char *const *vary,
                                       size_t count, firn_wedge **wedge, firn_error *error);
FIRN_API void firn_wedge_destroy(firn_wedge *wedge); // accepts NULL

FIRN_API size_t firn_wedge_count(const firn_wedge *wedge); // of variants
FIRN_API size_t firn_wedge_axis_count(const firn_wedge *wedge);

/// "node.param" of an axis, and its value in a variant.
FIRN_API const char *firn_wedge_axis(const firn_wedge *wedge, size_t axis);
FIRN_API const char *firn_wedge_value(const firn_wedge *wedge, size_t variant, size_t axis);

/// Gives a graph the values of a variant and its number, so that it cooks into a folder of its own,
/// <base>/<name>/v<version>/w<variant>. A value that does not fit is an error.
FIRN_API firn_result firn_wedge_apply(const firn_wedge *wedge, size_t variant, firn_graph *graph,
                                      firn_error *error);

/// Applies a variant and cooks it (def NULL: all frames); wedges.csv beside the folders of the
/// variants says how it is doing. Any number of processes may do so, each with other variants.
FIRN_API firn_result firn_wedge_bake(const firn_wedge *wedge, size_t variant, firn_graph *graph,
                                     const firn_bake_def *def, firn_error *error);

/// What wedges.csv said of a variant: "" for nothing; -1 for no exit code.
typedef struct firn_wedge_mark {
    char state[32];
    int code;
} firn_wedge_mark;

/// Writes that a variant is cooking, for a program that bakes it by itself. FIRN_ERR_EXISTS where
/// the table has variants of other values, which would be forgotten; overwrite allows that. A bake
/// that is then refused ends with a note of what was there before.
FIRN_API firn_result firn_wedge_begin(const firn_wedge *wedge, const firn_graph *graph,
                                      size_t variant, bool overwrite, firn_wedge_mark *before,
                                      firn_error *error);

/// Writes the state of a variant into wedges.csv: "cooking", "done", "failed" or "stopped", and an
/// exit code when it is not negative. What other processes say about theirs stays; variants that
/// nobody has begun are "waiting". The graph is that of any variant.
FIRN_API firn_result firn_wedge_note(const firn_wedge *wedge, const firn_graph *graph,
                                     size_t variant, const char *state, int code,
                                     firn_error *error);

/// Draws the last frame of every variant side by side, from one place, into contact_sheet.png
/// beside their folders.
FIRN_API firn_result firn_wedge_sheet(const firn_wedge *wedge, const firn_graph *graph,
                                      firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
