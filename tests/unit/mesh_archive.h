/// An Alembic archive with one mesh that moves, for tests of what reads such files.
#ifndef FIRN_TEST_MESH_ARCHIVE_H
#define FIRN_TEST_MESH_ARCHIVE_H

#include "firn/abc_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/// Writes frames 1 to last at 24 per second; pose gives the points of each. data has all but the
/// positions.
static inline void write_mesh_archive(const char *path, const char *name, int last,
                                      firn_abc_mesh_data data, firn_vec3 *points,
                                      void (*pose)(int frame, firn_vec3 *points))
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    assert_int_equal(firn_abc_writer_create(path, &def, &writer, NULL), FIRN_OK);
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    firn_abc_writer_add_clock(writer, 1.0 / 24.0, 1.0 / 24.0, &mesh.clock, NULL);
    firn_abc_node node;
    firn_abc_writer_add_mesh(writer, FIRN_ABC_ROOT, name, &mesh, &node, NULL);
    uint32_t done = 0;
    firn_abc_writer_begin(writer, &done, NULL);
    data.positions = points;
    for (int frame = 1; frame <= last; frame++) {
        pose(frame, points);
        assert_int_equal(firn_abc_writer_put_mesh(writer, node, &data, NULL), FIRN_OK);
        firn_abc_writer_end_frame(writer, NULL);
    }
    assert_int_equal(firn_abc_writer_finish(writer, NULL), FIRN_OK);
}

#endif
