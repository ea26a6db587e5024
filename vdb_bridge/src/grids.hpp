/// What the units that use OpenVDB share.
#pragma once

#include "data.hpp"

#include <openvdb/openvdb.h>

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <map>

namespace firn_vdb
{

/// Rotation, uniform scale and translation of a grid; false when its transform is anything else.
bool map_of(const openvdb::math::Transform &transform, firn_transform &map);

/// The same, where anything else is an error.
firn_transform required_map(const openvdb::GridBase &grid, const std::string &path);

/// True when voxels with equal index stand at the same place, to a thousandth of a voxel.
bool same_lattice(const firn_transform &a, const firn_transform &b);

/// The transform of a map.
openvdb::math::Transform::Ptr transform_of(const firn_transform &map);

/// Copies leaves, and the tiles that differ from the background.
level_set_data level_set_of(const openvdb::FloatGrid &grid, const firn_transform &map);

/// The surface where a fog volume passes the threshold, as signed distance.
openvdb::FloatGrid::Ptr level_set_of_fog(const openvdb::FloatGrid &fog, float threshold,
                                         float half_width);

/// Runs body with at most this many threads; 0: all. TBB prints a warning when asked for more than
/// the machine has.
template <class Body> void with_threads(int count, Body &&body)
{
    if (count <= 0 || count >= tbb::info::default_concurrency())
        body();
    else
        tbb::task_arena(count).execute(body);
}

/// A file opened for reading, with the metadata of its grids.
class input_file
{
  public:
    /// location is what to open, path what to call it in messages.
    input_file(const std::string &location, const std::string &path);

    const std::string &path() const { return path_; }
    const openvdb::GridPtrVec &grids() const { return *grids_; } // without voxels
    openvdb::MetaMap::Ptr meta() { return file_.getMetadata(); }
    openvdb::GridBase::Ptr load(const openvdb::GridBase &grid); // with voxels

    const openvdb::GridBase *find(const std::string &name) const; // or nullptr
    std::string names() const; // "density, vel (vec3s)", for messages
    /// What the file calls the type of a grid that OpenVDB does not know, else what it does.
    std::string type_of(const openvdb::GridBase &grid) const;

  private:
    void note_unknown(const std::string &location);

    std::string path_;
    openvdb::io::File file_;
    openvdb::GridPtrVecPtr grids_;
    std::map<std::string, std::string> unknown_; // types by the names of grids
};

/// 16-bit floats in memory too, as OpenVDB 13 writes them (format 225). OpenVDB 10 has the tree,
/// but not the grid.
using half_grid = openvdb::Grid<openvdb::tree::Tree4<openvdb::math::half, 5, 4, 3>::Type>;

inline bool is_scalar(const openvdb::GridBase &grid)
{
    return grid.isType<openvdb::FloatGrid>() || grid.isType<openvdb::DoubleGrid>() ||
           grid.isType<half_grid>();
}

inline bool is_vector(const openvdb::GridBase &grid)
{
    return grid.isType<openvdb::Vec3SGrid>() || grid.isType<openvdb::Vec3DGrid>();
}

/// Loads a grid, converting double to float.
openvdb::FloatGrid::Ptr load_scalar(input_file &file, const openvdb::GridBase &grid);
openvdb::Vec3SGrid::Ptr load_vector(input_file &file, const openvdb::GridBase &grid);

inline firn_coord coord_of(const openvdb::Coord &c) { return {c.x(), c.y(), c.z()}; }

/// Voxel number n of a leaf.
inline openvdb::Coord leaf_voxel(const openvdb::Coord &origin, int n)
{
    return origin.offsetBy(n >> 6, (n >> 3) & 7, n & 7);
}

/// Writes grids to a file that appears when it is whole, checked and on disk.
void write_file(const char *path, const openvdb::GridPtrVec &grids, const openvdb::MetaMap &meta,
                int compression, firn_vdb_stamp *stamp);

/// Metadata that every file of ours has.
openvdb::MetaMap file_meta(int frame, float fps);
/// Adds an entry that the caller gave, of type string, int32 or float.
void add_meta(openvdb::MetaMap &meta, const firn_vdb_meta &entry);

} // namespace firn_vdb
