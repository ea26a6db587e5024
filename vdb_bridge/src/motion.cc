#include "data.hpp"

#include "firn/vdb_motion.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace firn_vdb
{

namespace
{

constexpr size_t SAMPLE_LIMIT = 20000; // points of a surface that the rigid motion is fitted to
constexpr int ITERATIONS = 30;
constexpr float AT_REST = 1e-12f; // m/s: known to be still, where zero would mean unknown

struct vec {
    double x, y, z;
};

vec operator+(const vec &a, const vec &b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
vec operator-(const vec &a, const vec &b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
vec operator*(double s, const vec &a) { return {s * a.x, s * a.y, s * a.z}; }
double dot(const vec &a, const vec &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
double length(const vec &a) { return std::sqrt(dot(a, a)); }
vec cross(const vec &a, const vec &b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
vec of(const firn_vec3 &v) { return {v.x, v.y, v.z}; }
firn_vec3 to(const vec &v) { return {(float)v.x, (float)v.y, (float)v.z}; }

/// y = turn * (x - from) + onto, with the rows of a rotation.
struct rigid {
    vec row[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    vec from = {0, 0, 0}, onto = {0, 0, 0};

    vec apply(const vec &x) const
    {
        vec d = x - from;
        return onto + vec{dot(row[0], d), dot(row[1], d), dot(row[2], d)};
    }
    vec undo(const vec &y) const
    {
        vec d = y - onto;
        return from + d.x * row[0] + d.y * row[1] + d.z * row[2];
    }
    vec turn(const vec &v) const { return {dot(row[0], v), dot(row[1], v), dot(row[2], v)}; }
    vec turn_back(const vec &v) const { return v.x * row[0] + v.y * row[1] + v.z * row[2]; }
    double angle() const
    {
        double cosine = 0.5 * (row[0].x + row[1].y + row[2].z - 1.0);
        return std::acos(std::min(1.0, std::max(-1.0, cosine)));
    }
    void turn_by(const vec &w);
};

/// Turns what comes out by a rotation vector.
void rigid::turn_by(const vec &w)
{
    double angle = length(w);
    if (angle < 1e-14)
        return;
    vec axis = (1.0 / angle) * w;
    vec column[3];
    for (int i = 0; i < 3; i++) {
        vec c = {(&row[0].x)[i], (&row[1].x)[i], (&row[2].x)[i]};
        column[i] = std::cos(angle) * c + std::sin(angle) * cross(axis, c) +
                    (1.0 - std::cos(angle)) * dot(axis, c) * axis;
    }
    for (int i = 0; i < 3; i++)
        row[i] = {(&column[0].x)[i], (&column[1].x)[i], (&column[2].x)[i]};
}

struct coord_hash {
    size_t operator()(const firn_coord &c) const
    {
        return (size_t)c.x * 73856093u ^ (size_t)c.y * 19349663u ^ (size_t)c.z * 83492791u;
    }
};
struct coord_equal {
    bool operator()(const firn_coord &a, const firn_coord &b) const
    {
        return a.x == b.x && a.y == b.y && a.z == b.z;
    }
};

/// A level set that can be asked at any point.
class field
{
  public:
    explicit field(const level_set_data &data) : data_(data)
    {
        leaves_.reserve(2 * data.origins.size());
        for (size_t i = 0; i < data.origins.size(); i++)
            leaves_.emplace(data.origins[i], i);
        for (const firn_tile &tile : data.tiles)
            if (tile.edge == FIRN_LEAF_EDGE)
                tiles_.emplace(tile.origin, tile.value);
            else
                large_.push_back(&tile);
    }

    const level_set_data &data() const { return data_; }
    double voxel() const { return data_.map.scale; }
    double band() const { return 0.99 * data_.background; }

    float at(const firn_coord &c) const
    {
        firn_coord origin = {c.x & ~7, c.y & ~7, c.z & ~7};
        auto leaf = leaves_.find(origin);
        if (leaf != leaves_.end())
            return data_.values[FIRN_LEAF_VOXELS * leaf->second +
                                (size_t)((c.x & 7) * 64 + (c.y & 7) * 8 + (c.z & 7))];
        auto tile = tiles_.find(origin);
        if (tile != tiles_.end())
            return tile->second;
        for (const firn_tile *t : large_)
            if (c.x >= t->origin.x && c.x < t->origin.x + t->edge && c.y >= t->origin.y &&
                c.y < t->origin.y + t->edge && c.z >= t->origin.z && c.z < t->origin.z + t->edge)
                return t->value;
        return data_.background;
    }

    /// Distance, and its gradient in the world when wanted.
    double sample(const vec &world, vec *gradient) const
    {
        firn_vec3 p = firn_transform_point_inverse(
            data_.map, firn_vec((float)world.x, (float)world.y, (float)world.z));
        if (!(std::fabs(p.x) < 1e8f && std::fabs(p.y) < 1e8f && std::fabs(p.z) < 1e8f))
            return data_.background;
        firn_coord base = {(int32_t)std::floor(p.x), (int32_t)std::floor(p.y),
                           (int32_t)std::floor(p.z)};
        double f[3] = {p.x - (double)base.x, p.y - (double)base.y, p.z - (double)base.z};
        double value[8];
        for (int i = 0; i < 8; i++)
            value[i] = (double)at({base.x + (i >> 2), base.y + ((i >> 1) & 1), base.z + (i & 1)});
        double sum = 0.0, slope[3] = {0.0, 0.0, 0.0};
        for (int i = 0; i < 8; i++) {
            int bit[3] = {i >> 2, (i >> 1) & 1, i & 1};
            double w[3];
            for (int a = 0; a < 3; a++)
                w[a] = bit[a] ? f[a] : 1.0 - f[a];
            sum += w[0] * w[1] * w[2] * value[i];
            slope[0] += (bit[0] ? 1.0 : -1.0) * w[1] * w[2] * value[i];
            slope[1] += (bit[1] ? 1.0 : -1.0) * w[0] * w[2] * value[i];
            slope[2] += (bit[2] ? 1.0 : -1.0) * w[0] * w[1] * value[i];
        }
        if (gradient != nullptr) {
            vec local = {slope[0], slope[1], slope[2]};
            double size = length(local);
            *gradient = size > 0.0 ? of(firn_rotate(data_.map.rotation, to((1.0 / size) * local)))
                                   : vec{0, 0, 0};
        }
        return sum;
    }

  private:
    const level_set_data &data_;
    std::unordered_map<firn_coord, size_t, coord_hash, coord_equal> leaves_;
    std::unordered_map<firn_coord, float, coord_hash, coord_equal> tiles_;
    std::vector<const firn_tile *> large_;
};

/// Points on the surface, evenly thinned out, and what they say together.
struct samples {
    std::vector<vec> points;
    vec center = {0, 0, 0};
    vec low = {1e30, 1e30, 1e30}, high = {-1e30, -1e30, -1e30};

    explicit samples(const field &f);
    double extent() const { return points.empty() ? 0.0 : length(high - low); }
};

samples::samples(const field &f)
{
    const level_set_data &data = f.data();
    std::vector<std::pair<size_t, int>> near;
    float close = 0.75f * data.map.scale;
    for (size_t i = 0; i < data.origins.size(); i++)
        for (int n = 0; n < FIRN_LEAF_VOXELS; n++)
            if (std::fabs(data.values[FIRN_LEAF_VOXELS * i + (size_t)n]) < close)
                near.emplace_back(i, n);
    size_t stride = near.size() / SAMPLE_LIMIT + 1;
    for (size_t k = 0; k < near.size(); k += stride) {
        const firn_coord &o = data.origins[near[k].first];
        int n = near[k].second;
        firn_vec3 voxel = {(float)(o.x + (n >> 6)), (float)(o.y + ((n >> 3) & 7)),
                           (float)(o.z + (n & 7))};
        vec p = of(firn_transform_point(data.map, voxel)), normal;
        double d = f.sample(p, &normal);
        p = p - d * normal;
        points.push_back(p);
        center = center + p;
        for (int a = 0; a < 3; a++) {
            (&low.x)[a] = std::min((&low.x)[a], (&p.x)[a]);
            (&high.x)[a] = std::max((&high.x)[a], (&p.x)[a]);
        }
    }
    if (!points.empty())
        center = (1.0 / (double)points.size()) * center;
}

/// Solves a symmetric positive system of six; the factor of Cholesky replaces the matrix.
bool solve6(double m[6][6], double b[6])
{
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            double sum = m[i][j];
            for (int k = 0; k < j; k++)
                sum -= m[i][k] * m[j][k];
            if (i == j && !(sum > 0.0))
                return false;
            m[i][j] = i == j ? std::sqrt(sum) : sum / m[j][j];
        }
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= m[i][k] * b[k];
        b[i] /= m[i][i];
    }
    for (int i = 5; i >= 0; i--) {
        for (int k = i + 1; k < 6; k++)
            b[i] -= m[k][i] * b[k];
        b[i] /= m[i][i];
    }
    return true;
}

/// How well the samples, brought back, lie on the first surface.
struct fit {
    double square = 0.0; // m^2, mean, of those within the band
    double cost = 0.0;   // m^2, mean, those beyond it counted as at its edge
    double unmatched = 1.0;
};

fit measure(const field &before, const samples &after, const rigid &back)
{
    fit result;
    size_t matched = 0;
    double band = before.band();
    for (const vec &x : after.points) {
        double d = before.sample(back.apply(x), nullptr);
        bool inside = std::fabs(d) < band;
        matched += inside;
        result.square += inside ? d * d : 0.0;
        result.cost += inside ? d * d : band * band;
    }
    double count = (double)std::max<size_t>(1, after.points.size());
    result.square /= (double)std::max<size_t>(1, matched);
    result.cost /= count;
    result.unmatched = 1.0 - (double)matched / count;
    return result;
}

/// One step of Gauss and Newton; points that fit badly count less. The size of the step (m).
double improve(const field &before, const samples &after, rigid &back)
{
    double reach = std::max(0.5 * after.extent(), before.voxel()), band = before.band();
    double m[6][6] = {}, b[6] = {};
    for (const vec &x : after.points) {
        vec n, y = back.apply(x);
        double d = before.sample(y, &n);
        if (!(std::fabs(d) < band))
            continue;
        vec arm = (1.0 / reach) * cross(y - back.onto, n);
        double row[6] = {n.x, n.y, n.z, arm.x, arm.y, arm.z};
        double weight = 1.0 / (1.0 + std::fabs(d) / before.voxel());
        for (int i = 0; i < 6; i++) {
            b[i] -= weight * row[i] * d;
            for (int j = 0; j <= i; j++)
                m[i][j] += weight * row[i] * row[j];
        }
    }
    double trace = 0.0;
    for (int i = 0; i < 6; i++)
        trace += m[i][i];
    // Turns and slides that the surface does not show stay where they are.
    for (int i = 0; i < 6; i++)
        m[i][i] += 1e-3 * trace / 6.0 + 1e-30;
    if (!solve6(m, b))
        return 0.0;
    back.onto = back.onto + vec{b[0], b[1], b[2]};
    vec w = {b[3], b[4], b[5]};
    back.turn_by((1.0 / reach) * w);
    return length({b[0], b[1], b[2]}) + length(w);
}

/// The rigid motion that brings the second surface back onto the first.
rigid register_surfaces(const field &before, const field &after, const samples &first,
                        const samples &second)
{
    rigid still, shifted;
    still.from = still.onto = shifted.from = second.center;
    shifted.onto = first.center;
    fit a = measure(before, second, still), b = measure(before, second, shifted);
    // The samples are not exactly on their own surface, where it has edges.
    if (a.cost <= 1.01 * measure(after, second, still).cost)
        return still;
    rigid best = b.cost < a.cost ? shifted : still, now = best;
    double least = std::min(a.cost, b.cost);
    for (int i = 0; i < ITERATIONS && least > 0.0; i++) {
        double step = improve(before, second, now);
        double cost = measure(before, second, now).cost;
        if (cost < least) {
            least = cost;
            best = now;
        }
        if (step < 1e-4 * before.voxel())
            break;
    }
    // A motion too small to see is none.
    double moved = 0.0;
    for (const vec &x : second.points)
        moved = std::max(moved, length(best.apply(x) - x));
    return moved < 1e-3 * before.voxel() ? still : best;
}

/// Velocities around one surface; other is the surface that it goes to or comes from.
velocity_data carry(const field &own, const field &other, const rigid &back, bool is_first,
                    double seconds)
{
    const level_set_data &data = own.data();
    velocity_data result = {data.map, array<firn_coord>(data.origins.size()),
                            array<firn_vec3>(data.values.size())};
    double rate = 1.0 / seconds;
    tbb::parallel_for(size_t(0), data.origins.size(), [&](size_t i) {
        const firn_coord &o = data.origins[i];
        result.origins[i] = o;
        for (int n = 0; n < FIRN_LEAF_VOXELS; n++) {
            firn_vec3 &v = result.values[FIRN_LEAF_VOXELS * i + (size_t)n];
            double d = data.values[FIRN_LEAF_VOXELS * i + (size_t)n];
            v = {0.0f, 0.0f, 0.0f};
            if (!(std::fabs(d) < own.band()))
                continue;
            firn_vec3 voxel = {(float)(o.x + (n >> 6)), (float)(o.y + ((n >> 3) & 7)),
                               (float)(o.z + (n & 7))};
            vec here = of(firn_transform_point(data.map, voxel)), normal;
            own.sample(here, &normal);
            vec there = is_first ? back.undo(here) : back.apply(here);
            double e = other.sample(there, nullptr);
            vec way = is_first ? there - here : here - there;
            // Outward is where the first distance is larger than the second.
            double left = is_first ? d - e : e - d;
            vec along = is_first ? back.turn_back(normal) : normal;
            v = to(rate * (way + left * along));
            if (v.x == 0.0f && v.y == 0.0f && v.z == 0.0f)
                v.y = AT_REST;
        }
    });
    return result;
}

bool needs(const firn_vdb_shape &shape)
{
    return shape.derived || shape.velocity.origins.size() == 0;
}

void forget(firn_vdb_shape &shape)
{
    if (!shape.derived)
        return;
    shape.velocity = velocity_data{};
    shape.derived = false;
    shape.link();
}

void give(firn_vdb_shape &shape, velocity_data &&velocity)
{
    shape.velocity = std::move(velocity);
    shape.derived = true;
    shape.link();
}

firn_vdb_motion follow(firn_vdb_shape &from, firn_vdb_shape &to_shape, double seconds,
                       double max_speed)
{
    bool first_needs = needs(from), second_needs = needs(to_shape);
    forget(from);
    forget(to_shape);
    field before(from.surface), after(to_shape.surface);
    samples first(before), second(after);
    firn_vdb_motion motion = {};
    if (first.points.empty() || second.points.empty()) {
        motion.unmatched = 1.0f;
        motion.jumped = first.points.size() != second.points.size();
        return motion;
    }
    rigid back = register_surfaces(before, after, first, second);
    fit quality = measure(before, second, back);
    vec way = second.center - back.apply(second.center);
    motion.velocity = to((1.0 / seconds) * way);
    motion.angle = (float)back.angle();
    motion.residual = (float)std::sqrt(quality.square);
    motion.unmatched = (float)quality.unmatched;
    motion.jumped = quality.unmatched > 0.75 || length(way) > max_speed * seconds ||
                    length(way) > 2.0 * std::max(first.extent(), second.extent());
    if (motion.jumped)
        return motion;
    if (first_needs)
        give(from, carry(before, after, back, true, seconds));
    if (second_needs)
        give(to_shape, carry(after, before, back, false, seconds));
    return motion;
}

/// The mean of the stored velocities where the surface is.
vec mean_velocity(const firn_vdb_shape &shape)
{
    const velocity_data &velocity = shape.velocity;
    vec sum = {0, 0, 0};
    double count = 0.0;
    for (const firn_vec3 &v : velocity.values)
        if (v.x != 0.0f || v.y != 0.0f || v.z != 0.0f) {
            sum = sum + of(v);
            count += 1.0;
        }
    return count > 0.0 ? (1.0 / count) * sum : sum;
}

firn_vdb_verdict judge(const firn_vdb_shape &from, const firn_vdb_shape &to_shape, double seconds,
                       double fps)
{
    constexpr double tolerance = 0.35;
    field before(from.surface), after(to_shape.surface);
    samples first(before), second(after);
    vec way = second.center - first.center, seen = (1.0 / seconds) * way;
    double extent = std::max(first.extent(), second.extent());
    // Less than half a voxel says nothing, and more than the own extent may be a jump.
    if (first.points.empty() || second.points.empty() || length(way) < 0.5 * before.voxel() ||
        length(way) > 2.0 * extent)
        return FIRN_VDB_MOTION_UNKNOWN;
    vec stored = 0.5 * (mean_velocity(from) + mean_velocity(to_shape));
    auto agrees = [&](double factor) {
        return length(factor * stored - seen) < tolerance * length(seen);
    };
    if (agrees(1.0))
        return FIRN_VDB_MOTION_AGREES;
    return agrees(fps) ? FIRN_VDB_MOTION_PER_FRAME : FIRN_VDB_MOTION_DISAGREES;
}

} // namespace

} // namespace firn_vdb

using namespace firn_vdb;

firn_result firn_vdb_shape_follow(firn_vdb_shape *from, firn_vdb_shape *to, double seconds,
                                  double max_speed, firn_vdb_motion *motion, firn_error *error)
{
    FIRN_ASSERT(seconds > 0.0);
    return guarded(error, [&] {
        firn_vdb_motion seen = {};
        if (from != to && (needs(*from) || needs(*to)))
            seen = follow(*from, *to, seconds, max_speed);
        if (motion != nullptr)
            *motion = seen;
    });
}

bool firn_vdb_shape_has_stored_velocity(const firn_vdb_shape *shape)
{
    return !shape->derived && shape->velocity.origins.size() > 0;
}

firn_result firn_vdb_shape_judge(firn_vdb_shape *from, firn_vdb_shape *to, double seconds,
                                 double fps, firn_vdb_verdict *verdict, firn_error *error)
{
    FIRN_ASSERT(seconds > 0.0);
    *verdict = FIRN_VDB_MOTION_UNKNOWN;
    return guarded(error, [&] {
        if (from != to && firn_vdb_shape_has_stored_velocity(from) &&
            firn_vdb_shape_has_stored_velocity(to))
            *verdict = judge(*from, *to, seconds, fps);
    });
}
