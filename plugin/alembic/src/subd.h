/// Subdivision surfaces and sets of faces, for putting meshes together.
#ifndef FIRN_ABC_SUBD_H
#define FIRN_ABC_SUBD_H

#include "polymesh.h"

#include "firn/abc_scene.h"

/// Makes holes of the faces that are not kept.
firn_result firn_abc_cage_exclude(const firn_abc_place *place, firn_abc_cage *cage,
                                  const bool *kept);

/// True when a pattern selects some face set of a mesh.
bool firn_abc_selects_faces(const firn_abc *archive, int mesh, const char *pattern);

/// Which faces of a mesh a pattern selects through its face sets, to be freed with firn_free; NULL:
/// all of them.
firn_result firn_abc_selected_faces(const firn_abc *archive, int mesh, const char *pattern,
                                    double time, size_t face_count, bool **kept, firn_error *error);

#endif
