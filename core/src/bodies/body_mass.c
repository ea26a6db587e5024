/// What a shape weighs when it is full, and its surface in points.
#include "bodies.h"

/// Sums over pieces of a body: of volume, first and second moments about the origin of the pose.
typedef struct moments {
    double volume;    // m^3
    double first[3];  // m^4
    double second[9]; // m^5, of x x^T
} moments;

// A cube with an edge, its middle at x; share of it is inside.
static void add_cube(moments *sum, const double x[3], double edge, double share)
{
    double volume = share * edge * edge * edge;
    sum->volume += volume;
    for (int i = 0; i < 3; i++) {
        sum->first[i] += volume * x[i];
        for (int k = 0; k < 3; k++)
            sum->second[3 * i + k] += volume * (x[i] * x[k] + (i == k ? edge * edge / 12.0 : 0.0));
    }
}

// The inertia about the center and the center, for a density.
static void from_moments(const moments *sum, double density, firn_body_mass *mass)
{
    mass->mass = density * sum->volume;
    double about[9], trace = 0.0;
    for (int i = 0; i < 3; i++)
        mass->center[i] = sum->first[i] / sum->volume;
    for (int i = 0; i < 9; i++)
        about[i] = sum->second[i] - sum->volume * mass->center[i / 3] * mass->center[i % 3];
    trace = about[0] + about[4] + about[8];
    for (int i = 0; i < 9; i++)
        mass->inertia[i] = density * ((i % 4 == 0 ? trace : 0.0) - about[i]);
}

// Voxels of a level set as small cubes: those that the surface cuts by the share that is inside.
static void add_level_set(moments *sum, const firn_collider_def *shape, const firn_sdf *sdf)
{
    const firn_level_set *set = &sdf->set;
    double scale = (double)shape->pose.scale, edge = scale * (double)set->map.scale;
    for (size_t leaf = 0; leaf < set->leaf_count; leaf++)
        for (int v = 0; v < FIRN_LEAF_VOXELS; v++) {
            double far = scale * (double)set->values[leaf * FIRN_LEAF_VOXELS + (size_t)v];
            double share = 0.5 - (far - (double)shape->offset) / edge;
            if (!(share > 0.0))
                continue;
            firn_coord o = set->leaf_origin[leaf];
            firn_d3 x = firn_d3_of(firn_transform_point(
                set->map, firn_vec((float)(o.x + (v >> 6)), (float)(o.y + (v >> 3 & 7)),
                                   (float)(o.z + (v & 7)))));
            add_cube(sum, firn_d3_scale(scale, x).x, edge, fmin(share, 1.0));
        }
    for (size_t i = 0; i < set->tile_count; i++) {
        const firn_tile *t = &set->tiles[i];
        if (!(t->value < 0.0f))
            continue;
        float half = 0.5f * (float)(t->edge - 1);
        firn_d3 x = firn_d3_of(firn_transform_point(set->map, firn_vec((float)t->origin.x + half,
                                                                       (float)t->origin.y + half,
                                                                       (float)t->origin.z + half)));
        add_cube(sum, firn_d3_scale(scale, x).x, edge * t->edge, 1.0);
    }
}

static void weigh_box(const double half[3], double density, firn_body_mass *mass)
{
    mass->mass = 8.0 * density * half[0] * half[1] * half[2];
    for (int i = 0; i < 3; i++) {
        double a = half[(i + 1) % 3], b = half[(i + 2) % 3];
        mass->inertia[4 * i] = mass->mass * (a * a + b * b) / 3.0;
    }
}

// A cylinder along y with half a ball at each end; a ball when it has no length.
static void weigh_capsule(double half, double r, double density, firn_body_mass *mass)
{
    const double pi = 3.14159265358979323846;
    double tube = 2.0 * pi * r * r * half * density, ball = 4.0 / 3.0 * pi * r * r * r * density;
    double across = tube * (r * r / 4.0 + half * half / 3.0) +
                    ball * (0.4 * r * r + half * half + 0.75 * half * r);
    mass->mass = tube + ball;
    mass->inertia[0] = mass->inertia[8] = across;
    mass->inertia[4] = tube * r * r / 2.0 + ball * 0.4 * r * r;
}

static void weigh_shape(const firn_body_def *def, const firn_sdf *sdf, firn_body_mass *mass)
{
    const firn_collider_def *s = &def->shape;
    double scale = (double)s->pose.scale, grown = (double)s->offset, density = (double)def->density;
    const double half[3] = {scale * (double)s->half_size.x + grown,
                            scale * (double)s->half_size.y + grown,
                            scale * (double)s->half_size.z + grown};
    double r = scale * (double)s->radius + grown;
    moments sum = {0};
    switch (s->shape) {
    case FIRN_SHAPE_BOX:
        weigh_box(half, density, mass);
        return;
    case FIRN_SHAPE_SPHERE:
        weigh_capsule(0.0, r, density, mass);
        return;
    case FIRN_SHAPE_CAPSULE:
        weigh_capsule(scale * (double)s->half_size.y, r, density, mass);
        return;
    default:
        add_level_set(&sum, s, sdf);
        if (sum.volume > 0.0)
            from_moments(&sum, density, mass);
    }
}

static firn_result check_weight(const firn_body_mass *mass, firn_error *error)
{
    double least = fmin(fmin(mass->inertia[0], mass->inertia[4]), mass->inertia[8]);
    if (!(mass->mass > 0.0) || !(least > 0.0) || !isfinite(mass->mass))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the body's shape has no inside to weigh: its mass comes out as %g kg; "
                         "close its mesh, or make the voxels finer or its offset larger",
                         mass->mass);
    return FIRN_OK;
}

firn_result firn_body_weigh(const firn_body_def *def, const firn_sdf *sdf, firn_body_mass *mass,
                            firn_error *error)
{
    memset(mass, 0, sizeof *mass);
    weigh_shape(def, sdf, mass);
    FIRN_TRY(check_weight(mass, error));
    mass->volume = mass->mass / (double)def->density;
    double factor = def->mass > 0.0f ? (double)def->mass / mass->mass : 1.0;
    mass->mass *= factor;
    for (int i = 0; i < 9; i++)
        mass->inertia[i] *= factor;
    if (def->own_center)
        firn_d3_put(mass->center, firn_d3_of(def->center));
    firn_vec3 own = def->inertia;
    if (own.x > 0.0f && own.y > 0.0f && own.z > 0.0f) {
        memset(mass->inertia, 0, sizeof mass->inertia);
        mass->inertia[0] = (double)own.x;
        mass->inertia[4] = (double)own.y;
        mass->inertia[8] = (double)own.z;
    }
    return FIRN_OK;
}

enum { FACE_POINTS = 5, CELLS = 10 };

static int face_points(float half, float spacing)
{
    int n = 1 + (int)ceilf(2.0f * half / spacing);
    return n < 2 ? 2 : n > FACE_POINTS ? FACE_POINTS : n;
}

// Points stand inside by a little and are balls of that radius: edges are round, so that a corner
// on another's edge knows which of its faces it lies on.
static const float ROUND_SHARE = 0.1f, ROUND_SPACING = 0.25f;

// A grid over the faces of a box.
static firn_result box_points(firn_budget *budget, firn_body *body, firn_vec3 half,
                              firn_error *error)
{
    float least = fminf(half.x, fminf(half.y, half.z));
    float r = fminf(ROUND_SHARE * least, ROUND_SPACING * body->spacing);
    const float h[3] = {half.x - r, half.y - r, half.z - r};
    int n[3];
    body->point_radius = r;
    for (int i = 0; i < 3; i++)
        n[i] = face_points(h[i], body->spacing);
    FIRN_TRY(firn_array_claim(budget, &body->points, (size_t)(n[0] * n[1] * n[2]),
                              sizeof(firn_vec3), error));
    firn_vec3 *points = body->points.data;
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
        float x[3];
        bool outer = false;
        for (int k = 0; k < 3; k++) {
            x[k] = h[k] * (2.0f * (float)at[k] / (float)(n[k] - 1) - 1.0f);
            outer |= at[k] == 0 || at[k] == n[k] - 1;
        }
        if (outer)
            points[body->point_count++] = firn_vec(x[0], x[1], x[2]);
    }
    return FIRN_OK;
}

// Balls along the axis of a capsule, or in the middle of a ball.
static firn_result axis_points(firn_budget *budget, firn_body *body, float half, firn_error *error)
{
    int n = half > 0.0f ? face_points(half, body->spacing) : 1;
    FIRN_TRY(firn_array_claim(budget, &body->points, (size_t)n, sizeof(firn_vec3), error));
    firn_vec3 *points = body->points.data;
    for (int i = 0; i < n; i++)
        points[i] =
            firn_vec(0.0f, n > 1 ? half * (2.0f * (float)i / (float)(n - 1) - 1.0f) : 0.0f, 0.0f);
    body->point_count = n;
    return FIRN_OK;
}

/// The box around the surface of a level set, cut into cells; each keeps its farthest point.
typedef struct cells {
    firn_vec3 low; // m
    float edge;
    int n[3];
    firn_vec3 *best;
    float *far; // m, below zero: none
} cells;

static firn_vec3 surface_point(const firn_body *body, const firn_sdf *sdf, size_t leaf, int v,
                               bool *there)
{
    const firn_level_set *set = &sdf->set;
    const firn_collider_def *s = &body->def.shape;
    firn_coord o = set->leaf_origin[leaf];
    firn_vec3 voxel = {(float)(o.x + (v >> 6)), (float)(o.y + (v >> 3 & 7)),
                       (float)(o.z + (v & 7))};
    float far = set->values[leaf * FIRN_LEAF_VOXELS + (size_t)v] - s->offset / s->pose.scale;
    *there = fabsf(far) < 0.9f * set->map.scale;
    if (!*there)
        return voxel;
    firn_distance d = firn_sdf_sample(sdf, voxel);
    *there = firn_length(d.gradient) > 0.3f;
    // One voxel inside, with balls of one voxel.
    voxel = firn_add_scaled(voxel, -far / set->map.scale - 1.0f, firn_normalize(d.gradient));
    return firn_scale(s->pose.scale, firn_transform_point(set->map, voxel));
}

static void keep_farthest(const cells *c, const firn_body *body, firn_vec3 x)
{
    int at = 0;
    const float u[3] = {x.x - c->low.x, x.y - c->low.y, x.z - c->low.z};
    for (int k = 0; k < 3; k++) {
        int i = (int)(u[k] / c->edge);
        at = at * c->n[k] + (i < 0 ? 0 : i >= c->n[k] ? c->n[k] - 1 : i);
    }
    firn_vec3 center = firn_d3_vec(firn_d3_from(body->mass.center));
    float far = firn_length(firn_sub(x, center));
    if (far > c->far[at]) {
        c->far[at] = far;
        c->best[at] = x;
    }
}

static void scan_surface(const firn_body *body, const firn_sdf *sdf, const cells *c,
                         firn_vec3 box[2])
{
    for (size_t leaf = 0; leaf < sdf->set.leaf_count; leaf++)
        for (int v = 0; v < FIRN_LEAF_VOXELS; v++) {
            bool there;
            firn_vec3 x = surface_point(body, sdf, leaf, v, &there);
            if (!there)
                continue;
            if (c != NULL)
                keep_farthest(c, body, x);
            box[0] = firn_vec(fminf(box[0].x, x.x), fminf(box[0].y, x.y), fminf(box[0].z, x.z));
            box[1] = firn_vec(fmaxf(box[1].x, x.x), fmaxf(box[1].y, x.y), fmaxf(box[1].z, x.z));
        }
}

static firn_result level_set_points(firn_budget *budget, firn_body *body, const firn_sdf *sdf,
                                    firn_error *error)
{
    firn_vec3 box[2] = {{1e30f, 1e30f, 1e30f}, {-1e30f, -1e30f, -1e30f}};
    scan_surface(body, sdf, NULL, box);
    firn_vec3 size = firn_sub(box[1], box[0]);
    float largest = fmaxf(size.x, fmaxf(size.y, size.z));
    float voxel = body->def.shape.pose.scale * sdf->set.map.scale;
    body->spacing = fmaxf(fmaxf(body->spacing, 2.0f * voxel), 1.01f * largest / CELLS);
    body->point_radius = voxel;
    cells c = {.low = box[0], .edge = body->spacing};
    const float extent[3] = {size.x, size.y, size.z};
    size_t count = 1;
    for (int k = 0; k < 3; k++) {
        c.n[k] = extent[k] > 0.0f ? 1 + (int)(extent[k] / c.edge) : 1;
        count *= (size_t)c.n[k];
    }
    firn_array far = {0};
    FIRN_TRY(firn_array_claim(budget, &body->points, count, sizeof(firn_vec3), error));
    FIRN_TRY(firn_array_claim(budget, &far, count, sizeof(float), error));
    c.best = body->points.data;
    c.far = far.data;
    for (size_t i = 0; i < count; i++)
        c.far[i] = -1.0f;
    scan_surface(body, sdf, &c, box);
    for (size_t i = 0; i < count; i++)
        if (c.far[i] >= 0.0f)
            c.best[body->point_count++] = c.best[i];
    firn_array_free(budget, &far);
    return FIRN_OK;
}

firn_result firn_body_find_points(firn_budget *budget, firn_body *body, const firn_sdf *sdf,
                                  float h, firn_error *error)
{
    const firn_collider_def *s = &body->def.shape;
    float scale = s->pose.scale, grown = s->offset;
    body->spacing = h;
    if (s->shape == FIRN_SHAPE_LEVEL_SET) {
        FIRN_TRY(level_set_points(budget, body, sdf, error));
    } else if (s->shape == FIRN_SHAPE_BOX) {
        firn_vec3 half = {scale * s->half_size.x + grown, scale * s->half_size.y + grown,
                          scale * s->half_size.z + grown};
        FIRN_TRY(box_points(budget, body, half, error));
    } else {
        bool ball = s->shape == FIRN_SHAPE_SPHERE;
        body->point_radius = scale * s->radius + grown;
        FIRN_TRY(axis_points(budget, body, ball ? 0.0f : scale * s->half_size.y, error));
    }
    firn_vec3 *points = body->points.data, center = firn_d3_vec(firn_d3_from(body->mass.center));
    body->reach = 0.0;
    for (int i = 0; i < body->point_count; i++) {
        points[i] = firn_sub(points[i], center);
        body->reach = fmax(body->reach, (double)(firn_length(points[i]) + body->point_radius));
    }
    return FIRN_OK;
}
