/// Node types that come from outside: a shared library with one function.
///
/// Every file *.so in the folders of the environment variable FIRN_PLUGIN_PATH (separated by
/// colons) is loaded when a graph is made; its node types then stand beside those of Firn, in scene
/// files, `firn describe` and the hosts. Link it with -lfirn and leave the rest to the tables:
///
///     static const firn_node_type *const types[] = {&my_node};
///     static const firn_plugin plugin = FIRN_PLUGIN("my_nodes", types);
///     const firn_plugin *firn_plugin_entry(void) { return &plugin; }
#ifndef FIRN_PLUGIN_H
#define FIRN_PLUGIN_H

#include "firn/node.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Changes when firn_node_type or firn_cook change in a way that old plugins cannot stand.
enum { FIRN_PLUGIN_ABI = 2 };

typedef struct firn_plugin {
    int abi;          // FIRN_PLUGIN_ABI
    const char *name; // of the plugin, for messages
    const firn_node_type *const *types;
    size_t type_count;
} firn_plugin;

/// A firn_plugin of the types in an array.
#define FIRN_PLUGIN(plugin_name, type_array)                                                       \
    {                                                                                              \
        FIRN_PLUGIN_ABI, plugin_name, type_array, FIRN_COUNT(type_array)                           \
    }

/// What a plugin defines; the table stays as it is as long as the process runs.
typedef const firn_plugin *firn_plugin_entry_function(void);
FIRN_API firn_plugin_entry_function firn_plugin_entry;

#ifdef __cplusplus
}
#endif

#endif
