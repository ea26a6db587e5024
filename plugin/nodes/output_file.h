/// What the nodes that write files share: how the files are named and what they say of their
/// origin.
#ifndef FIRN_OUTPUT_FILE_H
#define FIRN_OUTPUT_FILE_H

#include "firn/params.h"
#include "firn/vdb.h"

/// Settings of a node that writes files.
typedef struct firn_output {
    char name[FIRN_TEXT_SIZE];
} firn_output;

firn_param_table firn_output_params(void);

/// Refuses a name that leads out of the folder of the cache.
firn_result firn_output_check(const firn_output *output, firn_error *error);

enum { FIRN_OUTPUT_META_COUNT = 2 };

/// What every .vdb file says: version is that of the program, with the hash of the graph.
typedef struct firn_output_meta {
    firn_vdb_meta rows[FIRN_OUTPUT_META_COUNT];
} firn_output_meta;
firn_output_meta firn_output_meta_of(const char *version);

#endif
