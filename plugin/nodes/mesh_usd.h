/// Meshes of USD files.
#ifndef FIRN_MESH_USD_H
#define FIRN_MESH_USD_H

#include "mesh_file.h"

firn_result firn_mesh_usd_open(firn_mesh_file *file, const char *object, firn_error *error);
firn_result firn_mesh_usd_read(firn_mesh_file *file, const char *object, double time,
                               firn_mesh *mesh, firn_error *error);

#endif
