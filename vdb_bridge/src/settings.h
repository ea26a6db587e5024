/// Checks of the def structs; a bad one is FIRN_ERR_ARGUMENT with a sentence.
#ifndef FIRN_VDB_SETTINGS_H
#define FIRN_VDB_SETTINGS_H

#include "firn/vdb.h"
#include "firn/vdb_points.h"
#include "firn/vdb_sequence.h"
#include "firn/vdb_surface.h"
#include "firn/vdb_write.h"

#ifdef __cplusplus
extern "C" {
#endif

firn_result firn_vdb_reader_def_check(const firn_vdb_reader_def *def, firn_error *error);
firn_result firn_vdb_shape_def_check(const firn_vdb_shape_def *def, firn_error *error);
firn_result firn_vdb_sequence_def_check(const firn_vdb_sequence_def *def, firn_error *error);
firn_result firn_vdb_write_def_check(const firn_vdb_write_def *def, firn_error *error);
firn_result firn_vdb_points_def_check(const firn_vdb_points_def *def, firn_error *error);
firn_result firn_vdb_mesh_def_check(const firn_vdb_mesh_def *def, firn_error *error);
firn_result firn_vdb_skin_def_check(const firn_vdb_skin_def *def, firn_error *error);

#ifdef __cplusplus
}
#endif

#endif
