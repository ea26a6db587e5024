/// Writes walker.abc, the character of the walking example: a skinned mesh that takes five steps.
/// The file is checked in; run `build/make_walker docs/scenes/walker.abc` only after a change here.
#include "firn/abc_write.h"

#include <stdio.h>

enum { SIDES = 6, RINGS = 9, TUBES = 8, SAMPLES = 31, TUBE_POINTS = RINGS * SIDES + 2 };
enum { POINTS = TUBES * TUBE_POINTS, FACES = TUBES * (RINGS + 1) * SIDES };

static const float PI = 3.14159265f;
static const float STEP = 0.32f;     // m, of one foot past the other
static const float STEP_TIME = 0.5f; // s
static const float START = -0.95f;   // m
static const float THIGH = 0.34f, SHIN = 0.34f, HIP = 0.66f, ANKLE = 0.09f; // m
static const float LIFT = 0.26f; // m, of a foot in the air

typedef struct figure {
    firn_vec3 points[POINTS];
    int32_t face_counts[FACES], face_indices[4 * FACES];
    int point_count, face_count, corner_count;
} figure;

/// A limb: joints in the plane of the walk, the radius at each, and its place across.
typedef struct limb {
    firn_vec3 joint[3];
    float radius[3];
    float flat; // width across over height
} limb;

// The skin follows both bones and is rounded where they meet.
static firn_vec3 along(const limb *l, float t)
{
    firn_vec3 a = firn_lerp(l->joint[0], l->joint[1], t),
              b = firn_lerp(l->joint[1], l->joint[2], t);
    firn_vec3 round = firn_lerp(a, b, t);
    firn_vec3 bones = t < 0.5f ? firn_lerp(l->joint[0], l->joint[1], 2.0f * t)
                               : firn_lerp(l->joint[1], l->joint[2], 2.0f * t - 1.0f);
    return firn_lerp(bones, round, 0.35f);
}

static float thickness(const limb *l, float t)
{
    float r = t < 0.5f ? l->radius[0] + 2.0f * t * (l->radius[1] - l->radius[0])
                       : l->radius[1] + (2.0f * t - 1.0f) * (l->radius[2] - l->radius[1]);
    return r * sqrtf(1.0f - powf(fabsf(2.0f * t - 1.0f), 8.0f) * 0.6f);
}

static void add_face(figure *f, int count, const int32_t *corners)
{
    f->face_counts[f->face_count++] = count;
    for (int i = 0; i < count; i++)
        f->face_indices[f->corner_count++] = corners[i];
}

static void add_tube(figure *f, const limb *l)
{
    int first = f->point_count;
    for (int ring = 0; ring < RINGS; ring++) {
        float t = (float)ring / (RINGS - 1);
        firn_vec3 center = along(l, t);
        firn_vec3 before = along(l, t > 0.05f ? t - 0.05f : 0.0f);
        firn_vec3 after = along(l, t < 0.95f ? t + 0.05f : 1.0f);
        firn_vec3 d = firn_normalize(firn_sub(after, before));
        firn_vec3 across = {-d.y, d.x, 0.0f};
        for (int side = 0; side < SIDES; side++) {
            float angle = 2.0f * PI * (float)side / SIDES, r = thickness(l, t);
            firn_vec3 p = firn_add_scaled(center, r * cosf(angle), across);
            p.z += l->flat * r * sinf(angle);
            f->points[f->point_count++] = p;
        }
    }
    f->points[f->point_count++] = along(l, 0.0f);
    f->points[f->point_count++] = along(l, 1.0f);
    int32_t last = first + (RINGS - 1) * SIDES, tips = first + RINGS * SIDES;
    for (int side = 0; side < SIDES; side++) {
        int32_t a = side, b = (side + 1) % SIDES;
        for (int32_t ring = first; ring < last; ring += SIDES)
            add_face(f, 4, (int32_t[]){ring + a, ring + b, ring + SIDES + b, ring + SIDES + a});
        add_face(f, 3, (int32_t[]){tips, first + b, first + a});
        add_face(f, 3, (int32_t[]){tips + 1, last + a, last + b});
    }
}

// Where the ankle of a leg is: on the ground for one step, in the air for the next.
static firn_vec3 ankle(float time, int leg)
{
    float stride = time / STEP_TIME + (float)leg, cycle = floorf(0.5f * stride);
    float phase = stride - 2.0f * cycle;
    float swing = phase > 1.0f ? phase - 1.0f : 0.0f;
    float smooth = swing * swing * (3.0f - 2.0f * swing);
    float x = START + STEP * (2.0f * cycle - (float)leg + 2.0f * smooth);
    return firn_vec(x, ANKLE + LIFT * sinf(PI * swing), leg == 0 ? 0.1f : -0.1f);
}

// The knee from the law of cosines; it bends forward.
static firn_vec3 knee(firn_vec3 hip, firn_vec3 foot)
{
    firn_vec3 d = firn_sub(foot, hip);
    float length = sqrtf(d.x * d.x + d.y * d.y);
    float reach = length < 0.999f * (THIGH + SHIN) ? length : 0.999f * (THIGH + SHIN);
    float share = (THIGH * THIGH - SHIN * SHIN + reach * reach) / (2.0f * reach);
    float out = sqrtf(THIGH * THIGH - share * share);
    return firn_vec(hip.x + share * d.x / length - out * d.y / length,
                    hip.y + share * d.y / length + out * d.x / length, hip.z);
}

static void pose(figure *f, float time)
{
    *f = (figure){.point_count = 0};
    float body = START + STEP * (time / STEP_TIME - 0.5f), beat = PI * time / STEP_TIME;
    float bob = 0.02f * cosf(2.0f * beat);
    for (int leg = 0; leg < 2; leg++) {
        firn_vec3 foot = ankle(time, leg);
        firn_vec3 hip = {body, HIP + bob, foot.z};
        add_tube(f, &(limb){{hip, knee(hip, foot), foot}, {0.095f, 0.075f, 0.06f}, 1.0f});
        firn_vec3 heel = {foot.x - 0.06f, foot.y - 0.03f, foot.z};
        firn_vec3 toe = {foot.x + 0.17f, foot.y - 0.04f, foot.z};
        add_tube(f, &(limb){{heel, firn_lerp(heel, toe, 0.5f), toe}, {0.05f, 0.06f, 0.04f}, 1.1f});
        float sway = (leg == 0 ? -0.5f : 0.5f) * cosf(beat), side = leg == 0 ? 0.2f : -0.2f;
        firn_vec3 shoulder = {body + 0.05f, HIP + 0.42f + bob, side};
        firn_vec3 elbow = {shoulder.x + 0.2f * sinf(sway), shoulder.y - 0.2f * cosf(sway), side};
        firn_vec3 hand = {elbow.x + 0.2f * sinf(sway + 0.5f), elbow.y - 0.2f * cosf(sway + 0.5f),
                          side};
        add_tube(f, &(limb){{shoulder, elbow, hand}, {0.06f, 0.05f, 0.045f}, 1.0f});
    }
    firn_vec3 waist = {body, HIP - 0.06f + bob, 0.0f},
              chest = {body + 0.05f, HIP + 0.2f + bob, 0.0f};
    firn_vec3 neck = {body + 0.07f, HIP + 0.48f + bob, 0.0f};
    firn_vec3 crown = {body + 0.13f, HIP + 0.76f + bob, 0.0f};
    add_tube(f, &(limb){{waist, chest, neck}, {0.12f, 0.14f, 0.09f}, 1.5f});
    add_tube(f, &(limb){{firn_lerp(neck, crown, 0.1f), firn_lerp(neck, crown, 0.5f), crown},
                        {0.09f, 0.13f, 0.09f},
                        1.0f});
}

static firn_result put_samples(firn_abc_writer *writer, firn_abc_node node, firn_error *error)
{
    static figure f;
    uint32_t sample = 0;
    FIRN_TRY(firn_abc_writer_begin(writer, &sample, error));
    for (; sample < SAMPLES; sample++) {
        pose(&f, (float)sample / 12.0f);
        firn_abc_mesh_data data = {.point_count = POINTS,
                                   .face_count = FACES,
                                   .corner_count = (size_t)f.corner_count,
                                   .positions = f.points,
                                   .face_counts = f.face_counts,
                                   .face_indices = f.face_indices};
        FIRN_TRY(firn_abc_writer_put_mesh(writer, node, &data, error));
        FIRN_TRY(firn_abc_writer_end_frame(writer, error));
    }
    return FIRN_OK;
}

static firn_result write_walker(const char *path, firn_error *error)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    firn_abc_clock clock;
    firn_abc_node node;
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    FIRN_TRY(firn_abc_writer_create(path, &def, &writer, error));
    // Every other frame, from frame 1 at 24 frames per second.
    firn_result result = firn_abc_writer_add_clock(writer, 1.0 / 24.0, 1.0 / 12.0, &clock, error);
    mesh.clock = clock;
    if (result == FIRN_OK)
        result = firn_abc_writer_add_mesh(writer, FIRN_ABC_ROOT, "walker", &mesh, &node, error);
    if (result == FIRN_OK)
        result = put_samples(writer, node, error);
    if (result == FIRN_OK)
        return firn_abc_writer_finish(writer, error);
    firn_abc_writer_destroy(writer);
    return result;
}

int main(int count, char **values)
{
    firn_error error;
    if (count != 2) {
        fprintf(stderr, "Usage: make_walker FILE.abc\n");
        return 2;
    }
    if (write_walker(values[1], &error) == FIRN_OK)
        return 0;
    fprintf(stderr, "make_walker: %s\n", error.message);
    return 1;
}
