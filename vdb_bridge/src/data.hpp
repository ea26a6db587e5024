/// What reading a file gives: plain data, without OpenVDB. The same bytes cross from the helper
/// process, so each kind says once, in `transfer`, what it consists of.
#pragma once

#include "firn/vdb.h"
#include "firn/vdb_points.h"
#include "guard.hpp"

#include <string>
#include <vector>

namespace firn_vdb
{

struct meta_entry {
    std::string name, type, value;
};

struct grid_entry {
    std::string name, type;
    firn_vdb_grid info = {}; // its pointers are set by firn_vdb_listing::link
    std::vector<meta_entry> meta;
    std::vector<firn_vdb_meta> meta_view;
};

struct level_set_data {
    firn_transform map;
    float background = 0.0f; // m; 0: there is no surface
    array<firn_coord> origins;
    array<float> values;
    array<firn_tile> tiles;
};

struct velocity_data {
    firn_transform map;
    array<firn_coord> origins;
    array<firn_vec3> values;
};

struct attribute_data {
    std::string name;
    int32_t type;
    array<unsigned char> bytes;
};

/// What to read: which of the read_grids functions, and its arguments.
enum class kind : uint32_t { listing, shape, volume, cloud };

/// Beside firn_vdb_region: no surface, velocities alone.
enum { REGION_NONE = 100 };

struct request {
    kind what;
    std::string path;                // as the caller names it
    std::string location;            // where it is, whatever the current folder
    std::string grid, velocity_grid; // empty: by the rules
    int32_t region = 0;              // firn_vdb_region or REGION_NONE
    bool velocity = false;
    float threshold = 0.0f, half_width = 0.0f;
};

} // namespace firn_vdb

struct firn_vdb_listing {
    uint64_t bytes = 0;
    std::vector<firn_vdb::grid_entry> grids;
    std::vector<firn_vdb::meta_entry> meta;
    std::vector<firn_vdb_grid> grid_view;
    std::vector<firn_vdb_meta> meta_view;

    void link(); // sets the views
};

struct firn_vdb_shape {
    firn_vdb::level_set_data surface = {};
    firn_vdb::velocity_data velocity = {};
    std::string warning;
    bool derived = false; // velocity was made from the motion, not read
    firn_level_set surface_view = {};
    firn_velocity_grid velocity_view = {};

    void link();
};

struct firn_vdb_volume {
    firn_transform map = {};
    bool aligned = false;
    float reference_density = 0.0f;
    firn_vdb::array<firn_coord> origins;
    firn_vdb::array<uint64_t> mask;
    firn_vdb::array<float> density;
    firn_vdb::array<firn_vec3> velocity;     // empty: none
    firn_vdb::array<uint64_t> velocity_mask; // empty: the mask
    firn_vdb::array<float> compaction;       // empty: none
};

struct firn_vdb_cloud {
    firn_vdb::array<firn_vec3> positions;
    std::vector<firn_vdb::attribute_data> attributes;
    std::vector<firn_vdb_attribute> attribute_view;

    void link();
};

namespace firn_vdb
{

// A wire has value(T &), text(std::string &), items(array<T> &) and list(std::vector<T> &); one
// that sends leaves the arguments alone, one that receives fills them.

template <class Wire> void transfer(Wire &wire, meta_entry &entry)
{
    wire.text(entry.name);
    wire.text(entry.type);
    wire.text(entry.value);
}

template <class Wire> void transfer(Wire &wire, grid_entry &entry)
{
    wire.text(entry.name);
    wire.text(entry.type);
    wire.value(entry.info.grid_class);
    wire.value(entry.info.half);
    wire.value(entry.info.usable);
    wire.value(entry.info.matrix);
    wire.value(entry.info.map);
    wire.value(entry.info.voxel_size);
    wire.value(entry.info.counted);
    wire.value(entry.info.box_min);
    wire.value(entry.info.box_max);
    wire.value(entry.info.active_voxels);
    wire.list(entry.meta);
}

template <class Wire> void transfer(Wire &wire, firn_vdb_listing &listing)
{
    wire.value(listing.bytes);
    wire.list(listing.grids);
    wire.list(listing.meta);
}

template <class Wire> void transfer(Wire &wire, firn_vdb_shape &shape)
{
    wire.value(shape.surface.map);
    wire.value(shape.surface.background);
    wire.items(shape.surface.origins);
    wire.items(shape.surface.values);
    wire.items(shape.surface.tiles);
    wire.value(shape.velocity.map);
    wire.items(shape.velocity.origins);
    wire.items(shape.velocity.values);
    wire.text(shape.warning);
}

template <class Wire> void transfer(Wire &wire, firn_vdb_volume &volume)
{
    wire.value(volume.map);
    wire.value(volume.aligned);
    wire.value(volume.reference_density);
    wire.items(volume.origins);
    wire.items(volume.mask);
    wire.items(volume.density);
    wire.items(volume.velocity);
    wire.items(volume.velocity_mask);
    wire.items(volume.compaction);
}

template <class Wire> void transfer(Wire &wire, attribute_data &attribute)
{
    wire.text(attribute.name);
    wire.value(attribute.type);
    wire.items(attribute.bytes);
}

template <class Wire> void transfer(Wire &wire, firn_vdb_cloud &cloud)
{
    wire.items(cloud.positions);
    wire.list(cloud.attributes);
}

template <class Wire> void transfer(Wire &wire, request &wanted)
{
    wire.value(wanted.what);
    wire.text(wanted.path);
    wire.text(wanted.location);
    wire.text(wanted.grid);
    wire.text(wanted.velocity_grid);
    wire.value(wanted.region);
    wire.value(wanted.velocity);
    wire.value(wanted.threshold);
    wire.value(wanted.half_width);
}

/// Refuses anything that users of the data may rely on not to be there: values that are not
/// finite, arrays of unequal length, leaves off the lattice. path is for messages.
void validate(const firn_vdb_listing &listing, const std::string &path);
void validate(const firn_vdb_shape &shape, const std::string &path);
void validate(const firn_vdb_volume &volume, const std::string &path);
void validate(const firn_vdb_cloud &cloud, const std::string &path);

bool all_finite(const float *values, size_t count);

/// Bytes of one value of an attribute.
size_t attribute_size(int type);

/// Keeps OpenVDB from printing: it warns of newer files, which are read all the same. For a process
/// of our own.
void silence_openvdb();

// The readers, which use OpenVDB. location is what to open, wanted.path what to call it.
void read_grids(const request &wanted, const std::string &location, firn_vdb_listing &listing);
void read_grids(const request &wanted, const std::string &location, firn_vdb_shape &shape);
void read_grids(const request &wanted, const std::string &location, firn_vdb_volume &volume);
void read_grids(const request &wanted, const std::string &location, firn_vdb_cloud &cloud);

constexpr kind kind_of(const firn_vdb_listing &) { return kind::listing; }
constexpr kind kind_of(const firn_vdb_shape &) { return kind::shape; }
constexpr kind kind_of(const firn_vdb_volume &) { return kind::volume; }
constexpr kind kind_of(const firn_vdb_cloud &) { return kind::cloud; }

} // namespace firn_vdb
