/// The variants of a wedge, and what is kept of them beside their folders.
#ifndef FIRN_CLI_WEDGE_H
#define FIRN_CLI_WEDGE_H

#include "command.h"

#include "firn/cache.h"

enum { FIRN_AXIS_MAX = 16, FIRN_AXIS_VALUES = 1000, FIRN_AXIS_NAME = 256 };

/// A parameter and the values that it takes.
typedef struct firn_axis {
    char name[FIRN_AXIS_NAME]; // "node.param"
    char text[FIRN_TEXT_SIZE]; // the values, each ends with a zero
    size_t count;
    const char *values[FIRN_AXIS_VALUES];
} firn_axis;

typedef struct firn_wedge {
    size_t axis_count, variant_count;
    firn_axis axes[FIRN_AXIS_MAX];
} firn_wedge;

/// The value of an axis in a variant; the last axis changes fastest.
const char *firn_wedge_value(const firn_wedge *wedge, size_t variant, size_t axis);

/// Counts the variants that --vary or, without it, the scene asks for. Says what is wrong; the
/// result is an exit code.
int firn_wedge_count(const char *command, const firn_graph *graph, const firn_words *vary,
                     size_t *count);

/// Writes into wedges.csv of a folder how a variant is doing: "cooking", "done", "failed" or
/// "stopped", with its exit code. What other processes say about theirs stays; variants that
/// nobody has begun are "waiting".
firn_result firn_wedge_note(const firn_wedge *wedge, const char *folder, size_t variant,
                            const char *status, int code, firn_error *error);

/// A row of wedges.csv.
typedef struct firn_wedge_row {
    char values[FIRN_TEXT_SIZE]; // "snow.hardening=5 solver.cell_size=0.02"
    char status[32];
} firn_wedge_row;

typedef struct firn_wedge_table {
    size_t count;
    firn_wedge_row rows[];
} firn_wedge_table;

/// Whether a folder is that of a wedge, and what its table says.
bool firn_wedge_has_table(const char *folder);
firn_result firn_wedge_table_read(const char *folder, firn_wedge_table **table, firn_error *error);
void firn_wedge_table_free(firn_wedge_table *table); // accepts NULL

/// Draws the last frame of every variant side by side, from one place, into contact_sheet.png.
firn_result firn_wedge_sheet(const firn_wedge *wedge, const char *folder, firn_error *error);

#endif
