/// The first stage of OpenVDB's meshToVolume, which marks the voxels around each triangle, for
/// meshes whose triangles are no larger than a few voxels. There OpenVDB spends most of its time:
/// it finds the distance from every triangle to every voxel that it visits, about seventy for a
/// triangle of half a voxel. Here a voxel is only looked at when the triangle's box and plane are
/// nearer to it than what is known already, and leaves are found once for a triangle. The same
/// voxels are visited and the same values come out, bit by bit. A part of surface.cc.
#pragma once

#include "triangulate.hpp"

#include <openvdb/tools/MeshToVolume.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace firn_vdb
{

using namespace openvdb;

/// The triangles of a mesh, in voxels, as meshToVolume asks for them.
struct triangle_list {
    const std::vector<triangle> &triangles;
    const std::vector<Vec3s> &points;

    size_t polygonCount() const { return triangles.size(); }
    size_t pointCount() const { return points.size(); }
    size_t vertexCount(size_t) const { return 3; }
    void getIndexSpacePoint(size_t n, size_t corner, Vec3d &position) const
    {
        position = points[(size_t)triangles[n][corner]];
    }
};

/// Triangles of any size: another type, for which OpenVDB's own stage stands.
struct large_triangle_list : triangle_list {
};

struct stop_question {
    const firn_vdb_mesh_def &def;
    bool wasInterrupted(int = -1) const { return def.stop != nullptr && def.stop(def.user); }
};

using voxels_of_thread = tools::mesh_to_volume_internal::VoxelizationData<FloatTree>;

/// The voxels around one small triangle. Rows of cells along z are bits of a word.
class triangle_voxels
{
  public:
    explicit triangle_voxels(voxels_of_thread &to) : to_(to) {}

    /// False: the triangle is too large.
    bool set(const Vec3d &a, const Vec3d &b, const Vec3d &c, Int32 number);
    /// Marks the cells that the triangle cuts, from the one of its first corner on, and those
    /// around them.
    void mark();

  private:
    enum { EDGE = 16 }; // cells along an axis, at most
    using row = uint32_t;

    struct leaf_pair {
        Coord origin;
        FloatTree::LeafNodeType *distance;
        Int32Tree::LeafNodeType *nearest;
    };

    void find_bounds();
    /// Not more than the squared distance of a cell, rounding included.
    float bound(int x, int y, int z) const
    {
        float box = gap_[0][x] + gap_[1][y] + gap_[2][z];
        float plane = plane_[0][x] + plane_[1][y] + plane_[2][z];
        return std::max(box, plane * plane) * (1.0f - 1e-4f) - 1e-5f;
    }
    float distance(int x, int y, int z) const;
    void find_cut();
    bool widen(const row from[EDGE][EDGE], row to[EDGE][EDGE]) const;
    void take(int x, int y, row cells);
    leaf_pair &leaf_at(const Coord &voxel);

    voxels_of_thread &to_;
    leaf_pair leaves_[8] = {}; // the last ones, by the parity of their place
    Vec3d corner_[3];
    Int32 number_ = 0;
    int first_[3], count_[3];             // cells
    float gap_[3][EDGE], plane_[3][EDGE]; // to the box, squared, and to the plane: a sum of each
    row cut_[EDGE][EDGE];                 // cells that the triangle cuts
    row found_[EDGE][EDGE], all_[EDGE][EDGE]; // of those the ones found, and all that is visited
};

inline bool triangle_voxels::set(const Vec3d &a, const Vec3d &b, const Vec3d &c, Int32 number)
{
    // A voxel is cut when its center is within half of its diagonal; those around it are visited.
    constexpr double reach = 0.867;
    corner_[0] = a;
    corner_[1] = b;
    corner_[2] = c;
    number_ = number;
    for (int axis = 0; axis < 3; axis++) {
        double low = std::min({a[axis], b[axis], c[axis]});
        double high = std::max({a[axis], b[axis], c[axis]});
        if (!(high - low < EDGE))
            return false;
        first_[axis] = (int)std::floor(low - reach) - 1;
        count_[axis] = (int)std::ceil(high + reach) + 2 - first_[axis];
        if (count_[axis] > EDGE)
            return false;
        for (int i = 0; i < count_[axis]; i++) {
            double x = first_[axis] + i, gap = std::max({low - x, x - high, 0.0});
            gap_[axis][i] = (float)(gap * gap);
        }
    }
    find_bounds();
    return true;
}

// The plane of a sliver is not known well enough to tell a distance by.
inline void triangle_voxels::find_bounds()
{
    Vec3d u = corner_[1] - corner_[0], v = corner_[2] - corner_[0], normal = u.cross(v);
    double longest = std::max({u.lengthSqr(), v.lengthSqr(), (v - u).lengthSqr()});
    double area = normal.lengthSqr();
    bool known = area > 1e-4 * longest * longest && area > 0.0;
    double unit = known ? 1.0 / std::sqrt(area) : 0.0;
    for (int axis = 0; axis < 3; axis++)
        for (int i = 0; i < count_[axis]; i++)
            plane_[axis][i] = (float)(unit * normal[axis] * (first_[axis] + i - corner_[0][axis]));
}

inline float triangle_voxels::distance(int x, int y, int z) const
{
    Vec3d center(first_[0] + x, first_[1] + y, first_[2] + z), weights;
    return (float)(center - math::closestPointOnTriangleToPoint(corner_[0], corner_[2], corner_[1],
                                                                center, weights))
        .lengthSqr();
}

inline void triangle_voxels::find_cut()
{
    for (int x = 0; x < count_[0]; x++)
        for (int y = 0; y < count_[1]; y++) {
            cut_[x][y] = found_[x][y] = all_[x][y] = 0;
            bool far = gap_[0][x] + gap_[1][y] > 0.76f;
            for (int z = 0; z < count_[2] && !far; z++)
                if (bound(x, y, z) <= 0.75f && distance(x, y, z) <= 0.75f)
                    cut_[x][y] |= row{1} << z;
        }
}

/// What is within a cell of `from`, beside what `to` has; true when there is anything new.
inline bool triangle_voxels::widen(const row from[EDGE][EDGE], row to[EDGE][EDGE]) const
{
    row news = 0;
    for (int x = 0; x < count_[0]; x++)
        for (int y = 0; y < count_[1]; y++) {
            row around = from[x][y] | from[x][y] << 1 | from[x][y] >> 1;
            if (around == 0)
                continue;
            for (int i = std::max(x - 1, 0); i <= std::min(x + 1, count_[0] - 1); i++)
                for (int j = std::max(y - 1, 0); j <= std::min(y + 1, count_[1] - 1); j++) {
                    news |= around & ~to[i][j];
                    to[i][j] |= around;
                }
        }
    return news != 0;
}

inline triangle_voxels::leaf_pair &triangle_voxels::leaf_at(const Coord &voxel)
{
    leaf_pair &leaf =
        leaves_[(voxel[0] >> 3 & 1) << 2 | (voxel[1] >> 3 & 1) << 1 | (voxel[2] >> 3 & 1)];
    Coord origin = voxel & ~7;
    if (leaf.distance == nullptr || leaf.origin != origin)
        leaf = {origin, to_.distAcc.touchLeaf(voxel), to_.indexAcc.touchLeaf(voxel)};
    return leaf;
}

/// Takes the triangle for the cells of a row that it is nearer to than others.
inline void triangle_voxels::take(int x, int y, row cells)
{
    leaf_pair *leaf = nullptr;
    for (; cells != 0; cells &= cells - 1) {
        int z = __builtin_ctz(cells);
        Coord voxel(first_[0] + x, first_[1] + y, first_[2] + z);
        if (leaf == nullptr || leaf->origin != (voxel & ~7))
            leaf = &leaf_at(voxel);
        Index offset = FloatTree::LeafNodeType::coordToOffset(voxel);
        float known = leaf->distance->getValue(offset);
        if (bound(x, y, z) > known)
            continue;
        float d = distance(x, y, z);
        if (d < known) {
            leaf->distance->setValueOn(offset, d);
            leaf->nearest->setValueOn(offset, number_);
        } else if (d == known) {
            // The same triangle for any order of work.
            leaf->nearest->setValueOnly(offset, std::min(number_, leaf->nearest->getValue(offset)));
        }
    }
}

inline void triangle_voxels::mark()
{
    find_cut();
    Coord start = Coord::floor(corner_[0]);
    found_[start[0] - first_[0]][start[1] - first_[1]] = row{1} << (start[2] - first_[2]);
    while (widen(found_, all_)) {
        for (int x = 0; x < count_[0]; x++)
            for (int y = 0; y < count_[1]; y++)
                found_[x][y] |= all_[x][y] & cut_[x][y];
    }
    row inside = (row{1} << count_[2]) - 1;
    for (int x = 0; x < count_[0]; x++)
        for (int y = 0; y < count_[1]; y++)
            take(x, y, all_[x][y] & inside);
}

} // namespace firn_vdb

namespace openvdb
{
OPENVDB_USE_VERSION_NAMESPACE
namespace OPENVDB_VERSION_NAME
{
namespace tools
{
namespace mesh_to_volume_internal
{

template <> class VoxelizePolygons<FloatTree, firn_vdb::triangle_list, firn_vdb::stop_question>
{
  public:
    using VoxelizationDataType = VoxelizationData<FloatTree>;
    using DataTable = tbb::enumerable_thread_specific<VoxelizationDataType::Ptr>;

    VoxelizePolygons(DataTable &table, const firn_vdb::triangle_list &mesh,
                     firn_vdb::stop_question *stop)
        : table_(&table), mesh_(&mesh), stop_(stop)
    {
    }

    void operator()(const tbb::blocked_range<size_t> &range) const
    {
        VoxelizationDataType::Ptr &data = table_->local();
        if (!data)
            data.reset(new VoxelizationDataType());
        const firn_vdb::large_triangle_list same = {*mesh_};
        VoxelizePolygons<FloatTree, firn_vdb::large_triangle_list, firn_vdb::stop_question> others(
            *table_, same, stop_);
        firn_vdb::triangle_voxels small(*data);
        for (size_t n = range.begin(); n < range.end(); n++) {
            Vec3d corner[3];
            for (size_t i = 0; i < 3; i++)
                mesh_->getIndexSpacePoint(n, i, corner[i]);
            if (stop_->wasInterrupted()) {
                thread::cancelGroupExecution();
                return;
            }
            if (small.set(corner[0], corner[1], corner[2], (Int32)n))
                small.mark();
            else
                others(tbb::blocked_range<size_t>(n, n + 1));
        }
    }

  private:
    DataTable *table_;
    const firn_vdb::triangle_list *mesh_;
    firn_vdb::stop_question *stop_;
};

} // namespace mesh_to_volume_internal
} // namespace tools
} // namespace OPENVDB_VERSION_NAME
} // namespace openvdb
