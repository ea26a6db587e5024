/// The limit surfaces of an archive's subdivision meshes, made of its cages.
#ifndef FIRN_LIMIT_SURFACE_H
#define FIRN_LIMIT_SURFACE_H

#include "mesh_file.h"

/// What is kept from one mesh to the next: refined topologies.
typedef struct firn_limit_surfaces firn_limit_surfaces;

void firn_limit_surfaces_destroy(firn_limit_surfaces *surfaces);

/// Makes a mesh with the limit surfaces in place of the cages, and the rest as it is. *surfaces may
/// be NULL at first. path is for messages.
firn_result firn_limit_surfaces_apply(firn_limit_surfaces **surfaces, const firn_subd_def *def,
                                      const firn_abc_mesh *read, const char *path, firn_mesh *mesh,
                                      firn_error *error);

#endif
