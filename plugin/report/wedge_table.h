/// What is kept of a wedge beside the folders of its variants.
#ifndef FIRN_WEDGE_TABLE_H
#define FIRN_WEDGE_TABLE_H

#include "firn/params.h"
#include "firn/wedge.h"

enum { FIRN_AXIS_NAME = 256 };

/// A parameter and the values that it takes.
typedef struct firn_axis {
    char name[FIRN_AXIS_NAME]; // "node.param"
    char text[FIRN_TEXT_SIZE]; // the values, each ends with a zero
    size_t count;
    const char *values[FIRN_AXIS_VALUES];
} firn_axis;

struct firn_wedge {
    size_t axis_count, variant_count;
    firn_axis axes[FIRN_AXIS_MAX];
};

/// The folder of a wedge, <base>/<name>/v<version>, of a graph that is that of a variant.
firn_result firn_wedge_home(const firn_graph *graph, char folder[FIRN_PATH_SIZE],
                            firn_error *error);

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

#endif
