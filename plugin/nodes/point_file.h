/// Particles from a cache: bgeo, Alembic or VDB points, as one table.
#ifndef FIRN_POINT_FILE_H
#define FIRN_POINT_FILE_H

#include "firn/abc.h"
#include "firn/bgeo.h"
#include "firn/points.h"
#include "firn/vdb_points.h"

/// What was read; the columns point into whichever of the files there is.
typedef struct firn_point_file {
    firn_bgeo *bgeo;
    firn_abc *abc;
    firn_abc_points abc_points;
    float *radius; // of an archive, which has diameters
    firn_vdb_cloud *cloud;
    firn_attribute *columns;
    firn_points points;
} firn_point_file;

/// Reads a file by the end of its name. object is a pattern for archives, a grid for VDB; "" takes
/// the only one. time is for archives, in seconds. Close it also after a failure.
firn_result firn_point_file_read(firn_point_file *file, const char *path, const char *object,
                                 double time, firn_error *error);
void firn_point_file_close(firn_point_file *file);

#endif
