#include "grids.hpp"
#include "layout.h"
#include "settings.h"

#include "firn/file.h"
#include "firn/vdb_write.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace firn_vdb
{

using namespace openvdb;

math::Transform::Ptr transform_of(const firn_transform &map)
{
    auto axis = [&](firn_vec3 unit) {
        firn_vec3 v = firn_rotate(map.rotation, unit);
        return Vec3d(v.x, v.y, v.z) * (double)map.scale;
    };
    bool turned = map.rotation.x != 0.0f || map.rotation.y != 0.0f || map.rotation.z != 0.0f;
    auto transform = math::Transform::createLinearTransform((double)map.scale);
    if (turned) {
        Vec3d x = axis({1, 0, 0}), y = axis({0, 1, 0}), z = axis({0, 0, 1});
        transform = math::Transform::createLinearTransform(Mat4d(x[0], x[1], x[2], 0.0, y[0], y[1],
                                                                 y[2], 0.0, z[0], z[1], z[2], 0.0,
                                                                 0.0, 0.0, 0.0, 1.0));
    }
    transform->postTranslate(Vec3d(map.translation.x, map.translation.y, map.translation.z));
    return transform;
}

// ---- files
// ---------------------------------------------------------------------------------------

namespace
{

/// A temporary file that is removed unless it is committed.
class output_file
{
  public:
    explicit output_file(const char *path)
    {
        require([&](firn_error *error) { return firn_file_create(path, &file_, error); });
    }
    ~output_file() { firn_file_discard(file_); }
    output_file(const output_file &) = delete;
    output_file &operator=(const output_file &) = delete;

    const char *temporary() const { return firn_file_temporary_path(file_); }
    void commit()
    {
        firn_file_writer *file = std::exchange(file_, nullptr);
        require([&](firn_error *error) { return firn_file_commit(file, error); });
    }

  private:
    firn_file_writer *file_ = nullptr;
};

struct descriptor {
    int number;

    ~descriptor()
    {
        if (number >= 0)
            close(number);
    }
};

/// Why a file came out wrong: appending to it meets the full disk or the quota again.
int reason_of_bad_write(int file)
{
    static const char probe[1 << 16] = {0};
    if (lseek(file, 0, SEEK_END) < 0)
        return errno;
    for (int i = 0; i < 16; i++)
        if (write(file, probe, sizeof probe) < 0)
            return errno;
    return EIO;
}

/// OpenVDB puts a random id into the header. One that is made from the other bytes tells files
/// apart as well, and the same content gives the same file.
firn_result replace_id(int file, const char *path, firn_vdb_stamp &stamp, firn_error *error)
{
    static const char nil[] = "00000000-0000-0000-0000-000000000000";
    const off_t offset = 21; // behind magic, three versions and a flag
    char id[sizeof nil];
    if (pwrite(file, nil, sizeof nil - 1, offset) != (ssize_t)sizeof nil - 1)
        return firn_fail_errno(error, errno, "write", path);
    FIRN_TRY(firn_vdb_stamp_descriptor(file, path, &stamp, error));
    const unsigned long long a = stamp.checksum, b = firn_hash64(&a, sizeof a, stamp.size);
    snprintf(id, sizeof id, "%08llx-%04llx-4%03llx-8%03llx-%012llx", a >> 32, a >> 16 & 0xFFFF,
             a & 0xFFF, b >> 48 & 0xFFF, b & 0xFFFFFFFFFFFF);
    if (pwrite(file, id, sizeof id - 1, offset) != (ssize_t)sizeof id - 1)
        return firn_fail_errno(error, errno, "write", path);
    return firn_vdb_stamp_descriptor(file, path, &stamp, error);
}

// OpenVDB reports success on a full disk, so what it wrote is read back and checked.
void verify(const char *path, const char *temporary, firn_vdb_stamp &stamp)
{
    descriptor file = {open(temporary, O_RDWR | O_CLOEXEC)};
    require([&](firn_error *error) {
        if (file.number < 0)
            return firn_fail_errno(error, errno, "write", path);
        if (firn_vdb_layout_check(file.number, path, nullptr) != FIRN_OK)
            return firn_fail_errno(error, reason_of_bad_write(file.number), "write", path);
        return replace_id(file.number, path, stamp, error);
    });
}

} // namespace

void write_file(const char *path, const GridPtrVec &grids, const MetaMap &meta, int compression,
                firn_vdb_stamp *stamp)
{
    static const uint32_t codecs[] = {io::COMPRESS_BLOSC, io::COMPRESS_ZIP, io::COMPRESS_NONE};
    openvdb::initialize();
    output_file output(path);
    try {
        io::File file(output.temporary());
        file.setCompression(codecs[compression] | io::COMPRESS_ACTIVE_MASK);
        file.write(grids, meta);
        file.close();
    } catch (const IoError &) {
        // The check below finds the reason.
    }
    firn_vdb_stamp written;
    verify(path, output.temporary(), written);
    output.commit();
    if (stamp != nullptr)
        *stamp = written;
}

MetaMap file_meta(int frame, float fps)
{
    MetaMap meta;
    meta.insertMeta("creator", StringMetadata("Firn " FIRN_VERSION));
    meta.insertMeta("software", StringMetadata("Firn"));
    meta.insertMeta("software_version", StringMetadata(FIRN_VERSION));
    meta.insertMeta("frame", Int32Metadata(frame));
    meta.insertMeta("fps", FloatMetadata(fps));
    meta.insertMeta("units", StringMetadata("m kg s"));
    meta.insertMeta("up_axis", StringMetadata("y"));
    return meta;
}

/// The number that a text is, whatever the locale.
template <class Number> static Number number_of(const firn_vdb_meta &entry)
{
    Number number = 0;
    const char *end = entry.value + std::strlen(entry.value);
    auto [at, problem] = std::from_chars(entry.value, end, number);
    if (problem != std::errc() || at != end)
        fail(FIRN_ERR_ARGUMENT, "metadata '%s' has the value '%s', which is no %s", entry.name,
             entry.value, entry.type);
    return number;
}

void add_meta(MetaMap &meta, const firn_vdb_meta &entry)
{
    std::string type = entry.type;
    if (type == "string")
        meta.insertMeta(entry.name, StringMetadata(entry.value));
    else if (type == "int32")
        meta.insertMeta(entry.name, Int32Metadata(number_of<int32_t>(entry)));
    else if (type == "float")
        meta.insertMeta(entry.name, FloatMetadata(number_of<float>(entry)));
    else
        fail(FIRN_ERR_ARGUMENT,
             "metadata '%s' has the type '%s'; string, int32 or float can be written", entry.name,
             entry.type);
}

// ---- grids
// ---------------------------------------------------------------------------------------

namespace
{

/// Builds a grid of the given leaves; fill writes the values and the mask of leaf number i.
template <class Grid, class Fill>
typename Grid::Ptr build(const firn_coord *origins, size_t count,
                         typename Grid::ValueType background, Fill &&fill)
{
    using Leaf = typename Grid::TreeType::LeafNodeType;
    auto grid = Grid::create(background);
    std::vector<Leaf *> leaves(count);
    for (size_t i = 0; i < count; i++) {
        Coord origin(origins[i].x, origins[i].y, origins[i].z);
        // Values are written once, by fill.
        leaves[i] = new Leaf(PartialCreate(), origin, background, false);
        grid->tree().addLeaf(leaves[i]);
    }
    tbb::parallel_for(size_t(0), count, [&](size_t i) {
        leaves[i]->allocate();
        fill(i, leaves[i]->buffer().data(), *leaves[i]);
    });
    return grid;
}

template <class Leaf> void set_mask(Leaf &leaf, const uint64_t *words)
{
    auto mask = leaf.getValueMask();
    for (Index x = 0; x < 8; x++)
        mask.template getWord<uint64_t>(x) = words[x];
    leaf.setValueMask(mask);
}

bool is_active(const uint64_t *words, int n) { return words[n >> 6] >> (n & 63) & 1; }

/// Leaves of a field that have anything under a mask.
struct field_leaves {
    std::vector<firn_coord> origins;
    std::vector<size_t> numbers;

    field_leaves(const firn_field_view &field, const uint64_t *mask)
    {
        for (size_t i = 0; i < field.leaf_count; i++) {
            const uint64_t *words = mask + 8 * i;
            if (std::all_of(words, words + 8, [](uint64_t word) { return word == 0; }))
                continue;
            origins.push_back(field.leaf_origin[i]);
            numbers.push_back(i);
        }
    }
};

FloatGrid::Ptr scalar_grid(const firn_field_view &field, const float *values, float scale,
                           float background)
{
    field_leaves leaves(field, field.mask);
    return build<FloatGrid>(leaves.origins.data(), leaves.origins.size(), background,
                            [&](size_t i, float *to, FloatTree::LeafNodeType &leaf) {
                                const uint64_t *words = field.mask + 8 * leaves.numbers[i];
                                const float *from = values + FIRN_LEAF_VOXELS * leaves.numbers[i];
                                for (int n = 0; n < FIRN_LEAF_VOXELS; n++)
                                    to[n] = is_active(words, n) ? scale * from[n] : background;
                                set_mask(leaf, words);
                            });
}

Vec3SGrid::Ptr vector_grid(const firn_field_view &field, const uint64_t *mask, const float *values,
                           Vec3s background)
{
    field_leaves leaves(field, mask);
    return build<Vec3SGrid>(leaves.origins.data(), leaves.origins.size(), background,
                            [&](size_t i, Vec3s *to, Vec3STree::LeafNodeType &leaf) {
                                const uint64_t *words = mask + 8 * leaves.numbers[i];
                                const float *from =
                                    values + 3 * FIRN_LEAF_VOXELS * leaves.numbers[i];
                                for (int n = 0; n < FIRN_LEAF_VOXELS; n++)
                                    to[n] = is_active(words, n) ? Vec3s(from + 3 * n) : background;
                                set_mask(leaf, words);
                            });
}

// Where the surface stands still its velocity is known as well, so all voxels are active.
Vec3SGrid::Ptr surface_velocity_grid(const firn_velocity_grid &velocity)
{
    return build<Vec3SGrid>(velocity.leaf_origin, velocity.leaf_count, Vec3s(0.0f),
                            [&](size_t i, Vec3s *to, Vec3STree::LeafNodeType &leaf) {
                                const firn_vec3 *from = velocity.values + FIRN_LEAF_VOXELS * i;
                                for (int n = 0; n < FIRN_LEAF_VOXELS; n++)
                                    to[n] = Vec3s(from[n].x, from[n].y, from[n].z);
                                leaf.setValuesOn();
                            });
}

FloatGrid::Ptr surface_grid(const firn_level_set &surface)
{
    float band = surface.background;
    FloatGrid::Ptr grid = build<FloatGrid>(surface.leaf_origin, surface.leaf_count, band,
                                           [&](size_t i, float *to, FloatTree::LeafNodeType &leaf) {
                                               const float *from =
                                                   surface.values + FIRN_LEAF_VOXELS * i;
                                               for (int n = 0; n < FIRN_LEAF_VOXELS; n++) {
                                                   to[n] = from[n];
                                                   if (std::fabs(from[n]) < band)
                                                       leaf.setValueOn((Index)n);
                                               }
                                           });
    for (size_t i = 0; i < surface.tile_count; i++) {
        const firn_tile &tile = surface.tiles[i];
        Index level = tile.edge == 8 ? 1 : tile.edge == 128 ? 2 : 3;
        grid->tree().addTile(level, Coord(tile.origin.x, tile.origin.y, tile.origin.z), tile.value,
                             false);
    }
    grid->setGridClass(GRID_LEVEL_SET);
    return grid;
}

// ---- one frame
// -----------------------------------------------------------------------------------

/// The shading numbers, for the file and for the density grid: extinction = density of the grid
/// times sigma_t_per_density, in either unit.
void add_shading(MetaMap &meta, const firn_vdb_write_def &def, float extinction)
{
    bool relative = def.density == FIRN_VDB_DENSITY_RELATIVE;
    meta.insertMeta("density_units", StringMetadata(relative ? "relative" : "kg/m^3"));
    meta.insertMeta("density_ref_kg_m3", FloatMetadata(def.reference_density));
    meta.insertMeta("sigma_t_per_density",
                    FloatMetadata(relative ? extinction : extinction / def.reference_density));
    meta.insertMeta("albedo", Vec3SMetadata(Vec3s(def.albedo.x, def.albedo.y, def.albedo.z)));
    meta.insertMeta("g", FloatMetadata(def.anisotropy));
}

void finish(GridBase &grid, const char *name, math::Transform::Ptr transform,
            const firn_vdb_write_def &def)
{
    grid.setName(name);
    grid.setTransform(transform);
    grid.setSaveFloatAsHalf(def.half);
    grid.setCreator("Firn " FIRN_VERSION);
}

void finish_velocity(Vec3SGrid &grid, math::Transform::Ptr transform, const firn_vdb_write_def &def)
{
    finish(grid, "vel", transform, def);
    grid.setVectorType(VEC_CONTRAVARIANT_RELATIVE);
    grid.insertMeta("units", StringMetadata("m/s"));
}

void add_field(const firn_field_view &field, const firn_vdb_write_def &def, GridPtrVec &grids)
{
    float h = field.voxel_size;
    firn_transform map = {{0.5f * h, 0.5f * h, 0.5f * h}, firn_quat_identity(), h};
    math::Transform::Ptr transform = transform_of(map);
    float scale = def.density == FIRN_VDB_DENSITY_RELATIVE ? 1.0f / def.reference_density : 1.0f;
    FloatGrid::Ptr density = scalar_grid(field, field.density, scale, 0.0f);
    finish(*density, "density", transform, def);
    density->setGridClass(GRID_FOG_VOLUME);
    add_shading(*density, def, def.extinction);
    grids.push_back(density);
    if (field.velocity != nullptr) {
        const uint64_t *mask = field.velocity_mask != nullptr ? field.velocity_mask : field.mask;
        Vec3SGrid::Ptr velocity =
            vector_grid(field, mask, reinterpret_cast<const float *>(field.velocity), Vec3s(0.0f));
        finish_velocity(*velocity, transform, def);
        grids.push_back(velocity);
    }
    if (field.compaction != nullptr) {
        // 1 is fresh snow, so that filters at the border do not invent a state looser than that.
        FloatGrid::Ptr compaction = scalar_grid(field, field.compaction, 1.0f, 1.0f);
        finish(*compaction, "compaction", transform, def);
        grids.push_back(compaction);
    }
    for (size_t i = 0; i < field.grid_count; i++) {
        const firn_field_grid &from = field.grids[i];
        if (from.layer != FIRN_FIELD_OTHER)
            continue;
        GridBase::Ptr grid;
        if (from.components == 1)
            grid = scalar_grid(field, from.values, 1.0f, from.background);
        else
            grid = vector_grid(field, field.mask, from.values, Vec3s(from.background));
        finish(*grid, from.name, transform, def);
        grids.push_back(grid);
    }
    for (size_t i = 0; i < field.grid_count; i++) {
        const firn_field_grid &from = field.grids[i];
        if (from.layer == FIRN_FIELD_OTHER)
            continue;
        bool body = from.layer == FIRN_FIELD_BODY;
        FloatGrid::Ptr layer = scalar_grid(field, from.values, scale, 0.0f);
        finish(*layer, from.name, transform, def);
        layer->setGridClass(GRID_FOG_VOLUME);
        add_shading(*layer, def, body ? def.extinction : def.powder_extinction);
        layer->insertMeta("firn:layer", StringMetadata(body ? "body" : "powder"));
        density->insertMeta("firn:layer", StringMetadata("all"));
        grids.push_back(layer);
    }
}

void add_surface(const firn_vdb_content &content, const firn_vdb_write_def &def, GridPtrVec &grids)
{
    if (content.surface != nullptr) {
        FloatGrid::Ptr surface = surface_grid(*content.surface);
        finish(*surface, "surface", transform_of(content.surface->map), def);
        grids.push_back(surface);
    }
    bool taken = content.field != nullptr && content.field->velocity != nullptr;
    if (content.velocity != nullptr && !taken) {
        Vec3SGrid::Ptr velocity = surface_velocity_grid(*content.velocity);
        finish_velocity(*velocity, transform_of(content.velocity->map), def);
        grids.push_back(velocity);
    }
}

void check_values(const char *path, const char *what, const float *values, size_t count)
{
    if (values != nullptr && !all_finite(values, count))
        fail(FIRN_ERR_DIVERGED, "cannot write '%s': the %s has values that are not finite", path,
             what);
}

void check_field(const char *path, const firn_field_view &field)
{
    if (!(field.voxel_size > 0.0f && std::isfinite(field.voxel_size)))
        fail(FIRN_ERR_ARGUMENT, "cannot write '%s': the voxel size %g is not a positive length",
             path, (double)field.voxel_size);
    size_t voxels = FIRN_LEAF_VOXELS * field.leaf_count;
    check_values(path, "density", field.density, voxels);
    check_values(path, "velocity", reinterpret_cast<const float *>(field.velocity), 3 * voxels);
    check_values(path, "compaction", field.compaction, voxels);
    for (size_t i = 0; i < field.grid_count; i++) {
        const firn_field_grid &grid = field.grids[i];
        if (grid.name == nullptr || grid.values == nullptr ||
            (grid.components != 1 && grid.components != 3))
            fail(FIRN_ERR_ARGUMENT,
                 "cannot write '%s': grid %zu needs a name and values of 1 or 3 components", path,
                 i);
        check_values(path, grid.name, grid.values, (size_t)grid.components * voxels);
    }
}

void check_content(const char *path, const firn_vdb_content &content)
{
    if (content.field != nullptr)
        check_field(path, *content.field);
    if (content.surface != nullptr && !(content.surface->background > 0.0f))
        fail(FIRN_ERR_ARGUMENT, "cannot write '%s': the surface has no positive background", path);
    if (content.surface != nullptr)
        check_values(path, "surface", content.surface->values,
                     FIRN_LEAF_VOXELS * content.surface->leaf_count);
}

} // namespace

} // namespace firn_vdb

using namespace firn_vdb;

firn_result firn_vdb_write(const char *path, const firn_vdb_write_def *def,
                           const firn_vdb_content *content, firn_vdb_stamp *stamp,
                           firn_error *error)
{
    FIRN_TRY(firn_vdb_write_def_check(def, error));
    return guarded(error, [&] {
        check_content(path, *content);
        with_threads(def->thread_count, [&] {
            openvdb::GridPtrVec grids;
            if (content->field != nullptr)
                add_field(*content->field, *def, grids);
            add_surface(*content, *def, grids);
            openvdb::MetaMap meta = file_meta(def->frame, def->fps);
            if (content->field != nullptr)
                add_shading(meta, *def, def->extinction);
            for (size_t i = 0; i < content->meta_count; i++)
                add_meta(meta, content->meta[i]);
            write_file(path, grids, meta, def->compression, stamp);
        });
    });
}
