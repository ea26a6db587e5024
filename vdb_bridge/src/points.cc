#include "grids.hpp"
#include "settings.h"

#include <openvdb/points/PointAttribute.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointCount.h>
#include <openvdb/points/PointDataGrid.h>
#include <tbb/parallel_for.h>

#include <cmath>

namespace firn_vdb
{

using namespace openvdb;
using namespace openvdb::points;

namespace
{

constexpr uint32_t POINTS_PER_VOXEL = 8;

/// A plain array as OpenVDB's conversion wants to see it.
template <class Value, class Element> struct column {
    using PosType = Value;
    using value_type = Value;
    const Element *data;
    size_t count;

    size_t size() const { return count; }
    void get(Value &value, size_t n) const;
    void get(Value &value, size_t n, Index) const { get(value, n); }
    void getPos(size_t n, Value &value) const { get(value, n); }
};

template <class Value, class Element> void column<Value, Element>::get(Value &value, size_t n) const
{
    if constexpr (std::is_same_v<Element, firn_vec3>)
        value = Value(data[n].x, data[n].y, data[n].z);
    else if constexpr (std::is_same_v<Element, firn_mat3>)
        value = Value(data[n].m);
    else
        value = data[n];
}

using position_column = column<Vec3s, firn_vec3>;

template <class Value, class Codec, class Element>
void add_column(PointDataGrid &grid, const tools::PointIndexGrid &order, const char *name,
                const Element *values, size_t count)
{
    appendAttribute<Value, Codec>(grid.tree(), name);
    populateAttribute(grid.tree(), order.tree(), name, column<Value, Element>{values, count});
}

void add_attribute(PointDataGrid &grid, const tools::PointIndexGrid &order,
                   const firn_vdb_attribute &attribute, size_t count, bool half)
{
    const char *name = attribute.name;
    if (attribute.type == FIRN_VDB_ATTRIBUTE_INT) {
        add_column<int32_t, NullCodec>(grid, order, name,
                                       static_cast<const int32_t *>(attribute.values), count);
    } else if (attribute.type == FIRN_VDB_ATTRIBUTE_FLOAT) {
        auto values = static_cast<const float *>(attribute.values);
        if (half)
            add_column<float, TruncateCodec>(grid, order, name, values, count);
        else
            add_column<float, NullCodec>(grid, order, name, values, count);
    } else if (attribute.type == FIRN_VDB_ATTRIBUTE_MAT3) {
        add_column<math::Mat3s, NullCodec>(grid, order, name,
                                           static_cast<const firn_mat3 *>(attribute.values), count);
    } else {
        auto values = static_cast<const firn_vec3 *>(attribute.values);
        if (half)
            add_column<Vec3s, TruncateCodec>(grid, order, name, values, count);
        else
            add_column<Vec3s, NullCodec>(grid, order, name, values, count);
    }
}

void check_points(const firn_vdb_points &points)
{
    for (size_t i = 0; i < points.count; i++)
        if (!firn_vec_is_finite(points.position[i]))
            fail(FIRN_ERR_ARGUMENT, "the position of point %zu is not finite", i);
    for (size_t i = 0; i < points.attribute_count; i++) {
        const firn_vdb_attribute &attribute = points.attributes[i];
        bool named = attribute.name != nullptr &&
                     AttributeSet::Descriptor::validName(attribute.name) &&
                     std::strcmp(attribute.name, "P") != 0;
        if (!named || attribute_size(attribute.type) == 0)
            fail(
                FIRN_ERR_ARGUMENT,
                "point attribute %zu needs a type and a name of letters, digits and _ other than P",
                i);
    }
}

// Point voxels are 32-bit; far outliers are better reported than folded back.
void check_range(const firn_vdb_points &points, double voxel_size)
{
    for (size_t i = 0; i < points.count; i++) {
        const firn_vec3 &p = points.position[i];
        double farthest =
            std::max({std::fabs((double)p.x), std::fabs((double)p.y), std::fabs((double)p.z)});
        if (!(farthest / voxel_size < (double)(1 << 30)))
            fail(FIRN_ERR_ARGUMENT, "point %zu is too far from the origin for voxels of %g m", i,
                 voxel_size);
    }
}

PointDataGrid::Ptr grid_of(const firn_vdb_points_def &def, const firn_vdb_points &points)
{
    position_column positions = {points.position, points.count};
    double voxel_size = def.voxel_size;
    if (voxel_size <= 0.0)
        voxel_size = (double)computeVoxelSize(positions, POINTS_PER_VOXEL);
    check_range(points, voxel_size);
    auto transform = math::Transform::createLinearTransform(voxel_size);
    auto order = tools::createPointIndexGrid<tools::PointIndexGrid>(positions, *transform);
    PointDataGrid::Ptr grid =
        def.quantize ? createPointDataGrid<FixedPointCodec<false, PositionRange>, PointDataGrid>(
                           *order, positions, *transform)
                     : createPointDataGrid<NullCodec, PointDataGrid>(*order, positions, *transform);
    for (size_t i = 0; i < points.attribute_count; i++)
        add_attribute(*grid, *order, points.attributes[i], points.count, def.half);
    grid->setName("points");
    grid->setCreator("Firn " FIRN_VERSION);
    return grid;
}

// ---- reading
// -------------------------------------------------------------------------------------

using point_leaf = PointDataTree::LeafNodeType;

struct leaf_range {
    const point_leaf *leaf;
    size_t first; // number of its first point
};

template <class Stored, class Element, class Convert>
void read_column(const std::vector<leaf_range> &leaves, const std::string &name, Element *to,
                 Convert &&convert)
{
    tbb::parallel_for(size_t(0), leaves.size(), [&](size_t i) {
        const point_leaf &leaf = *leaves[i].leaf;
        Element *out = to + leaves[i].first;
        size_t count = leaf.pointCount();
        if (!leaf.hasAttribute(name)) {
            std::memset(static_cast<void *>(out), 0, count * sizeof *out);
            return;
        }
        AttributeHandle<Stored> handle(leaf.constAttributeArray(name));
        for (size_t n = 0; n < count; n++)
            out[n] = convert(handle.get((Index)n));
    });
}

template <class Stored>
attribute_data read_scalar(const std::vector<leaf_range> &leaves, const std::string &name,
                           size_t count)
{
    using element = std::conditional_t<std::is_floating_point_v<Stored>, float, int32_t>;
    int32_t type =
        std::is_floating_point_v<Stored> ? FIRN_VDB_ATTRIBUTE_FLOAT : FIRN_VDB_ATTRIBUTE_INT;
    attribute_data data = {name, type, array<unsigned char>(count * sizeof(element))};
    read_column<Stored>(leaves, name, reinterpret_cast<element *>(data.bytes.data()),
                        [](Stored value) { return static_cast<element>(value); });
    return data;
}

template <class Stored>
attribute_data read_vector(const std::vector<leaf_range> &leaves, const std::string &name,
                           size_t count)
{
    attribute_data data = {name, FIRN_VDB_ATTRIBUTE_VEC3,
                           array<unsigned char>(count * sizeof(firn_vec3))};
    read_column<Stored>(
        leaves, name, reinterpret_cast<firn_vec3 *>(data.bytes.data()),
        [](const Stored &v) { return firn_vec((float)v.x(), (float)v.y(), (float)v.z()); });
    return data;
}

template <class Stored>
attribute_data read_matrix(const std::vector<leaf_range> &leaves, const std::string &name,
                           size_t count)
{
    attribute_data data = {name, FIRN_VDB_ATTRIBUTE_MAT3,
                           array<unsigned char>(count * sizeof(firn_mat3))};
    read_column<Stored>(leaves, name, reinterpret_cast<firn_mat3 *>(data.bytes.data()),
                        [](const Stored &from) {
                            firn_mat3 to;
                            for (int k = 0; k < 9; k++)
                                to.m[k] = (float)from(k / 3, k % 3);
                            return to;
                        });
    return data;
}

using attribute_reader = attribute_data (*)(const std::vector<leaf_range> &, const std::string &,
                                            size_t);

attribute_reader reader_of(const std::string &type)
{
    static const std::pair<const char *, attribute_reader> readers[] = {
        {"float", read_scalar<float>},       {"double", read_scalar<double>},
        {"int8", read_scalar<int8_t>},       {"int16", read_scalar<int16_t>},
        {"int32", read_scalar<int32_t>},     {"int64", read_scalar<int64_t>},
        {"vec3s", read_vector<Vec3s>},       {"vec3d", read_vector<Vec3d>},
        {"mat3s", read_matrix<math::Mat3s>}, {"mat3d", read_matrix<math::Mat3d>},
    };
    for (auto [name, reader] : readers)
        if (type == name)
            return reader;
    return nullptr; // strings, groups, larger matrices
}

void read_positions(const std::vector<leaf_range> &leaves, const math::Transform &transform,
                    array<firn_vec3> &positions)
{
    tbb::parallel_for(size_t(0), leaves.size(), [&](size_t i) {
        const point_leaf &leaf = *leaves[i].leaf;
        AttributeHandle<Vec3f> handle(leaf.constAttributeArray("P"));
        firn_vec3 *out = positions.data() + leaves[i].first;
        for (auto point = leaf.beginIndexAll(); point; ++point) {
            Vec3d world =
                transform.indexToWorld(Vec3d(handle.get(*point)) + point.getCoord().asVec3d());
            *out++ = {(float)world.x(), (float)world.y(), (float)world.z()};
        }
    });
}

const GridBase &choose_points(const input_file &file, const std::string &name)
{
    const GridBase *chosen = nullptr;
    for (const GridBase::Ptr &grid : file.grids()) {
        if (!grid->isType<PointDataGrid>() || (!name.empty() && grid->getName() != name))
            continue;
        if (chosen != nullptr)
            fail(FIRN_ERR_ARGUMENT, "'%s' has several point grids: %s; name one",
                 file.path().c_str(), file.names().c_str());
        chosen = grid.get();
    }
    if (chosen == nullptr)
        fail(FIRN_ERR_NOT_FOUND, "'%s' has no points%s%s; it has %s", file.path().c_str(),
             name.empty() ? "" : " called ", name.c_str(), file.names().c_str());
    return *chosen;
}

} // namespace

void read_grids(const request &wanted, const std::string &location, firn_vdb_cloud &cloud)
{
    input_file file(location, wanted.path);
    PointDataGrid::Ptr grid =
        gridPtrCast<PointDataGrid>(file.load(choose_points(file, wanted.grid)));
    std::vector<leaf_range> leaves;
    size_t count = 0;
    for (auto leaf = grid->tree().cbeginLeaf(); leaf; ++leaf) {
        // The last offset counts the points; each attribute must have as many values.
        leaf->validateOffsets();
        leaves.push_back({leaf.getLeaf(), count});
        count += leaf->pointCount();
    }
    cloud.positions = array<firn_vec3>(count);
    read_positions(leaves, grid->constTransform(), cloud.positions);
    if (leaves.empty())
        return;
    const AttributeSet &set = leaves[0].leaf->attributeSet();
    for (const auto &[name, position] : set.descriptor().map()) {
        attribute_reader reader = reader_of(set.getConst(position)->valueType());
        if (reader != nullptr && name != "P" && set.getConst(position)->stride() == 1)
            cloud.attributes.push_back(reader(leaves, name, count));
    }
}

} // namespace firn_vdb

using namespace firn_vdb;

firn_result firn_vdb_write_points(const char *path, const firn_vdb_points_def *def,
                                  const firn_vdb_points *points, firn_vdb_stamp *stamp,
                                  firn_error *error)
{
    FIRN_TRY(firn_vdb_points_def_check(def, error));
    return guarded(error, [&] {
        check_points(*points);
        with_threads(def->thread_count, [&] {
            openvdb::initialize();
            openvdb::GridPtrVec grids = {grid_of(*def, *points)};
            openvdb::MetaMap meta = file_meta(def->frame, def->fps);
            for (size_t i = 0; i < points->meta_count; i++)
                add_meta(meta, points->meta[i]);
            write_file(path, grids, meta, def->compression, stamp);
        });
    });
}
