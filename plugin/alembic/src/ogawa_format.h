/// Numbers and names of Alembic on Ogawa that the reader and the writer share.
#ifndef FIRN_OGAWA_FORMAT_H
#define FIRN_OGAWA_FORMAT_H

#include "firn/abc.h"

#include <float.h>

enum {
    OGAWA_HEADER_SIZE = 16,
    OGAWA_FROZEN_AT = 5, // 0xff when the file is finished
    OGAWA_ROOT_OFFSET_AT = 8,
    OGAWA_FROZEN = 0xff,
    OGAWA_KEY_SIZE = 16,    // in front of the values of every sample
    OGAWA_HASHES_SIZE = 32, // after the child headers of every object
    OGAWA_ROOT_CHILDREN = 6,
    OGAWA_LAYOUT_VERSION = 0,
    OGAWA_MIN_LIBRARY_VERSION = 9999,
    OGAWA_METADATA_INLINE = 255,
    OGAWA_METADATA_TABLE_LIMIT = 65536, // bytes
};

#define OGAWA_MAGIC "Ogawa"
#define OGAWA_DATA_BIT ((uint64_t)1 << 63) // in a child word: data, not a group

/// The time per cycle that marks acyclic sampling.
#define OGAWA_ACYCLIC (DBL_MAX / 32.0)

/// Fields of the info word of a property header.
enum {
    OGAWA_INFO_KIND = 0x00000003,
    OGAWA_INFO_HINT_SHIFT = 2,
    OGAWA_INFO_POD_SHIFT = 4,
    OGAWA_INFO_HAS_TIME = 0x00000100,
    OGAWA_INFO_HAS_RANGE = 0x00000200,
    OGAWA_INFO_HOMOGENEOUS = 0x00000400,
    OGAWA_INFO_CONSTANT = 0x00000800,
    OGAWA_INFO_EXTENT_SHIFT = 12,
    OGAWA_INFO_METADATA_SHIFT = 20,
};

enum { OGAWA_COMPOUND = 0, OGAWA_SCALAR = 1, OGAWA_ARRAY = 2, OGAWA_SCALAR_LIKE = 3 };

/// Op codes of an Xform, the high half of an op byte.
enum {
    OGAWA_OP_SCALE = 0,
    OGAWA_OP_TRANSLATE = 1,
    OGAWA_OP_ROTATE = 2,
    OGAWA_OP_MATRIX = 3,
    OGAWA_OP_ROTATE_X = 4,
    OGAWA_OP_ROTATE_Y = 5,
    OGAWA_OP_ROTATE_Z = 6,
    OGAWA_OP_COUNT = 7,
};

#define OGAWA_SCHEMA_POINTS "AbcGeom_Points_v1"
#define OGAWA_SCHEMA_POLYMESH "AbcGeom_PolyMesh_v1"
#define OGAWA_SCHEMA_SUBD "AbcGeom_SubD_v1"
#define OGAWA_SCHEMA_XFORM "AbcGeom_Xform_v3"
#define OGAWA_SCHEMA_FACESET "AbcGeom_FaceSet_v1"
#define OGAWA_SCHEMA_CAMERA "AbcGeom_Camera_v1"
#define OGAWA_SCHEMA_GEOM_BASE "AbcGeom_GeomBase_v1"

#endif
