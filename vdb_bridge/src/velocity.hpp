/// Velocities of a file, whatever form they have there: vectors at cell centers, vectors on faces,
/// or three scalar grids. A part of read_grids.cc.
#pragma once

#include "grids.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace firn_vdb
{

using namespace openvdb;

static_assert(sizeof(Vec3s) == sizeof(firn_vec3));

struct coord_less {
    bool operator()(const firn_coord &a, const firn_coord &b) const
    {
        return std::tie(a.x, a.y, a.z) < std::tie(b.x, b.y, b.z);
    }
};
using leaf_set = std::set<firn_coord, coord_less>;

/// Velocities of a file in whatever form it has them, on a lattice of cell centers.
class velocity_field
{
  public:
    /// False when the file has none. name is empty: by the rules.
    bool load(input_file &file, const std::string &name);

    const firn_transform &map() const { return map_; }
    leaf_set leaves() const;
    /// Makes voxels of tiles, which are no leaves: even air is stored so.
    void spread_tiles(const std::string &path);
    /// 512 values of the leaf; true when any is known: active, or not zero.
    bool fill(const firn_coord &origin, firn_vec3 *values) const;

  private:
    bool load_named(input_file &file, const std::string &name);
    void set_triple_map(const std::string &path);
    bool fill_vector(const Coord &origin, firn_vec3 *values) const;
    bool fill_triple(const Coord &origin, firn_vec3 *values) const;
    bool fill_axis(int axis, const Coord &origin, firn_vec3 *values) const;

    firn_transform map_;
    Vec3SGrid::Ptr vector_;
    bool staggered_ = false;
    FloatGrid::Ptr scalar_[3];
    Vec3d shift_[3]; // voxels, from the lattice to that of each scalar grid
};

inline bool velocity_field::load(input_file &file, const std::string &name)
{
    if (!name.empty()) {
        if (!load_named(file, name))
            fail(FIRN_ERR_NOT_FOUND, "'%s' has no velocity '%s'; it has %s", file.path().c_str(),
                 name.c_str(), file.names().c_str());
        return true;
    }
    for (const char *usual : {"vel", "v", "velocity"})
        if (load_named(file, usual))
            return true;
    return false;
}

inline bool velocity_field::load_named(input_file &file, const std::string &name)
{
    const GridBase *grid = file.find(name);
    if (grid != nullptr && is_vector(*grid)) {
        map_ = required_map(*grid, file.path());
        vector_ = load_vector(file, *grid);
        staggered_ = grid->getGridClass() == GRID_STAGGERED;
        return true;
    }
    const GridBase *parts[3];
    for (int axis = 0; axis < 3; axis++) {
        parts[axis] = file.find(name + "." + "xyz"[axis]);
        if (parts[axis] == nullptr || !is_scalar(*parts[axis]))
            return false;
    }
    for (int axis = 0; axis < 3; axis++)
        scalar_[axis] = load_scalar(file, *parts[axis]);
    set_triple_map(file.path());
    return true;
}

// The three grids may stand on the faces of the cells, each half a voxel off along its own axis.
// The lattice of cell centers has, along each axis, the place that the other two grids agree on.
inline void velocity_field::set_triple_map(const std::string &path)
{
    firn_transform maps[3];
    for (int axis = 0; axis < 3; axis++)
        maps[axis] = required_map(*scalar_[axis], path);
    Vec3d offset[3]; // of each grid from the first, in voxels
    for (int axis = 0; axis < 3; axis++) {
        firn_vec3 o = firn_transform_point_inverse(maps[0], maps[axis].translation);
        offset[axis] = Vec3d(o.x, o.y, o.z);
        firn_transform moved = maps[axis];
        moved.translation = maps[0].translation;
        if (!same_lattice(moved, maps[0]) || !(offset[axis].length() < 2.0))
            fail(FIRN_ERR_UNSUPPORTED,
                 "the three velocity grids of '%s' have different voxels or stand apart",
                 path.c_str());
    }
    Vec3d center(offset[1].x(), offset[0].y(), offset[0].z());
    map_ = maps[0];
    map_.translation =
        firn_transform_point(maps[0], {(float)center.x(), (float)center.y(), (float)center.z()});
    for (int axis = 0; axis < 3; axis++)
        for (int i = 0; i < 3; i++) {
            double shift = center[i] - offset[axis][i];
            // Halves are meant exactly, whatever the rounding of the transforms.
            double half = 0.5 * std::round(2.0 * shift);
            shift_[axis][i] = std::fabs(shift - half) < 1e-3 ? half : shift;
        }
}

inline leaf_set velocity_field::leaves() const
{
    leaf_set set;
    auto add = [&](const auto &tree) {
        for (auto leaf = tree.cbeginLeaf(); leaf; ++leaf)
            set.insert(coord_of(leaf->origin()));
    };
    if (vector_ != nullptr)
        add(vector_->tree());
    else
        for (const FloatGrid::Ptr &grid : scalar_)
            add(grid->tree());
    return set;
}

inline void velocity_field::spread_tiles(const std::string &path)
{
    constexpr Index64 most = Index64(1) << 26; // voxels, 800 MB
    auto spread = [&](auto &tree) {
        if (tree.activeVoxelCount() - tree.activeLeafVoxelCount() > most)
            fail(FIRN_ERR_UNSUPPORTED,
                 "'%s' has even air over more than %lld voxels; clip it to the shot", path.c_str(),
                 static_cast<long long>(most));
        tree.voxelizeActiveTiles();
    };
    if (vector_ != nullptr)
        return spread(vector_->tree());
    for (const FloatGrid::Ptr &grid : scalar_)
        spread(grid->tree());
}

inline bool velocity_field::fill(const firn_coord &origin, firn_vec3 *values) const
{
    Coord first(origin.x, origin.y, origin.z);
    return vector_ != nullptr ? fill_vector(first, values) : fill_triple(first, values);
}

inline bool velocity_field::fill_vector(const Coord &origin, firn_vec3 *values) const
{
    const auto *leaf = staggered_ ? nullptr : vector_->tree().probeConstLeaf(origin);
    if (leaf != nullptr) {
        const Vec3s *from = leaf->buffer().data();
        std::memcpy(static_cast<void *>(values), from, FIRN_LEAF_VOXELS * sizeof *values);
        return !leaf->isEmpty() || std::any_of(from, from + FIRN_LEAF_VOXELS,
                                               [](const Vec3s &v) { return v != Vec3s(0.0f); });
    }
    auto at = vector_->getConstUnsafeAccessor();
    bool any = false;
    for (int n = 0; n < FIRN_LEAF_VOXELS; n++) {
        Coord voxel = leaf_voxel(origin, n);
        Vec3s v;
        bool active = at.probeValue(voxel, v);
        if (staggered_)
            // Component i stands on the lower face of axis i; faces that are not there do not
            // count.
            for (int axis = 0; axis < 3; axis++) {
                Coord next = voxel;
                next[axis] += 1;
                Vec3s upper;
                bool upper_active = at.probeValue(next, upper);
                if (upper_active)
                    v[axis] = active ? 0.5f * (v[axis] + upper[axis]) : upper[axis];
            }
        values[n] = {v.x(), v.y(), v.z()};
        any = any || active || v != Vec3s(0.0f);
    }
    return any;
}

/// Values of a scalar grid around a leaf, and which of them are known.
struct scalar_window {
    static constexpr int EDGE = FIRN_LEAF_EDGE + 1; // a leaf and what is above it
    float value[EDGE * EDGE * EDGE];
    uint8_t known[EDGE * EDGE * EDGE];

    static int at(int x, int y, int z) { return (x * EDGE + y) * EDGE + z; }

    void gather(FloatGrid::ConstUnsafeAccessor &accessor, const Coord &first);

  private:
    void copy_leaf(FloatGrid::ConstUnsafeAccessor &accessor, const Coord &leaf, const Coord &first);
};

// The part of one leaf that lies in the window.
inline void scalar_window::copy_leaf(FloatGrid::ConstUnsafeAccessor &accessor, const Coord &leaf,
                                     const Coord &first)
{
    const auto *found = accessor.probeConstLeaf(leaf);
    float even = 0.0f;
    bool active = found == nullptr && accessor.probeValue(leaf, even);
    Coord low = Coord::maxComponent(leaf, first), high = leaf.offsetBy(FIRN_LEAF_EDGE - 1);
    high = Coord::minComponent(high, first.offsetBy(EDGE - 1));
    for (int x = low.x(); x <= high.x(); x++)
        for (int y = low.y(); y <= high.y(); y++)
            for (int z = low.z(); z <= high.z(); z++) {
                int to = at(x - first.x(), y - first.y(), z - first.z());
                Index n = ((Index)(x & 7) << 6) | ((Index)(y & 7) << 3) | (Index)(z & 7);
                value[to] = found != nullptr ? found->getValue(n) : even;
                known[to] = found != nullptr ? found->isValueOn(n) : active;
            }
}

inline void scalar_window::gather(FloatGrid::ConstUnsafeAccessor &accessor, const Coord &first)
{
    Coord low = first & ~(FIRN_LEAF_EDGE - 1);
    Coord high = first.offsetBy(EDGE - 1) & ~(FIRN_LEAF_EDGE - 1);
    for (int x = low.x(); x <= high.x(); x += FIRN_LEAF_EDGE)
        for (int y = low.y(); y <= high.y(); y += FIRN_LEAF_EDGE)
            for (int z = low.z(); z <= high.z(); z += FIRN_LEAF_EDGE)
                copy_leaf(accessor, Coord(x, y, z), first);
}

// All voxels of a leaf stand in the same way between those of a scalar grid, so that the weights
// of the corners around them are the same, and most are zero.
inline bool velocity_field::fill_axis(int axis, const Coord &origin, firn_vec3 *values) const
{
    const Vec3d &shift = shift_[axis];
    const Coord below = Coord::floor(shift);
    auto accessor = scalar_[axis]->getConstUnsafeAccessor();
    scalar_window window;
    window.gather(accessor, origin + below);
    double sum[FIRN_LEAF_VOXELS] = {}, weights[FIRN_LEAF_VOXELS] = {};
    for (int corner = 0; corner < 8; corner++) {
        int step[3] = {corner & 1, (corner >> 1) & 1, corner >> 2};
        double weight = 1.0;
        for (int i = 0; i < 3; i++)
            weight *= 1.0 - std::fabs(shift[i] - below[i] - step[i]);
        if (!(weight > 0.0))
            continue;
        for (int row = 0; row < 64; row++) {
            int from = scalar_window::at((row >> 3) + step[0], (row & 7) + step[1], step[2]);
            for (int z = 0; z < 8; z++) {
                bool known = window.known[from + z] != 0;
                sum[8 * row + z] += known ? weight * window.value[from + z] : 0.0;
                weights[8 * row + z] += known ? weight : 0.0;
            }
        }
    }
    bool any = false;
    for (int n = 0; n < FIRN_LEAF_VOXELS; n++) {
        (&values[n].x)[axis] = weights[n] > 0.0 ? (float)(sum[n] / weights[n]) : 0.0f;
        any = any || weights[n] > 0.0;
    }
    return any;
}

inline bool velocity_field::fill_triple(const Coord &origin, firn_vec3 *values) const
{
    bool any = false;
    for (int axis = 0; axis < 3; axis++)
        any = fill_axis(axis, origin, values) || any;
    return any;
}

/// Leaves of one lattice that touch the leaves of a level set on another: where a velocity that is
/// stored as a large tile is needed voxel by voxel.
inline void add_leaves_around(const level_set_data &surface, const firn_transform &map,
                              leaf_set &set)
{
    for (const firn_coord &origin : surface.origins) {
        CoordBBox box;
        for (int corner = 0; corner < 8; corner++) {
            firn_vec3 local = {(float)(origin.x + 7 * (corner & 1)),
                               (float)(origin.y + 7 * ((corner >> 1) & 1)),
                               (float)(origin.z + 7 * (corner >> 2))};
            firn_vec3 p =
                firn_transform_point_inverse(map, firn_transform_point(surface.map, local));
            if (!(std::fabs(p.x) < 1e9f && std::fabs(p.y) < 1e9f && std::fabs(p.z) < 1e9f))
                return;
            box.expand(Coord::round(Vec3d(p.x, p.y, p.z)));
        }
        // A lattice much finer than the level set would need more leaves than the surface has.
        Coord low = box.min() & ~(FIRN_LEAF_EDGE - 1), high = box.max() & ~(FIRN_LEAF_EDGE - 1);
        if ((high - low).asVec3d().length() > 8 * FIRN_LEAF_EDGE)
            return;
        for (int x = low.x(); x <= high.x(); x += FIRN_LEAF_EDGE)
            for (int y = low.y(); y <= high.y(); y += FIRN_LEAF_EDGE)
                for (int z = low.z(); z <= high.z(); z += FIRN_LEAF_EDGE)
                    set.insert({x, y, z});
    }
}

inline velocity_data velocity_of(const velocity_field &field, const level_set_data &surface)
{
    leaf_set set = field.leaves();
    add_leaves_around(surface, field.map(), set);
    std::vector<firn_coord> candidates(set.begin(), set.end());
    array<firn_vec3> values(FIRN_LEAF_VOXELS * candidates.size());
    std::vector<char> used(candidates.size());
    tbb::parallel_for(size_t(0), candidates.size(), [&](size_t i) {
        used[i] = field.fill(candidates[i], values.data() + FIRN_LEAF_VOXELS * i);
    });
    size_t count = (size_t)std::count(used.begin(), used.end(), 1);
    velocity_data data = {field.map(), array<firn_coord>(count),
                          array<firn_vec3>(FIRN_LEAF_VOXELS * count)};
    size_t filled = 0;
    for (size_t i = 0; i < candidates.size(); i++) {
        if (!used[i])
            continue;
        data.origins[filled] = candidates[i];
        std::memcpy(data.values.data() + FIRN_LEAF_VOXELS * filled,
                    values.data() + FIRN_LEAF_VOXELS * i, FIRN_LEAF_VOXELS * sizeof(firn_vec3));
        filled++;
    }
    return data;
}

} // namespace firn_vdb
