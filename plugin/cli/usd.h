/// What a USD stage says about a cache, gathered from its files.
#ifndef FIRN_CLI_USD_H
#define FIRN_CLI_USD_H

#include "firn/cache.h"
#include "firn/usd_stage.h"

/// Memory behind a stage.
typedef struct firn_usd_sources {
    firn_usd_volume_frame *volumes;
    firn_usd_grid *grids;
    char (*grid_names)[64];
    firn_usd_solid *solids;
    double *frames;
    firn_transform *poses; // of all solids, one after another
    firn_graph *graph;     // the scene that was cooked; names belong to it
} firn_usd_sources;

/// Fills in volumes with their grids, boxes and look, and the colliders of the scene that was
/// cooked. What is missing in the folder is left out.
firn_result firn_usd_gather(const char *folder, const firn_manifest_view *manifest,
                            firn_usd_sources *sources, firn_usd_stage *stage, firn_error *error);
void firn_usd_sources_release(firn_usd_sources *sources);

#endif
