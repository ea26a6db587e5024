#include "grids.hpp"
#include "layout.h"
#include "velocity.hpp"

#include <openvdb/util/logging.h>
#include <tbb/parallel_for.h>

#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <unistd.h>

namespace firn_vdb
{

using namespace openvdb;

namespace
{

constexpr size_t TEXT_LIMIT = 1000;
constexpr float DEFAULT_REFERENCE_DENSITY = 400.0f;

std::string describe(const GridBase &grid, const std::string &type)
{
    std::string kind = grid.getGridClass() == GRID_UNKNOWN
                           ? type
                           : GridBase::gridClassToString(grid.getGridClass());
    return "'" + grid.getName() + "' (" + kind + ")";
}

std::vector<meta_entry> entries_of(const MetaMap &meta)
{
    std::vector<meta_entry> entries;
    for (auto it = meta.beginMeta(); it != meta.endMeta(); ++it) {
        // Opaque values are OpenVDB's own notes about how the file is stored.
        if (it->second == nullptr || it->second->typeName() == "__delayedload")
            continue;
        entries.push_back({it->first, it->second->typeName(), it->second->str()});
        entries.back().value.resize(std::min(entries.back().value.size(), TEXT_LIMIT));
    }
    return entries;
}

} // namespace

void silence_openvdb() { openvdb::logging::setLevel(openvdb::logging::Level::Fatal); }

// ---- transforms
// ----------------------------------------------------------------------------------

static firn_quat quaternion_of(const Mat3d &r)
{
    // The largest of the four squares is the safe one to divide by.
    double squares[4] = {1 + r(0, 0) - r(1, 1) - r(2, 2), 1 - r(0, 0) + r(1, 1) - r(2, 2),
                         1 - r(0, 0) - r(1, 1) + r(2, 2), 1 + r(0, 0) + r(1, 1) + r(2, 2)};
    int largest = 3;
    for (int i = 0; i < 3; i++)
        if (squares[i] > squares[largest])
            largest = i;
    double q[4];
    if (largest == 3) {
        q[3] = squares[3];
        q[0] = r(2, 1) - r(1, 2);
        q[1] = r(0, 2) - r(2, 0);
        q[2] = r(1, 0) - r(0, 1);
    } else {
        int a = largest, b = (a + 1) % 3, c = (a + 2) % 3;
        q[a] = squares[a];
        q[b] = r(a, b) + r(b, a);
        q[c] = r(a, c) + r(c, a);
        q[3] = r(c, b) - r(b, c);
    }
    double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return {(float)(q[0] / length), (float)(q[1] / length), (float)(q[2] / length),
            (float)(q[3] / length)};
}

bool map_of(const math::Transform &transform, firn_transform &map)
{
    constexpr double tolerance = 1e-4;
    if (!transform.isLinear())
        return false;
    // OpenVDB multiplies row vectors from the left, so the transpose acts on columns.
    Mat4d m = transform.baseMap()->getAffineMap()->getMat4();
    Mat3d linear = m.getMat3().transpose();
    double scale = std::cbrt(linear.det());
    if (!(scale > 0.0) || !std::isfinite(scale))
        return false; // a mirror image, or flat
    Mat3d rotation = linear * (1.0 / scale);
    Mat3d off = rotation * rotation.transpose() - Mat3d::identity();
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            if (!(std::fabs(off(row, column)) < tolerance))
                return false;
    map.translation = {(float)m(3, 0), (float)m(3, 1), (float)m(3, 2)};
    map.rotation = quaternion_of(rotation);
    map.scale = (float)scale;
    return true;
}

firn_transform required_map(const GridBase &grid, const std::string &path)
{
    firn_transform map;
    if (!map_of(grid.constTransform(), map))
        fail(
            FIRN_ERR_UNSUPPORTED,
            "the grid '%s' of '%s' is stretched, sheared, mirrored or a frustum; only rotation and "
            "uniform scale can be used: resample it to cubic voxels",
            grid.getName().c_str(), path.c_str());
    return map;
}

bool same_lattice(const firn_transform &a, const firn_transform &b)
{
    float tolerance = 1e-3f * a.scale;
    firn_vec3 corner = {100.0f, 100.0f, 100.0f};
    firn_vec3 here = firn_transform_point(a, corner), there = firn_transform_point(b, corner);
    return firn_length(firn_sub(a.translation, b.translation)) < tolerance &&
           firn_length(firn_sub(here, there)) < tolerance;
}

// ---- files
// ---------------------------------------------------------------------------------------

/// The type that OpenVDB says it does not know, or "".
static std::string unknown_type(const std::string &message)
{
    static const std::string before = "Grid type ", after = " is not registered";
    size_t begin = message.find(before), end = message.find(after);
    if (begin == std::string::npos || end == std::string::npos || end < begin + before.size())
        return "";
    return message.substr(begin + before.size(), end - begin - before.size());
}

/// Reaches OpenVDB's table of grid types; never made.
struct registry : GridBase {
    static void add(const Name &type)
    {
        registerGrid(type, [] { return GridBase::Ptr(MaskGrid::create()); });
    }
};

// A file with one grid of a type that this OpenVDB does not have cannot be opened at all. Its
// metadata can be read as that of a mask, which nothing here takes for numbers; its voxels, which
// could not, are never asked for.
input_file::input_file(const std::string &location, const std::string &path)
    : path_(path), file_(location)
{
    constexpr int most = 64; // unknown types in a file
    openvdb::initialize();
    static std::once_flag half_once;
    std::call_once(half_once, [] {
        if (!GridBase::isRegistered(half_grid::gridType()))
            half_grid::registerGrid();
    });
    file_.setCopyMaxBytes(0);
    for (int i = 0; !file_.isOpen(); i++) {
        try {
            file_.open(/*delayLoad=*/false);
        } catch (const LookupError &problem) {
            std::string type = unknown_type(problem.what());
            if (i == most || type.empty() || GridBase::isRegistered(type))
                throw;
            registry::add(type);
        }
    }
    grids_ = file_.readAllGridMetadata();
    note_unknown(location);
}

// Two grids of one name are told apart by a number behind a separator.
void input_file::note_unknown(const std::string &location)
{
    std::vector<std::pair<std::string, std::string>> types;
    firn_vdb_grid_list list = {[](const char *name, const char *type, void *user) {
                                   auto all = static_cast<decltype(types) *>(user);
                                   all->emplace_back(std::string(name, strcspn(name, "\x1e")),
                                                     type);
                               },
                               &types};
    int descriptor = open(location.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    firn_vdb_layout_check(descriptor, path_.c_str(), &list, nullptr);
    close(descriptor);
    for (const auto &[name, type] : types) {
        const GridBase *grid = find(name);
        if (grid != nullptr && grid->isType<MaskGrid>() && type != MaskGrid::gridType())
            unknown_[name] = type;
    }
}

std::string input_file::type_of(const GridBase &grid) const
{
    auto found = unknown_.find(grid.getName());
    return found != unknown_.end() ? found->second : std::string(grid.valueType());
}

GridBase::Ptr input_file::load(const GridBase &grid) { return file_.readGrid(grid.getName()); }

const GridBase *input_file::find(const std::string &name) const
{
    for (const GridBase::Ptr &grid : *grids_)
        if (grid->getName() == name)
            return grid.get();
    return nullptr;
}

std::string input_file::names() const
{
    std::string names;
    for (const GridBase::Ptr &grid : *grids_)
        names += (names.empty() ? "" : ", ") + describe(*grid, type_of(*grid));
    return names.empty() ? "no grids" : names;
}

FloatGrid::Ptr load_scalar(input_file &file, const GridBase &grid)
{
    if (!is_scalar(grid))
        fail(FIRN_ERR_UNSUPPORTED,
             "the grid '%s' of '%s' holds %s values, not half, float or double",
             grid.getName().c_str(), file.path().c_str(), file.type_of(grid).c_str());
    GridBase::Ptr loaded = file.load(grid);
    if (FloatGrid::Ptr single = gridPtrCast<FloatGrid>(loaded))
        return single;
    if (half_grid::Ptr half = gridPtrCast<half_grid>(loaded))
        return std::make_shared<FloatGrid>(*half);
    return std::make_shared<FloatGrid>(*gridPtrCast<DoubleGrid>(loaded));
}

Vec3SGrid::Ptr load_vector(input_file &file, const GridBase &grid)
{
    GridBase::Ptr loaded = file.load(grid);
    if (Vec3SGrid::Ptr single = gridPtrCast<Vec3SGrid>(loaded))
        return single;
    // OpenVDB converts scalars between precisions, but not vectors.
    Vec3DGrid::Ptr wide = gridPtrCast<Vec3DGrid>(loaded);
    auto tree =
        std::make_shared<Vec3STree>(wide->tree(), Vec3s(wide->background()), TopologyCopy());
    auto at = wide->getConstUnsafeAccessor();
    for (auto value = tree->beginValueOn(); value; ++value)
        value.setValue(Vec3s(at.getValue(value.getCoord())));
    Vec3SGrid::Ptr narrow = Vec3SGrid::create(tree);
    narrow->setTransform(wide->transformPtr());
    return narrow;
}

// ---- which grid
// ----------------------------------------------------------------------------------

/// The grid that was named, else the one with the usual name, else the only one of its class.
static const GridBase *choose(const input_file &file, const std::string &name, const char *usual,
                              GridClass wanted)
{
    if (!name.empty()) {
        const GridBase *grid = file.find(name);
        if (grid == nullptr)
            fail(FIRN_ERR_NOT_FOUND, "'%s' has no grid '%s'; it has %s", file.path().c_str(),
                 name.c_str(), file.names().c_str());
        return grid;
    }
    const GridBase *named = file.find(usual);
    if (named != nullptr && is_scalar(*named) &&
        (named->getGridClass() == wanted || named->getGridClass() == GRID_UNKNOWN))
        return named;
    const GridBase *only = nullptr;
    for (const GridBase::Ptr &grid : file.grids()) {
        if (grid->getGridClass() != wanted || !is_scalar(*grid))
            continue;
        if (only != nullptr)
            fail(FIRN_ERR_ARGUMENT, "'%s' has several grids that could be meant: %s; name one",
                 file.path().c_str(), file.names().c_str());
        only = grid.get();
    }
    return only;
}

static const GridBase &choose_required(const input_file &file, const std::string &name,
                                       const char *usual, GridClass wanted)
{
    const GridBase *grid = choose(file, name, usual, wanted);
    if (grid == nullptr)
        fail(FIRN_ERR_NOT_FOUND, "'%s' has no %s; it has %s", file.path().c_str(),
             GridBase::gridClassToString(wanted).c_str(), file.names().c_str());
    return *grid;
}

// ---- leaves
// --------------------------------------------------------------------------------------

template <class Tree> static std::vector<const typename Tree::LeafNodeType *> leaves_of(Tree &tree)
{
    std::vector<const typename Tree::LeafNodeType *> leaves;
    leaves.reserve(tree.leafCount());
    for (auto leaf = tree.cbeginLeaf(); leaf; ++leaf)
        leaves.push_back(leaf.getLeaf());
    return leaves;
}

static array<firn_tile> tiles_of(const FloatTree &tree)
{
    static const int32_t edges[] = {1, 8, 128, 4096}; // by level of the tree
    std::vector<firn_tile> tiles;
    auto value = tree.cbeginValueAll();
    value.setMaxDepth(FloatTree::ValueAllCIter::LEAF_DEPTH - 1);
    for (; value; ++value)
        if (value.getValue() != tree.background())
            tiles.push_back({coord_of(value.getBoundingBox().min()), edges[value.getLevel()],
                             value.getValue()});
    array<firn_tile> result(tiles.size());
    std::copy(tiles.begin(), tiles.end(), result.data());
    return result;
}

level_set_data level_set_of(const FloatGrid &grid, const firn_transform &map)
{
    auto leaves = leaves_of(grid.tree());
    level_set_data data = {map, grid.background(), array<firn_coord>(leaves.size()),
                           array<float>(FIRN_LEAF_VOXELS * leaves.size()), tiles_of(grid.tree())};
    tbb::parallel_for(size_t(0), leaves.size(), [&](size_t i) {
        data.origins[i] = coord_of(leaves[i]->origin());
        std::memcpy(data.values.data() + FIRN_LEAF_VOXELS * i, leaves[i]->buffer().data(),
                    FIRN_LEAF_VOXELS * sizeof(float));
    });
    return data;
}

// ---- the readers
// ---------------------------------------------------------------------------------

static grid_entry entry_of(const GridBase &grid, const std::string &type)
{
    static const std::pair<GridClass, firn_vdb_class> classes[] = {
        {GRID_LEVEL_SET, FIRN_VDB_CLASS_LEVEL_SET},
        {GRID_FOG_VOLUME, FIRN_VDB_CLASS_FOG},
        {GRID_STAGGERED, FIRN_VDB_CLASS_STAGGERED}};
    grid_entry entry = {grid.getName(), type, {}, entries_of(grid), {}};
    if (entry.type == "ptdataidx32")
        entry.type = "points";
    for (auto [theirs, ours] : classes)
        if (grid.getGridClass() == theirs)
            entry.info.grid_class = ours;
    entry.info.half = grid.saveFloatAsHalf();
    entry.info.usable = map_of(grid.constTransform(), entry.info.map);
    if (grid.constTransform().isLinear()) {
        Mat4d m = grid.constTransform().baseMap()->getAffineMap()->getMat4();
        for (int i = 0; i < 16; i++)
            entry.info.matrix[i] = m(i % 4, i / 4);
    }
    Vec3d size = grid.voxelSize();
    entry.info.voxel_size = {(float)size.x(), (float)size.y(), (float)size.z()};
    auto low = grid.getMetadata<Vec3IMetadata>(GridBase::META_FILE_BBOX_MIN);
    auto high = grid.getMetadata<Vec3IMetadata>(GridBase::META_FILE_BBOX_MAX);
    auto voxels = grid.getMetadata<Int64Metadata>(GridBase::META_FILE_VOXEL_COUNT);
    entry.info.counted = low != nullptr && high != nullptr && voxels != nullptr;
    if (entry.info.counted) {
        entry.info.box_min = coord_of(Coord(low->value()));
        entry.info.box_max = coord_of(Coord(high->value()));
        entry.info.active_voxels = (uint64_t)voxels->value();
    }
    return entry;
}

void read_grids(const request &wanted, const std::string &location, firn_vdb_listing &listing)
{
    input_file file(location, wanted.path);
    for (const GridBase::Ptr &grid : file.grids())
        listing.grids.push_back(entry_of(*grid, file.type_of(*grid)));
    listing.meta = entries_of(*file.meta());
    listing.bytes = std::filesystem::file_size(location);
}

static void read_velocity(input_file &file, const request &wanted, firn_vdb_shape &shape)
{
    velocity_field velocity;
    if (velocity.load(file, wanted.velocity_grid)) {
        velocity.spread_tiles(file.path());
        shape.velocity = velocity_of(velocity, shape.surface);
    }
    if (shape.velocity.origins.size() == 0)
        fail(FIRN_ERR_NOT_FOUND,
             "'%s' has no velocity (a grid vel, v or velocity, or vel.x vel.y vel.z); it has %s",
             file.path().c_str(), file.names().c_str());
}

void read_grids(const request &wanted, const std::string &location, firn_vdb_shape &shape)
{
    input_file file(location, wanted.path);
    if (wanted.region == REGION_NONE)
        return read_velocity(file, wanted, shape);
    const GridBase *grid = nullptr;
    bool fog = wanted.region == FIRN_VDB_REGION_FOG;
    if (wanted.region == FIRN_VDB_REGION_ANY) {
        grid = choose(file, wanted.grid, "surface", GRID_LEVEL_SET);
        fog = grid == nullptr || grid->getGridClass() == GRID_FOG_VOLUME;
    }
    if (grid == nullptr)
        grid = fog ? &choose_required(file, wanted.grid, "density", GRID_FOG_VOLUME)
                   : &choose_required(file, wanted.grid, "surface", GRID_LEVEL_SET);
    firn_transform map = required_map(*grid, file.path());
    FloatGrid::Ptr surface = load_scalar(file, *grid);
    if (fog)
        surface = level_set_of_fog(*surface, wanted.threshold, wanted.half_width);
    else if (grid->getGridClass() == GRID_FOG_VOLUME)
        fail(FIRN_ERR_UNSUPPORTED,
             "the grid '%s' of '%s' is a fog volume, not a level set; read it as fog with a "
             "threshold",
             grid->getName().c_str(), file.path().c_str());
    shape.surface = level_set_of(*surface, map);
    surface.reset();
    if (!wanted.velocity)
        return;
    velocity_field velocity;
    if (velocity.load(file, wanted.velocity_grid))
        shape.velocity = velocity_of(velocity, shape.surface);
    else
        shape.warning = "'" + file.path() + "' has no velocity (a grid vel or v, or vel.x vel.y " +
                        "vel.z); the surface counts as at rest";
}

static float density_scale(const GridBase &grid, float &reference)
{
    auto unit = grid.getMetadata<StringMetadata>("density_units");
    auto noted = grid.getMetadata<FloatMetadata>("density_ref_kg_m3");
    reference = noted != nullptr ? noted->value() : DEFAULT_REFERENCE_DENSITY;
    return unit != nullptr && unit->value() == "kg/m^3" ? 1.0f : reference;
}

static void fill_scalar(const FloatGrid &grid, const Coord &origin, float *values)
{
    if (const auto *leaf = grid.tree().probeConstLeaf(origin))
        std::memcpy(values, leaf->buffer().data(), FIRN_LEAF_VOXELS * sizeof *values);
    else
        std::fill_n(values, (size_t)FIRN_LEAF_VOXELS, grid.tree().getValue(origin));
}

static void fill_density(const FloatGrid &grid, const Coord &origin, float scale, float *values,
                         uint64_t *mask)
{
    const auto *leaf = grid.tree().probeConstLeaf(origin);
    for (int x = 0; x < 8; x++)
        mask[x] = leaf != nullptr ? leaf->getValueMask().getWord<uint64_t>((Index)x) : 0;
    for (int n = 0; n < FIRN_LEAF_VOXELS; n++)
        values[n] = leaf != nullptr ? scale * leaf->buffer()[(Index)n] : 0.0f;
}

/// Leaves with density, and those with velocity only, in one order.
static std::vector<firn_coord> all_leaves(const FloatGrid &density, const velocity_field *velocity)
{
    std::vector<firn_coord> origins;
    for (const auto *leaf : leaves_of(density.tree()))
        origins.push_back(coord_of(leaf->origin()));
    if (velocity == nullptr)
        return origins;
    leaf_set all = velocity->leaves();
    all.insert(origins.begin(), origins.end());
    if (all.size() > origins.size())
        origins.assign(all.begin(), all.end());
    return origins;
}

/// Notes where velocity is known, unless that is just where the snow is.
static void note_drift(firn_vdb_volume &volume)
{
    if (volume.velocity.size() == 0)
        return;
    size_t words = volume.mask.size();
    array<uint64_t> known(words);
    tbb::parallel_for(size_t(0), words, [&](size_t i) {
        known[i] = volume.mask[i];
        for (size_t bit = 0; bit < 64; bit++) {
            const firn_vec3 &v = volume.velocity[64 * i + bit];
            if (v.x != 0.0f || v.y != 0.0f || v.z != 0.0f)
                known[i] |= uint64_t(1) << bit;
        }
    });
    if (std::memcmp(known.data(), volume.mask.data(), words * sizeof(uint64_t)) != 0)
        volume.velocity_mask = std::move(known);
}

void read_grids(const request &wanted, const std::string &location, firn_vdb_volume &volume)
{
    input_file file(location, wanted.path);
    const GridBase &chosen = choose_required(file, wanted.grid, "density", GRID_FOG_VOLUME);
    volume.map = required_map(chosen, file.path());
    float scale = density_scale(chosen, volume.reference_density);
    FloatGrid::Ptr density = load_scalar(file, chosen);
    density->tree().voxelizeActiveTiles();
    firn_transform expected = {
        {0.5f * volume.map.scale, 0.5f * volume.map.scale, 0.5f * volume.map.scale},
        firn_quat_identity(),
        volume.map.scale};
    volume.aligned = same_lattice(volume.map, expected);

    velocity_field velocity;
    bool moving =
        velocity.load(file, wanted.velocity_grid) && same_lattice(velocity.map(), volume.map);
    const GridBase *packed = file.find("compaction");
    FloatGrid::Ptr compaction;
    firn_transform packed_map;
    if (packed != nullptr && is_scalar(*packed) && map_of(packed->constTransform(), packed_map) &&
        same_lattice(packed_map, volume.map))
        compaction = load_scalar(file, *packed);

    std::vector<firn_coord> origins = all_leaves(*density, moving ? &velocity : nullptr);
    size_t voxels = FIRN_LEAF_VOXELS * origins.size();
    volume.origins = array<firn_coord>(origins.size());
    volume.mask = array<uint64_t>(8 * origins.size());
    volume.density = array<float>(voxels);
    if (moving)
        volume.velocity = array<firn_vec3>(voxels);
    if (compaction != nullptr)
        volume.compaction = array<float>(voxels);
    tbb::parallel_for(size_t(0), origins.size(), [&](size_t i) {
        volume.origins[i] = origins[i];
        Coord origin(origins[i].x, origins[i].y, origins[i].z);
        size_t first = FIRN_LEAF_VOXELS * i;
        fill_density(*density, origin, scale, volume.density.data() + first,
                     volume.mask.data() + 8 * i);
        if (moving)
            velocity.fill(origins[i], volume.velocity.data() + first);
        if (compaction != nullptr)
            fill_scalar(*compaction, origin, volume.compaction.data() + first);
    });
    note_drift(volume);
}

} // namespace firn_vdb
