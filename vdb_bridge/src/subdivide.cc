#include "firn/vdb_subdivide.h"

#include "guard.hpp"

#include <opensubdiv/far/primvarRefiner.h>
#include <opensubdiv/far/topologyDescriptor.h>
#include <opensubdiv/far/topologyRefinerFactory.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace OpenSubdiv;
using namespace firn_vdb;

struct firn_vdb_subdivision {
    std::unique_ptr<Far::TopologyRefiner> refiner;
    std::vector<int32_t> face_sizes, indices;
    size_t left_out = 0;
};

namespace
{

thread_local std::string complaint; // of OpenSubdiv, which would print it

void silence()
{
    static std::once_flag once;
    std::call_once(once, [] {
        Far::SetErrorCallback([](Far::ErrorType, const char *message) { complaint = message; });
        Far::SetWarningCallback([](const char *) {});
    });
}

/// A value with the arithmetic that OpenSubdiv asks for.
struct value {
    firn_vec3 v;

    void Clear() { v = {0.0f, 0.0f, 0.0f}; }
    void AddWithWeight(const value &other, float weight)
    {
        v = firn_add_scaled(v, weight, other.v);
    }
};
static_assert(sizeof(value) == sizeof(firn_vec3));

/// The faces of a cage that can be refined, and its holes by their new numbers.
struct clean_cage {
    std::vector<int> sizes, indices, holes;
    size_t left_out = 0;

    explicit clean_cage(const firn_vdb_cage &cage)
    {
        std::vector<bool> hole(cage.face_count);
        for (size_t i = 0; i < cage.hole_count; i++) {
            if (cage.holes[i] < 0 || (size_t)cage.holes[i] >= cage.face_count)
                fail(FIRN_ERR_ARGUMENT, "hole %zu is face %d of %zu", i, (int)cage.holes[i],
                     cage.face_count);
            hole[(size_t)cage.holes[i]] = true;
        }
        size_t at = 0;
        for (size_t f = 0; f < cage.face_count; f++) {
            int size = cage.face_sizes[f];
            if (size < 0 || (size_t)size > cage.index_count - at)
                fail(FIRN_ERR_ARGUMENT, "face %zu has %d of %zu corners", f, size,
                     cage.index_count - at);
            if (is_proper(cage, cage.indices + at, size)) {
                if (hole[f])
                    holes.push_back((int)sizes.size());
                sizes.push_back(size);
                indices.insert(indices.end(), cage.indices + at, cage.indices + at + size);
            } else {
                left_out++;
            }
            at += (size_t)size;
        }
    }

  private:
    static bool is_proper(const firn_vdb_cage &cage, const int32_t *corner, int size)
    {
        for (int k = 0; k < size; k++) {
            if (corner[k] < 0 || (size_t)corner[k] >= cage.point_count)
                fail(FIRN_ERR_ARGUMENT, "a corner of the cage is point %d of %zu", (int)corner[k],
                     cage.point_count);
            if (size < 3 || corner[k] == corner[(k + 1) % size])
                return false;
        }
        return size >= 3;
    }
};

Sdc::Options options_of(const firn_vdb_cage &cage)
{
    Sdc::Options options;
    options.SetVtxBoundaryInterpolation(cage.boundary == FIRN_VDB_BOUNDARY_EDGE
                                            ? Sdc::Options::VTX_BOUNDARY_EDGE_ONLY
                                            : Sdc::Options::VTX_BOUNDARY_EDGE_AND_CORNER);
    return options;
}

Sdc::SchemeType scheme_of(const firn_vdb_cage &cage, const clean_cage &clean)
{
    if (cage.scheme == FIRN_VDB_SCHEME_BILINEAR)
        return Sdc::SCHEME_BILINEAR;
    if (cage.scheme == FIRN_VDB_SCHEME_CATMULL_CLARK)
        return Sdc::SCHEME_CATMARK;
    for (int size : clean.sizes)
        if (size != 3)
            fail(FIRN_ERR_FORMAT, "Loop subdivision needs triangles, but a face has %d corners",
                 size);
    return Sdc::SCHEME_LOOP;
}

void check_size(const firn_vdb_cage &cage, const clean_cage &clean, int level)
{
    if (level < 0 || level > FIRN_VDB_SUBDIVISION_LEVELS)
        fail(FIRN_ERR_ARGUMENT, "the level of subdivision is %d; it goes from 0 to %d", level,
             (int)FIRN_VDB_SUBDIVISION_LEVELS);
    // The first step makes a face of each corner.
    size_t faces = level > 0 ? clean.indices.size() << (2 * (level - 1)) : clean.sizes.size();
    if (faces > FIRN_VDB_SUBDIVISION_FACES || cage.point_count > INT32_MAX)
        fail(FIRN_ERR_MEMORY,
             "a cage of %zu faces would have %zu at subdivision level %d, more than %d: take a "
             "lower level",
             clean.sizes.size(), faces, level, (int)FIRN_VDB_SUBDIVISION_FACES);
}

Far::TopologyRefiner *refine(const firn_vdb_cage &cage, clean_cage &clean, int level)
{
    using factory = Far::TopologyRefinerFactory<Far::TopologyDescriptor>;
    Far::TopologyDescriptor topology;
    topology.numVertices = (int)cage.point_count;
    topology.numFaces = (int)clean.sizes.size();
    topology.numVertsPerFace = clean.sizes.data();
    topology.vertIndicesPerFace = clean.indices.data();
    topology.numCreases = (int)cage.crease_count;
    topology.creaseVertexIndexPairs = cage.creases;
    topology.creaseWeights = cage.crease_sharpness;
    topology.numCorners = (int)cage.corner_count;
    topology.cornerVertexIndices = cage.corners;
    topology.cornerWeights = cage.corner_sharpness;
    topology.numHoles = (int)clean.holes.size();
    topology.holeIndices = clean.holes.data();
    factory::Options options(scheme_of(cage, clean), options_of(cage));
    options.validateFullTopology = true;
    complaint.clear();
    std::unique_ptr<Far::TopologyRefiner> refiner(factory::Create(topology, options));
    if (refiner == nullptr)
        fail(FIRN_ERR_FORMAT, "the cage cannot be subdivided: %.300s",
             complaint.empty() ? "its faces contradict each other" : complaint.c_str());
    Far::TopologyRefiner::UniformOptions uniform(level);
    uniform.fullTopologyInLastLevel = true;
    refiner->RefineUniform(uniform);
    return refiner.release();
}

void take_faces(firn_vdb_subdivision &subdivision, int level)
{
    const Far::TopologyLevel &last = subdivision.refiner->GetLevel(level);
    for (int f = 0; f < last.GetNumFaces(); f++) {
        if (last.IsFaceHole(f))
            continue;
        Far::ConstIndexArray corners = last.GetFaceVertices(f);
        subdivision.face_sizes.push_back(corners.size());
        for (int k = 0; k < corners.size(); k++)
            subdivision.indices.push_back(corners[k]);
    }
}

} // namespace

firn_result firn_vdb_subdivision_create(const firn_vdb_cage *cage, int level,
                                        firn_vdb_subdivision **subdivision, firn_error *error)
{
    *subdivision = nullptr;
    return guarded(error, [&] {
        silence();
        clean_cage clean(*cage);
        check_size(*cage, clean, level);
        auto made = std::make_unique<firn_vdb_subdivision>();
        made->left_out = clean.left_out;
        if (!clean.sizes.empty()) {
            made->refiner.reset(refine(*cage, clean, level));
            take_faces(*made, level);
        }
        *subdivision = made.release();
    });
}

void firn_vdb_subdivision_destroy(firn_vdb_subdivision *subdivision) { delete subdivision; }

firn_vdb_limit firn_vdb_subdivision_limit(const firn_vdb_subdivision *subdivision)
{
    const Far::TopologyRefiner *refiner = subdivision->refiner.get();
    size_t points = 0;
    if (refiner != nullptr)
        points = (size_t)refiner->GetLevel(refiner->GetMaxLevel()).GetNumVertices();
    return {points,
            subdivision->face_sizes.size(),
            subdivision->face_sizes.data(),
            subdivision->indices.size(),
            subdivision->indices.data(),
            subdivision->left_out};
}

firn_result firn_vdb_subdivision_apply(const firn_vdb_subdivision *subdivision,
                                       const firn_vec3 *cage, firn_vec3 *limit, firn_error *error)
{
    return guarded(error, [&] {
        const Far::TopologyRefiner *refiner = subdivision->refiner.get();
        if (refiner == nullptr)
            return;
        Far::PrimvarRefiner values(*refiner);
        const value *from = reinterpret_cast<const value *>(cage);
        std::vector<value> levels[2];
        for (int level = 1; level <= refiner->GetMaxLevel(); level++) {
            std::vector<value> &next = levels[level % 2];
            next.resize((size_t)refiner->GetLevel(level).GetNumVertices());
            values.Interpolate(level, from, next);
            from = next.data();
        }
        value *to = reinterpret_cast<value *>(limit);
        values.Limit(from, to);
    });
}
