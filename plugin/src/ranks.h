/// What the rest of the graph knows of other ranks. Without any, these do what one process needs.
#ifndef FIRN_GRAPH_RANKS_H
#define FIRN_GRAPH_RANKS_H

#include "graph_state.h"

bool firn_graph_is_shared(const firn_graph *graph);

/// One result for all ranks: that of the first that failed, with its sentence. Collective.
firn_result firn_graph_agree(firn_graph *graph, firn_result result, firn_error *error);

/// Right before a node is cooked: calls the others to it, or says that this rank has come.
firn_result firn_ranks_call(firn_node *node, const firn_cook_pass *pass, int frame,
                            firn_error *error);

/// The save function of a node, with the others.
firn_result firn_ranks_save(firn_node *node, const char *path, int *frame, firn_error *error);

#endif
