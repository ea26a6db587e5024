#include "firn/vdb_polygons.h"

#include "grids.hpp"

#include <openvdb/tools/VolumeToMesh.h>
#include <tbb/parallel_for.h>

#include <cmath>
#include <vector>

struct firn_vdb_polygons {
    std::vector<firn_vec3> points;
    std::vector<int32_t> sizes, indices;
};

namespace firn_vdb
{

using namespace openvdb;

namespace
{

void check(const firn_vdb_values &values, float limit, float adaptivity)
{
    bool sound = std::isfinite(values.voxel_size) && values.voxel_size > 0.0f &&
                 std::isfinite(limit) && adaptivity >= 0.0f && adaptivity <= 1.0f &&
                 values.outside > limit;
    if (!sound)
        fail(FIRN_ERR_ARGUMENT, "polygons need voxels of a positive size, an adaptivity of 0 to 1 "
                                "and a limit below the value outside");
    for (size_t i = 0; i < values.leaf_count * FIRN_LEAF_VOXELS; i++)
        if (!std::isfinite(values.values[i]))
            fail(FIRN_ERR_ARGUMENT, "polygons need values that are finite");
}

FloatGrid::Ptr grid_of(const firn_vdb_values &values)
{
    float h = values.voxel_size;
    FloatGrid::Ptr grid = FloatGrid::create(values.outside);
    grid->setTransform(transform_of({{0.5f * h, 0.5f * h, 0.5f * h}, firn_quat_identity(), h}));
    grid->setGridClass(GRID_LEVEL_SET);
    std::vector<FloatTree::LeafNodeType *> leaves(values.leaf_count);
    for (size_t i = 0; i < values.leaf_count; i++) {
        firn_coord c = values.leaf_origin[i];
        leaves[i] = grid->tree().touchLeaf(Coord(c.x, c.y, c.z));
    }
    tbb::parallel_for(size_t(0), values.leaf_count, [&](size_t i) {
        const float *from = values.values + FIRN_LEAF_VOXELS * i;
        for (int n = 0; n < FIRN_LEAF_VOXELS; n++)
            leaves[i]->setValueOn((Index)n, from[n]);
    });
    return grid;
}

// OpenVDB winds its faces clockwise.
void add_face(firn_vdb_polygons &to, const uint32_t *corners, int count)
{
    to.sizes.push_back(count);
    for (int k = count; k-- > 0;)
        to.indices.push_back((int32_t)corners[k]);
}

void make(const firn_vdb_values &values, float limit, float adaptivity, firn_vdb_polygons &to)
{
    std::vector<Vec3s> points;
    std::vector<Vec3I> triangles;
    std::vector<Vec4I> quads;
    tools::volumeToMesh(*grid_of(values), points, triangles, quads, (double)limit,
                        (double)adaptivity);
    if (points.size() > (size_t)INT32_MAX)
        fail(FIRN_ERR_UNSUPPORTED, "the surface has more points than a mesh can number; use larger "
                                   "voxels");
    to.points.reserve(points.size());
    for (const Vec3s &p : points)
        to.points.push_back({p.x(), p.y(), p.z()});
    to.sizes.reserve(triangles.size() + quads.size());
    to.indices.reserve(3 * triangles.size() + 4 * quads.size());
    for (const Vec4I &quad : quads)
        add_face(to, quad.asPointer(), 4);
    for (const Vec3I &triangle : triangles)
        add_face(to, triangle.asPointer(), 3);
}

} // namespace

} // namespace firn_vdb

using namespace firn_vdb;

firn_result firn_vdb_polygons_make(const firn_vdb_values *values, float limit, float adaptivity,
                                   int thread_count, firn_vdb_polygons **polygons,
                                   firn_error *error)
{
    *polygons = nullptr;
    return guarded(error, [&] {
        check(*values, limit, adaptivity);
        std::unique_ptr<firn_vdb_polygons> made(new firn_vdb_polygons);
        with_threads(thread_count, [&] { make(*values, limit, adaptivity, *made); });
        *polygons = made.release();
    });
}

firn_vdb_mesh firn_vdb_polygons_read(const firn_vdb_polygons *polygons)
{
    firn_vdb_mesh mesh = {};
    mesh.point_count = polygons->points.size();
    mesh.points = polygons->points.data();
    mesh.face_count = polygons->sizes.size();
    mesh.face_sizes = polygons->sizes.data();
    mesh.index_count = polygons->indices.size();
    mesh.indices = polygons->indices.data();
    return mesh;
}

void firn_vdb_polygons_destroy(firn_vdb_polygons *polygons) { delete polygons; }
