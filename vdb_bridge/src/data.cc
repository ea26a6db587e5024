#include "data.hpp"

#include <cmath>

namespace firn_vdb
{

// Not finite exactly when the exponent bits are all set; this loop vectorizes.
bool all_finite(const float *values, size_t count)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return bad == 0;
}

namespace
{

// Voxel indices stay where sums of a few of them cannot overflow.
constexpr int32_t INDEX_LIMIT = 1 << 30;

[[noreturn]] void refuse(const std::string &path, const char *what)
{
    fail(FIRN_ERR_FORMAT, "'%s' cannot be used: %s", path.c_str(), what);
}

bool finite(const firn_transform &map)
{
    return firn_vec_is_finite(map.translation) && std::isfinite(map.rotation.x) &&
           std::isfinite(map.rotation.y) && std::isfinite(map.rotation.z) &&
           std::isfinite(map.rotation.w) && std::isfinite(map.scale) && map.scale > 0.0f;
}

bool finite(const array<firn_vec3> &values)
{
    return all_finite(reinterpret_cast<const float *>(values.data()), 3 * values.size());
}

bool on_lattice(const firn_coord &origin, int32_t edge)
{
    for (int32_t o : {origin.x, origin.y, origin.z})
        if (o % edge != 0 || o > INDEX_LIMIT || o < -INDEX_LIMIT)
            return false;
    return true;
}

void check_origins(const array<firn_coord> &origins, const std::string &path)
{
    for (const firn_coord &origin : origins)
        if (!on_lattice(origin, FIRN_LEAF_EDGE))
            refuse(path, "it has voxels beyond 2^30 or off the lattice of leaves");
}

void check_length(size_t found, size_t expected, const std::string &path)
{
    if (found != expected)
        refuse(path, "its parts contradict each other");
}

} // namespace

void validate(const firn_vdb_listing &listing, const std::string &path)
{
    for (const grid_entry &grid : listing.grids) {
        if (grid.info.usable && !finite(grid.info.map))
            refuse(path, "a grid has a transform that is not finite");
        if (grid.info.grid_class < 0 || grid.info.grid_class > FIRN_VDB_CLASS_STAGGERED)
            refuse(path, "a grid is of no known class");
    }
}

namespace
{

void check_surface(const level_set_data &surface, const std::string &path)
{
    if (!finite(surface.map) || !(surface.background > 0.0f) || !std::isfinite(surface.background))
        refuse(path, "the level set has a background that is not a positive distance");
    check_origins(surface.origins, path);
    check_length(surface.values.size(), FIRN_LEAF_VOXELS * surface.origins.size(), path);
    if (!all_finite(surface.values.data(), surface.values.size()))
        refuse(path, "the level set has values that are not finite");
    for (const firn_tile &tile : surface.tiles) {
        bool edge = tile.edge == 8 || tile.edge == 128 || tile.edge == 4096;
        if (!edge || !on_lattice(tile.origin, tile.edge) || !std::isfinite(tile.value))
            refuse(path, "the level set has a damaged tile");
    }
}

} // namespace

void validate(const firn_vdb_shape &shape, const std::string &path)
{
    const level_set_data &surface = shape.surface;
    const velocity_data &velocity = shape.velocity;
    bool velocity_alone = surface.background == 0.0f && surface.origins.size() == 0 &&
                          surface.tiles.size() == 0 && velocity.origins.size() > 0;
    if (!velocity_alone)
        check_surface(surface, path);
    check_origins(velocity.origins, path);
    check_length(velocity.values.size(), FIRN_LEAF_VOXELS * velocity.origins.size(), path);
    if (velocity.origins.size() > 0 && (!finite(velocity.map) || !finite(velocity.values)))
        refuse(path, "the velocity has values that are not finite");
}

void validate(const firn_vdb_volume &volume, const std::string &path)
{
    size_t leaves = volume.origins.size(), voxels = FIRN_LEAF_VOXELS * leaves;
    if (!finite(volume.map) || !(volume.reference_density > 0.0f) ||
        !std::isfinite(volume.reference_density))
        refuse(path, "the volume has a transform or a reference density that is not finite");
    check_origins(volume.origins, path);
    check_length(volume.mask.size(), 8 * leaves, path);
    check_length(volume.density.size(), voxels, path);
    if (volume.velocity.size() > 0)
        check_length(volume.velocity.size(), voxels, path);
    if (volume.velocity_mask.size() > 0)
        check_length(volume.velocity_mask.size(), 8 * leaves, path);
    if (volume.compaction.size() > 0)
        check_length(volume.compaction.size(), voxels, path);
    if (!all_finite(volume.density.data(), volume.density.size()) || !finite(volume.velocity) ||
        !all_finite(volume.compaction.data(), volume.compaction.size()))
        refuse(path, "the volume has values that are not finite");
}

size_t attribute_size(int type)
{
    static const size_t sizes[] = {sizeof(float), sizeof(int32_t), sizeof(firn_vec3),
                                   sizeof(firn_mat3)};
    return type >= 0 && (size_t)type < FIRN_COUNT(sizes) ? sizes[type] : 0;
}

void validate(const firn_vdb_cloud &cloud, const std::string &path)
{
    if (!finite(cloud.positions))
        refuse(path, "it has points whose position is not finite");
    for (const attribute_data &attribute : cloud.attributes) {
        size_t size = attribute_size(attribute.type);
        if (size == 0)
            refuse(path, "its parts contradict each other");
        check_length(attribute.bytes.size(), size * cloud.positions.size(), path);
    }
}

} // namespace firn_vdb

static void link_meta(const std::vector<firn_vdb::meta_entry> &entries,
                      std::vector<firn_vdb_meta> &view)
{
    view.clear();
    for (const firn_vdb::meta_entry &entry : entries)
        view.push_back({entry.name.c_str(), entry.type.c_str(), entry.value.c_str()});
}

void firn_vdb_listing::link()
{
    grid_view.clear();
    for (firn_vdb::grid_entry &grid : grids) {
        link_meta(grid.meta, grid.meta_view);
        grid.info.name = grid.name.c_str();
        grid.info.type = grid.type.c_str();
        grid.info.meta_count = grid.meta_view.size();
        grid.info.meta = grid.meta_view.data();
        grid_view.push_back(grid.info);
    }
    link_meta(meta, meta_view);
}

void firn_vdb_shape::link()
{
    surface_view.map = surface.map;
    surface_view.background = surface.background;
    surface_view.leaf_count = surface.origins.size();
    surface_view.leaf_origin = surface.origins.data();
    surface_view.values = surface.values.data();
    surface_view.tile_count = surface.tiles.size();
    surface_view.tiles = surface.tiles.data();
    velocity_view.map = velocity.map;
    velocity_view.leaf_count = velocity.origins.size();
    velocity_view.leaf_origin = velocity.origins.data();
    velocity_view.values = velocity.values.data();
}

void firn_vdb_cloud::link()
{
    attribute_view.clear();
    for (const firn_vdb::attribute_data &attribute : attributes)
        attribute_view.push_back({attribute.name.c_str(), attribute.type, attribute.bytes.data()});
}
