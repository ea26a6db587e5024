#include "grids.hpp"
#include "settings.h"
#include "triangulate.hpp"
#include "voxelize.hpp"

#include <openvdb/tools/ChangeBackground.h>
#include <openvdb/tools/Composite.h>
#include <openvdb/tools/LevelSetFilter.h>
#include <openvdb/tools/LevelSetRebuild.h>
#include <openvdb/tools/MeshToVolume.h>
#include <openvdb/tools/ParticlesToLevelSet.h>
#include <tbb/parallel_for.h>

#include <cmath>
#include <memory>

namespace firn_vdb
{

using namespace openvdb;

namespace
{

/// Voxels of equal size whose corners meet at the world origin, as those of a firn_field_view.
firn_transform lattice(float voxel_size)
{
    float half = 0.5f * voxel_size;
    return {{half, half, half}, firn_quat_identity(), voxel_size};
}

double largest(const Vec3d &v) { return std::max({v.x(), v.y(), v.z()}); }

void check_extent(const BBoxd &box, double margin, float voxel_size, const char *what)
{
    if (box.empty())
        return;
    Vec3d size = (box.extents() + Vec3d(2.0 * margin)) / (double)voxel_size;
    double farthest =
        std::max(largest(math::Abs(box.min())), largest(math::Abs(box.max()))) / (double)voxel_size;
    if (!(largest(size) <= FIRN_VDB_EXTENT_LIMIT))
        fail(FIRN_ERR_ARGUMENT,
             "the %s would be %.0f x %.0f x %.0f voxels of %g m; at most %d along each axis are "
             "allowed: use larger voxels or look for stray points",
             what, size.x(), size.y(), size.z(), (double)voxel_size, FIRN_VDB_EXTENT_LIMIT);
    // Beyond 2^22 voxels from the origin a float no longer tells quarters of a voxel apart.
    if (!(farthest < (double)(1 << 22)))
        fail(FIRN_ERR_ARGUMENT, "the %s is too far from the origin for voxels of %g m", what,
             (double)voxel_size);
}

// ---- meshes
// --------------------------------------------------------------------------------------

/// A mesh being converted.
struct conversion {
    const firn_vdb_mesh_def &def;
    const firn_vdb_mesh &mesh;
    std::vector<triangle> triangles;
    std::vector<Vec3s> points; // in voxels
    math::Transform::Ptr transform;
    Int32Grid::Ptr nearest; // the nearest triangle of each voxel in the band

    conversion(const firn_vdb_mesh_def &settings, const firn_vdb_mesh &source);
    float shell_thickness() const
    {
        return def.shell_thickness > 0.0f ? def.shell_thickness : 2.0f * def.voxel_size;
    }
    void check_memory() const;
    FloatGrid::Ptr run(float exterior, float interior, int flags);
    FloatGrid::Ptr fill() { return run(def.half_width, def.half_width, 0); }
    FloatGrid::Ptr shell();
};

conversion::conversion(const firn_vdb_mesh_def &settings, const firn_vdb_mesh &source)
    : def(settings), mesh(source)
{
    check_mesh(mesh);
    BBoxd box;
    for (size_t i = 0; i < mesh.index_count; i++) {
        const firn_vec3 &p = mesh.points[mesh.indices[i]];
        box.expand(Vec3d(p.x, p.y, p.z));
    }
    double margin = def.half_width * def.voxel_size;
    if (def.solid != FIRN_VDB_SOLID_FILL)
        margin += 0.5 * shell_thickness();
    check_extent(box, margin, def.voxel_size, "mesh");
    triangles = triangulate(mesh);
    check_memory();
    transform = transform_of(lattice(def.voxel_size));
    points.resize(mesh.point_count);
    for (size_t i = 0; i < mesh.point_count; i++)
        points[i] = Vec3s(
            transform->worldToIndex(Vec3d(mesh.points[i].x, mesh.points[i].y, mesh.points[i].z)));
}

// OpenVDB ends the process when it runs out of memory here, so the need is estimated beforehand.
void conversion::check_memory() const
{
    if (def.memory_limit <= 0.0)
        return;
    double band = 2.0 * def.half_width;
    if (def.solid != FIRN_VDB_SOLID_FILL)
        band += shell_thickness() / def.voxel_size;
    double voxels = 0.0;
    for (const triangle &t : triangles) {
        firn_vec3 a = mesh.points[t[0]], b = mesh.points[t[1]], c = mesh.points[t[2]];
        double area = 0.5 * firn_length(firn_cross(firn_sub(b, a), firn_sub(c, a)));
        voxels += area / ((double)def.voxel_size * def.voxel_size) * band;
    }
    // A distance and a triangle number for each voxel; leaves are about a third full.
    double megabytes = 1e-6 * voxels * (sizeof(float) + sizeof(Int32)) * 3.0;
    if (megabytes > def.memory_limit)
        fail(FIRN_ERR_MEMORY,
             "the mesh would need about %.0f MB at voxels of %g m, more than the limit of %.0f MB; "
             "use larger voxels or raise memory_limit",
             megabytes, (double)def.voxel_size, def.memory_limit);
}

FloatGrid::Ptr conversion::run(float exterior, float interior, int flags)
{
    stop_question asked = {def};
    triangle_list list = {triangles, points};
    nearest = Int32Grid::create(0);
    FloatGrid::Ptr grid = tools::meshToVolume<FloatGrid>(asked, list, *transform, exterior,
                                                         interior, flags, nearest.get());
    // What is there after an interruption is only a part.
    if (asked.wasInterrupted())
        fail(FIRN_ERR_CANCELLED, "the conversion of the mesh was stopped");
    return grid;
}

FloatGrid::Ptr conversion::shell()
{
    float half = 0.5f * shell_thickness(), band = def.half_width * def.voxel_size;
    float width = (half + band) / def.voxel_size;
    FloatGrid::Ptr grid = run(width, width, tools::UNSIGNED_DISTANCE_FIELD);
    tree::LeafManager<FloatTree> leaves(grid->tree());
    leaves.foreach ([&](FloatTree::LeafNodeType &leaf, size_t) {
        for (auto value = leaf.beginValueOn(); value; ++value)
            value.setValue(std::min(value.getValue() - half, band));
    });
    tools::changeBackground(grid->tree(), band);
    grid->setGridClass(GRID_LEVEL_SET);
    return grid;
}

/// Weights of the corners of a triangle at its point nearest to p.
Vec3d nearest_weights(const Vec3d &p, const Vec3d &a, const Vec3d &b, const Vec3d &c)
{
    Vec3d uvw;
    closestPointOnTriangleToPoint(a, b, c, p, uvw);
    return uvw;
}

velocity_data carry_velocity(const conversion &source)
{
    std::vector<const Int32Tree::LeafNodeType *> leaves;
    for (auto leaf = source.nearest->tree().cbeginLeaf(); leaf; ++leaf)
        leaves.push_back(leaf.getLeaf());
    velocity_data data = {lattice(source.def.voxel_size), array<firn_coord>(leaves.size()),
                          array<firn_vec3>(FIRN_LEAF_VOXELS * leaves.size())};
    tbb::parallel_for(size_t(0), leaves.size(), [&](size_t i) {
        firn_vec3 *to = data.values.data() + FIRN_LEAF_VOXELS * i;
        data.origins[i] = coord_of(leaves[i]->origin());
        std::memset(to, 0, FIRN_LEAF_VOXELS * sizeof *to);
        for (auto number = leaves[i]->cbeginValueOn(); number; ++number) {
            if (number.getValue() < 0 || (size_t)number.getValue() >= source.triangles.size())
                continue;
            const triangle &t = source.triangles[(size_t)number.getValue()];
            Vec3d w = nearest_weights(number.getCoord().asVec3d(), source.points[(size_t)t[0]],
                                      source.points[(size_t)t[1]], source.points[(size_t)t[2]]);
            firn_vec3 v = {0.0f, 0.0f, 0.0f};
            for (int corner = 0; corner < 3; corner++)
                v = firn_add_scaled(v, (float)w[corner], source.mesh.velocity[t[(size_t)corner]]);
            to[number.pos()] = v;
        }
    });
    return data;
}

std::unique_ptr<firn_vdb_shape> convert(const firn_vdb_mesh_def &def, const firn_vdb_mesh &mesh)
{
    openvdb::initialize();
    conversion source(def, mesh);
    auto shape = std::make_unique<firn_vdb_shape>();
    FloatGrid::Ptr surface;
    size_t open = 0;
    if (def.solid == FIRN_VDB_SOLID_AUTO)
        open = count_open_edges(mesh, source.triangles);
    if (def.solid != FIRN_VDB_SOLID_SHELL)
        surface = source.fill();
    if (def.solid == FIRN_VDB_SOLID_SHELL) {
        surface = source.shell();
    } else if (open > 0) {
        FloatGrid::Ptr shell = source.shell();
        tools::csgUnion(*surface, *shell);
        shape->warning = "the mesh is open (" + std::to_string(open) +
                         " edges without a neighbor); a shell was added around its surface";
    }
    shape->surface = level_set_of(*surface, lattice(def.voxel_size));
    surface.reset();
    if (mesh.velocity != nullptr)
        shape->velocity = carry_velocity(source);
    shape->link();
    return shape;
}

// ---- particles
// -----------------------------------------------------------------------------------

/// Particles as ParticlesToLevelSet wants to see them.
struct sphere_list {
    using PosType = Vec3R;
    const firn_vdb_spheres &spheres;
    double uniform, least; // m

    size_t size() const { return spheres.count; }
    double radius(size_t n) const
    {
        return std::max(least, spheres.radius != nullptr ? (double)spheres.radius[n] : uniform);
    }
    void getPos(size_t n, Vec3R &position) const
    {
        const firn_vec3 &p = spheres.position[n];
        position = Vec3R(p.x, p.y, p.z);
    }
    void getPosRad(size_t n, Vec3R &position, Real &r) const
    {
        getPos(n, position);
        r = radius(n);
    }
};

void check_spheres(const sphere_list &list, const firn_vdb_skin_def &def)
{
    BBoxd box;
    double widest = 0.0;
    for (size_t i = 0; i < list.size(); i++) {
        Vec3R position;
        Real radius;
        list.getPosRad(i, position, radius);
        if (!position.isFinite() || !std::isfinite(radius))
            fail(FIRN_ERR_ARGUMENT, "the position or radius of particle %zu is not finite", i);
        box.expand(position);
        widest = std::max(widest, radius);
    }
    check_extent(box, widest + def.half_width * def.voxel_size, def.voxel_size, "surface");
}

std::unique_ptr<firn_vdb_shape> cover(const firn_vdb_skin_def &def, const firn_vdb_spheres &spheres)
{
    // Spheres below 1.5 voxels would fall between the voxels.
    constexpr double least = 1.5001;
    openvdb::initialize();
    sphere_list list = {spheres, def.radius, least * def.voxel_size};
    check_spheres(list, def);
    firn_transform map = lattice(def.voxel_size);
    FloatGrid::Ptr grid = createLevelSet<FloatGrid>(def.voxel_size, def.half_width);
    grid->setTransform(transform_of(map));
    if (list.size() > 0) {
        tools::ParticlesToLevelSet<FloatGrid> raster(*grid);
        raster.rasterizeSpheres(list);
        raster.finalize(true);
    }
    if (list.size() > 0 && def.smoothing > 0) {
        tools::LevelSetFilter<FloatGrid> filter(*grid);
        for (int pass = 0; pass < def.smoothing; pass++)
            filter.mean(1);
    }
    auto shape = std::make_unique<firn_vdb_shape>();
    shape->surface = level_set_of(*grid, map);
    shape->link();
    return shape;
}

} // namespace

// ---- fog
// -----------------------------------------------------------------------------------------

FloatGrid::Ptr level_set_of_fog(const FloatGrid &fog, float threshold, float half_width)
{
    FloatGrid::Ptr surface = tools::levelSetRebuild(fog, threshold, half_width);
    if (surface->empty())
        fail(FIRN_ERR_ARGUMENT, "nothing in the grid '%s' passes the threshold %g",
             fog.getName().c_str(), (double)threshold);
    return surface;
}

} // namespace firn_vdb

using namespace firn_vdb;

firn_result firn_vdb_shape_from_mesh(const firn_vdb_mesh_def *def, const firn_vdb_mesh *mesh,
                                     firn_vdb_shape **shape, firn_error *error)
{
    *shape = nullptr;
    FIRN_TRY(firn_vdb_mesh_def_check(def, error));
    return guarded(error, [&] {
        with_threads(def->thread_count, [&] { *shape = convert(*def, *mesh).release(); });
    });
}

firn_result firn_vdb_shape_from_particles(const firn_vdb_skin_def *def,
                                          const firn_vdb_spheres *spheres, firn_vdb_shape **shape,
                                          firn_error *error)
{
    *shape = nullptr;
    FIRN_TRY(firn_vdb_skin_def_check(def, error));
    return guarded(error, [&] {
        with_threads(def->thread_count, [&] { *shape = cover(*def, *spheres).release(); });
    });
}
