/// PolyMesh objects, for putting them together.
#ifndef FIRN_ABC_POLYMESH_H
#define FIRN_ABC_POLYMESH_H

#include "archive.h"

/// The counts that firn_abc_read_mesh will give, without reading values; no arrays.
firn_result firn_abc_mesh_measure(const firn_abc *archive, int object, double time,
                                  firn_abc_mesh *sizes, firn_error *error);

#endif
