#include "triangulate.hpp"

#include "guard.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace firn_vdb
{

namespace
{

constexpr size_t EAR_LIMIT = 1000; // points of a face; cutting ears takes the square of that

int32_t size_of_face(const firn_vdb_mesh &mesh, size_t face)
{
    return mesh.face_sizes != nullptr ? mesh.face_sizes[face] : 3;
}

struct flat_point {
    float x, y;
};

/// A face seen along its mean normal, so that it turns counterclockwise.
class flat_face
{
  public:
    flat_face(const firn_vdb_mesh &mesh, const int32_t *indices, size_t count) : left_(count)
    {
        firn_vec3 normal = {0.0f, 0.0f, 0.0f}; // Newell's, right for concave faces as well
        firn_vec3 first = mesh.points[indices[0]];
        for (size_t i = 0; i < count; i++) {
            firn_vec3 a = firn_sub(mesh.points[indices[i]], first);
            firn_vec3 b = firn_sub(mesh.points[indices[(i + 1) % count]], first);
            normal = firn_add(normal, firn_cross(a, b));
        }
        normal = firn_normalize(normal);
        firn_vec3 away = std::fabs(normal.x) < 0.6f ? firn_vec(1, 0, 0) : firn_vec(0, 1, 0);
        firn_vec3 u = firn_normalize(firn_cross(away, normal)), v = firn_cross(normal, u);
        for (size_t i = 0; i < count; i++) {
            firn_vec3 p = firn_sub(mesh.points[indices[i]], first);
            flat_.push_back({firn_dot(p, u), firn_dot(p, v)});
        }
        std::iota(left_.begin(), left_.end(), 0);
    }

    size_t size() const { return left_.size(); }
    size_t corner(size_t i) const { return left_[i % left_.size()]; }
    void remove(size_t i) { left_.erase(left_.begin() + (std::ptrdiff_t)(i % left_.size())); }

    /// True when the triangle at corner i + 1 lies inside the face and contains no other corner.
    bool is_ear(size_t i) const
    {
        flat_point a = flat_[corner(i)], b = flat_[corner(i + 1)], c = flat_[corner(i + 2)];
        if (!(turn(a, b, c) > 0.0f))
            return false;
        for (size_t j = 3; j < size(); j++) {
            flat_point p = flat_[corner(i + j)];
            if (turn(a, b, p) >= 0.0f && turn(b, c, p) >= 0.0f && turn(c, a, p) >= 0.0f)
                return false;
        }
        return true;
    }

  private:
    static float turn(flat_point a, flat_point b, flat_point c)
    {
        return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    }

    std::vector<flat_point> flat_;
    std::vector<size_t> left_;
};

void cut_face(const firn_vdb_mesh &mesh, const int32_t *indices, size_t count,
              std::vector<triangle> &triangles)
{
    flat_face face(mesh, indices, count);
    while (face.size() > 3) {
        size_t ear = 0;
        if (count <= EAR_LIMIT)
            while (ear < face.size() && !face.is_ear(ear))
                ear++;
        if (ear == face.size())
            ear = 0; // it crosses itself or has no area: any cut is as good
        triangles.push_back({indices[face.corner(ear)], indices[face.corner(ear + 1)],
                             indices[face.corner(ear + 2)]});
        face.remove(ear + 1);
    }
    triangles.push_back(
        {indices[face.corner(0)], indices[face.corner(1)], indices[face.corner(2)]});
}

} // namespace

void check_mesh(const firn_vdb_mesh &mesh)
{
    if (mesh.point_count > INT32_MAX || mesh.index_count > INT32_MAX)
        fail(FIRN_ERR_ARGUMENT, "the mesh has more points than 32-bit indices can name");
    for (size_t i = 0; i < mesh.point_count; i++) {
        if (!firn_vec_is_finite(mesh.points[i]))
            fail(FIRN_ERR_ARGUMENT, "point %zu of the mesh is not finite", i);
        if (mesh.velocity != nullptr && !firn_vec_is_finite(mesh.velocity[i]))
            fail(FIRN_ERR_ARGUMENT, "the velocity of point %zu of the mesh is not finite", i);
    }
    size_t used = 0;
    for (size_t face = 0; face < mesh.face_count; face++) {
        int32_t size = size_of_face(mesh, face);
        if (size < 3 || (size_t)size > mesh.index_count - used)
            fail(FIRN_ERR_ARGUMENT, "face %zu of the mesh has %d points; %zu indices are left",
                 face, size, mesh.index_count - used);
        used += (size_t)size;
    }
    if (used != mesh.index_count)
        fail(FIRN_ERR_ARGUMENT, "the faces of the mesh use %zu of its %zu indices", used,
             mesh.index_count);
    for (size_t i = 0; i < mesh.index_count; i++)
        if (mesh.indices[i] < 0 || (size_t)mesh.indices[i] >= mesh.point_count)
            fail(FIRN_ERR_ARGUMENT, "index %zu of the mesh is %d; there are %zu points", i,
                 mesh.indices[i], mesh.point_count);
}

std::vector<triangle> triangulate(const firn_vdb_mesh &mesh)
{
    std::vector<triangle> triangles;
    triangles.reserve(mesh.index_count);
    const int32_t *indices = mesh.indices;
    for (size_t face = 0; face < mesh.face_count; face++) {
        size_t size = (size_t)size_of_face(mesh, face);
        if (size == 3)
            triangles.push_back({indices[0], indices[1], indices[2]});
        else
            cut_face(mesh, indices, size, triangles);
        indices += size;
    }
    return triangles;
}

/// For each point the first one at the same place.
static std::vector<int32_t> weld(const firn_vdb_mesh &mesh)
{
    auto place = [&](int32_t i) {
        const firn_vec3 &p = mesh.points[i];
        return std::tie(p.x, p.y, p.z);
    };
    std::vector<int32_t> order(mesh.point_count), first(mesh.point_count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int32_t a, int32_t b) { return place(a) < place(b); });
    for (size_t i = 0; i < order.size(); i++) {
        bool same = i > 0 && place(order[i]) == place(order[i - 1]);
        first[(size_t)order[i]] = same ? first[(size_t)order[i - 1]] : order[i];
    }
    return first;
}

size_t count_open_edges(const firn_vdb_mesh &mesh, const std::vector<triangle> &triangles)
{
    std::vector<int32_t> first = weld(mesh);
    std::vector<std::pair<int32_t, int32_t>> edges;
    edges.reserve(3 * triangles.size());
    for (const triangle &t : triangles)
        for (size_t corner = 0; corner < 3; corner++) {
            int32_t a = first[(size_t)t[corner]], b = first[(size_t)t[(corner + 1) % 3]];
            if (a != b)
                edges.emplace_back(std::min(a, b), std::max(a, b));
        }
    std::sort(edges.begin(), edges.end());
    size_t open = 0;
    for (size_t i = 0, next; i < edges.size(); i = next) {
        for (next = i; next < edges.size() && edges[next] == edges[i]; next++) {
        }
        open += (next - i) % 2;
    }
    return open;
}

} // namespace firn_vdb
