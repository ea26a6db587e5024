/// Particles from a cache: bgeo, Alembic, USD, VDB points or the vertices of a PLY, as one table.
#ifndef FIRN_POINT_FILE_H
#define FIRN_POINT_FILE_H

#include "placement.h"

#include "firn/abc.h"
#include "firn/bgeo.h"
#include "firn/points.h"
#include "firn/polygons.h"
#include "firn/usd_scene.h"
#include "firn/vdb_points.h"

/// What was read; the columns point into whichever of the files there is.
typedef struct firn_point_file {
    firn_bgeo *bgeo;
    firn_abc *abc; // archives stay open from one frame to the next
    firn_usd_scene *usd;
    char archive_path[4096];
    int64_t archive_changed[2]; // s and ns, when the archive was written
    firn_usd_cloud *cloud_of_usd;
    firn_abc_points abc_points;
    float *radius; // of an archive, which has diameters
    firn_polygons cloud_of_ply;
    firn_vdb_cloud *cloud;
    firn_attribute *columns;
    firn_points points;
} firn_point_file;

/// Reads a file by the end of its name. object is a pattern for archives, a grid for VDB; "" takes
/// the only one. time is for archives, in seconds. What was read before is given up; *file begins
/// as zeros. A file of a cache must be as it was written. Close it also after a failure.
firn_result firn_point_file_read(firn_point_file *file, const char *path, const char *object,
                                 double time, firn_error *error);
void firn_point_file_close(firn_point_file *file);

/// With what the file has recorded, if it is an archive.
firn_axes_def firn_point_file_axes(const firn_point_file *file, const firn_axes_def *axes);

#endif
