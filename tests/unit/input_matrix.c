// One paddle pushes the same snow, whatever file it comes in: input kinds x units, axes, places and
// times. The reference is a box with keys.
#define _XOPEN_SOURCE 700
#include "firn/graph.h"
#include "firn/vdb_surface.h"
#include "firn/vdb_write.h"

#include "effort.h"
#include "graph_fixture.h"
#include "mesh_archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 6, FILES = 9 };

static const firn_vec3 HALF = {0.1f, 0.25f, 0.25f}; // m, of the paddle
static const float START = -0.45f, SPEED = 2.4f;    // m, m/s, along x
static const float VOXEL = 0.05f;                   // m

static const char scene[] =
    "{\"firn\": 1, \"name\": \"paddle\", \"fps\": 24, \"frames\": [1, 6], \"base\": \"cache\",\n"
    "\"nodes\": {\n"
    "  \"snow\": {\"type\": \"snow_source\", \"params\": {\"region\": \"box\", \"center\": [0, 0, "
    "0],\n"
    "    \"half_size\": [0.2, 0.2, 0.2], \"jitter\": 0}},\n"
    "  \"paddle\": {\"type\": \"collider\", \"params\": {\"friction\": 0, \"half_size\": [0.1, "
    "0.25, 0.25]%s}},\n"
    "  \"solver\": {\"type\": \"solver\", \"params\": {\"cell_size\": 0.1, \"gravity\": [0, 0, "
    "0],\n"
    "    \"thread_count\": 1}, \"inputs\": {\"sources\": [\"snow\"], \"colliders\": "
    "[\"paddle\"]}}}}\n";

// How a file differs from ours.
typedef struct variant {
    const char *name;
    float unit; // file units in a meter
    bool up_z;
    firn_vec3 shift; // m, of everything in the file
    int first;       // number of the file that the first frame shows
    double fps;      // of the file
    const char *settings;
} variant;

static const variant variants[] = {
    {"plain", 1.0f, false, {0, 0, 0}, 1, 24.0, ""},
    {"cm", 100.0f, false, {0, 0, 0}, 1, 24.0, ", \"file_unit\": \"cm\""},
    {"z_up", 1.0f, true, {0, 0, 0}, 1, 24.0, ", \"file_up\": \"z\""},
    {"offset", 1.0f, false, {3, 1, -2}, 101, 24.0, ", \"time_offset\": 100"},
    {"25 fps", 1.0f, false, {0, 0, 0}, 1, 25.0, ""},
};

static firn_vec3 to_file(const variant *v, firn_vec3 p)
{
    p = firn_scale(v->unit, p);
    return v->up_z ? firn_vec(p.x, -p.z, p.y) : p;
}

static const int32_t quads[24] = {0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1,
                                  2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3};

typedef struct mesh {
    firn_vec3 points[8], velocity[8];
    int32_t sizes[12], corners[36];
    size_t faces, corner_count;
} mesh;

// The paddle at sample n of the file; topology changes from one to the next if wanted.
static mesh paddle(const variant *v, int n, bool moves, bool changes, bool per_frame)
{
    mesh m = {.faces = 6, .corner_count = 24};
    float pace = per_frame ? (float)(1.0 / v->fps) : 1.0f;
    float x = START + (moves ? SPEED * (float)((n - v->first) / v->fps) : 0.0f);
    for (int i = 0; i < 8; i++) {
        firn_vec3 p = {x + (i & 4 ? HALF.x : -HALF.x), i & 2 ? HALF.y : -HALF.y,
                       i & 1 ? HALF.z : -HALF.z};
        m.points[i] = to_file(v, firn_add(p, v->shift));
        m.velocity[i] = to_file(v, firn_vec(moves ? pace * SPEED : 0.0f, 0.0f, 0.0f));
    }
    for (int f = 0; f < 6; f++)
        m.sizes[f] = 4;
    memcpy(m.corners, quads, sizeof quads);
    if (!changes || n % 2 == 0)
        return m;
    m.faces = 12;
    m.corner_count = 36;
    for (int f = 0; f < 6; f++) {
        const int32_t *q = &quads[4 * f];
        const int32_t cut[6] = {q[0], q[1], q[2], q[0], q[2], q[3]};
        memcpy(&m.corners[6 * f], cut, sizeof cut);
        m.sizes[2 * f] = m.sizes[2 * f + 1] = 3;
    }
    return m;
}

// --- Files ---------------------------------------------------------------------------------------

typedef struct recipe {
    const char *name;
    void (*write)(const char *folder, const struct recipe *recipe, const variant *v);
    const char *file; // with the shape, as settings
    bool moves;       // in the file; else keys move it
    bool changes;     // topology
    bool stored;      // velocities
    bool per_frame;   // these are distances per frame
    bool numbered;
    bool still;       // nothing moves it: the snow flies against it
    bool transformed; // by what is above it
    bool records;     // unit and axis stand in the file
} recipe;

static void write_obj(const char *path, const mesh *m)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 8; i++)
        fprintf(file, "v %.9g %.9g %.9g\n", (double)m->points[i].x, (double)m->points[i].y,
                (double)m->points[i].z);
    const int32_t *corner = m->corners;
    for (size_t f = 0; f < m->faces; f++) {
        fputs("f", file);
        for (int k = 0; k < m->sizes[f]; k++)
            fprintf(file, " %d", *corner++ + 1);
        fputs("\n", file);
    }
    fclose(file);
}

static void write_ply(const char *path, const mesh *m, bool stored)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "ply\nformat ascii 1.0\nelement vertex 8\n");
    for (int i = 0; i < (stored ? 6 : 3); i++)
        fprintf(file, "property float %s\n", (const char *[]){"x", "y", "z", "vx", "vy", "vz"}[i]);
    fprintf(file, "element face %zu\nproperty list uchar int vertex_indices\nend_header\n",
            m->faces);
    for (int i = 0; i < 8; i++) {
        fprintf(file, "%.9g %.9g %.9g", (double)m->points[i].x, (double)m->points[i].y,
                (double)m->points[i].z);
        if (stored)
            fprintf(file, " %.9g %.9g %.9g", (double)m->velocity[i].x, (double)m->velocity[i].y,
                    (double)m->velocity[i].z);
        fputs("\n", file);
    }
    const int32_t *corner = m->corners;
    for (size_t f = 0; f < m->faces; f++) {
        fprintf(file, "%d", m->sizes[f]);
        for (int k = 0; k < m->sizes[f]; k++)
            fprintf(file, " %d", *corner++);
        fputs("\n", file);
    }
    fclose(file);
}

static void write_stl(const char *path, const mesh *m)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const char header[80] = "solid as some binary files say";
    const uint32_t count = 12;
    fwrite(header, sizeof header, 1, file);
    fwrite(&count, sizeof count, 1, file);
    for (int f = 0; f < 6; f++) {
        const int32_t *q = &quads[4 * f], cut[6] = {q[0], q[1], q[2], q[0], q[2], q[3]};
        for (int t = 0; t < 2; t++) {
            const firn_vec3 rows[4] = {{0, 0, 0},
                                       m->points[cut[3 * t]],
                                       m->points[cut[3 * t + 1]],
                                       m->points[cut[3 * t + 2]]};
            fwrite(rows, sizeof rows, 1, file);
            fwrite("\0", 2, 1, file);
        }
    }
    fclose(file);
}

static void write_vdb(const char *path, const mesh *m, const variant *v, bool stored)
{
    firn_vdb_mesh view = {
        8, m->points, stored ? m->velocity : NULL, m->faces, m->sizes, m->corner_count, m->corners};
    firn_vdb_mesh_def def = firn_vdb_mesh_def_default();
    def.voxel_size = v->unit * VOXEL;
    firn_vdb_shape *shape = NULL;
    assert_int_equal(firn_vdb_shape_from_mesh(&def, &view, &shape, NULL), FIRN_OK);
    firn_vdb_write_def settings = firn_vdb_write_def_default();
    settings.half = false;
    firn_vdb_content content = {.surface = firn_vdb_shape_level_set(shape),
                                .velocity = stored ? firn_vdb_shape_velocity(shape) : NULL};
    assert_int_equal(firn_vdb_write(path, &settings, &content, NULL, NULL), FIRN_OK);
    firn_vdb_shape_destroy(shape);
}

// Samples of an archive, with a transform that moves it or not.
static void write_archive(const char *path, const recipe *r, const variant *v, int first, int last,
                          bool transformed)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    firn_abc_writer *writer = NULL;
    assert_int_equal(firn_abc_writer_create(path, &def, &writer, NULL), FIRN_OK);
    firn_abc_mesh_def declared = firn_abc_mesh_def_default();
    firn_abc_xform_def xform = firn_abc_xform_def_default();
    xform.ops[0] = FIRN_ABC_TRANSLATE;
    declared.velocities = r->stored;
    // The first sample is where the shot looks at its first frame.
    double start = v->first / 24.0 + (first - v->first) / v->fps;
    firn_abc_writer_add_clock(writer, start, 1.0 / v->fps, &declared.clock, NULL);
    xform.clock = declared.clock;
    firn_abc_node parent = FIRN_ABC_ROOT, node;
    if (transformed)
        firn_abc_writer_add_xform(writer, parent, "root", &xform, &parent, NULL);
    firn_abc_writer_add_mesh(writer, parent, "paddle", &declared, &node, NULL);
    uint32_t done = 0;
    firn_abc_writer_begin(writer, &done, NULL);
    for (int n = first; n <= last; n++) {
        mesh m = paddle(v, n, r->moves && !transformed, r->changes, r->per_frame);
        int32_t turned[36];
        size_t at = 0;
        for (size_t f = 0; f < m.faces; f++, at += (size_t)m.sizes[f - 1])
            for (int k = 0; k < m.sizes[f]; k++)
                turned[at + (size_t)k] = m.corners[at + (size_t)(m.sizes[f] - 1 - k)];
        firn_abc_mesh_data data = {.point_count = 8,
                                   .face_count = m.faces,
                                   .corner_count = m.corner_count,
                                   .positions = m.points,
                                   .face_counts = m.sizes,
                                   .face_indices = turned,
                                   .velocities = r->stored ? m.velocity : NULL};
        firn_vec3 way = to_file(v, firn_vec(SPEED * (float)((n - v->first) / v->fps), 0, 0));
        const double channels[3] = {(double)way.x, (double)way.y, (double)way.z};
        if (transformed)
            assert_int_equal(firn_abc_writer_put_xform(writer, parent, channels, true, NULL),
                             FIRN_OK);
        assert_int_equal(firn_abc_writer_put_mesh(writer, node, &data, NULL), FIRN_OK);
        firn_abc_writer_end_frame(writer, NULL);
    }
    assert_int_equal(firn_abc_writer_finish(writer, NULL), FIRN_OK);
}

static void make_objs(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    for (int n = v->first; n < v->first + (r->numbered ? FILES : 1); n++) {
        snprintf(path, sizeof path, r->numbered ? "%s/p.%04d.obj" : "%s/p.obj", folder, n);
        mesh m = paddle(v, n, r->moves, r->changes, false);
        write_obj(path, &m);
    }
}

static void make_plys(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    for (int n = v->first; n < v->first + FILES; n++) {
        snprintf(path, sizeof path, "%s/p.%04d.ply", folder, n);
        mesh m = paddle(v, n, r->moves, r->changes, r->per_frame);
        write_ply(path, &m, r->stored);
    }
}

static void make_stls(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    for (int n = v->first; n < v->first + FILES; n++) {
        snprintf(path, sizeof path, "%s/p.%04d.stl", folder, n);
        mesh m = paddle(v, n, r->moves, false, false);
        write_stl(path, &m);
    }
}

static void make_vdbs(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    for (int n = v->first; n < v->first + (r->numbered ? FILES : 1); n++) {
        snprintf(path, sizeof path, r->numbered ? "%s/p.%04d.vdb" : "%s/p.vdb", folder, n);
        mesh m = paddle(v, n, r->moves, r->changes, r->per_frame);
        write_vdb(path, &m, v, r->stored);
    }
}

static void make_archive(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    snprintf(path, sizeof path, "%s/p.abc", folder);
    write_archive(path, r, v, v->first, v->first + (r->moves ? FILES : 1) - 1, false);
}

static void make_transformed_archive(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    snprintf(path, sizeof path, "%s/p.abc", folder);
    write_archive(path, r, v, v->first, v->first + FILES - 1, true);
}

static void make_archives(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    for (int n = v->first; n < v->first + FILES; n++) {
        snprintf(path, sizeof path, "%s/p.%04d.abc", folder, n);
        write_archive(path, r, v, n, n, false);
    }
}

// A time code is a sample of the file, and what it counts in is written down if wanted.
static void write_usd(const char *path, const recipe *r, const variant *v, int first, int last)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "#usda 1.0\n(\n    metersPerUnit = %g\n    upAxis = \"%s\"\n"
            "    timeCodesPerSecond = %g\n)\n\ndef Xform \"root\"\n{\n",
            r->records ? 1.0 / (double)v->unit : 1.0, r->records && v->up_z ? "Z" : "Y", v->fps);
    // The first sample is where the shot looks at its first frame.
    double start = v->first / 24.0 * v->fps - v->first;
    static const char *const parts[] = {"point3f[] points", "int[] faceVertexCounts",
                                        "int[] faceVertexIndices", "vector3f[] velocities"};
    if (r->transformed) {
        fprintf(file, "    double3 xformOp:translate.timeSamples = {\n");
        for (int n = first; n <= last; n++) {
            firn_vec3 way = to_file(v, firn_vec(SPEED * (float)((n - v->first) / v->fps), 0, 0));
            fprintf(file, "        %.9g: (%.9g, %.9g, %.9g),\n", start + n, (double)way.x,
                    (double)way.y, (double)way.z);
        }
        fprintf(file, "    }\n    uniform token[] xformOpOrder = [\"xformOp:translate\"]\n");
    }
    fprintf(file, "    def Mesh \"paddle\"\n    {\n"
                  "        uniform token subdivisionScheme = \"none\"\n");
    for (int part = 0; part < (r->stored ? 4 : 3); part++) {
        fprintf(file, "        %s.timeSamples = {\n", parts[part]);
        for (int n = first; n <= last; n++) {
            mesh m = paddle(v, n, r->moves && !r->transformed, r->changes, r->per_frame);
            const firn_vec3 *vectors = part == 0 ? m.points : m.velocity;
            fprintf(file, "            %.9g: [", start + n);
            for (size_t i = 0; i < 8 && part % 3 == 0; i++)
                fprintf(file, "%s(%.9g, %.9g, %.9g)", i > 0 ? ", " : "", (double)vectors[i].x,
                        (double)vectors[i].y, (double)vectors[i].z);
            size_t count = part == 1 ? m.faces : part == 2 ? m.corner_count : 0;
            for (size_t i = 0; i < count; i++)
                fprintf(file, "%s%d", i > 0 ? ", " : "", part == 1 ? m.sizes[i] : m.corners[i]);
            fprintf(file, "],\n");
        }
        fprintf(file, "        }\n");
    }
    fprintf(file, "    }\n}\n");
    fclose(file);
}

static void make_usd(const char *folder, const recipe *r, const variant *v)
{
    char path[256];
    int last = v->first + (r->moves ? FILES : 1) - 1;
    for (int n = v->first; n <= last; n++) {
        snprintf(path, sizeof path, r->numbered ? "%s/p.%04d.usda" : "%s/p.usda", folder, n);
        write_usd(path, r, v, r->numbered ? n : v->first, r->numbered ? n : last);
    }
}

#define MESH ", \"mesh_voxel_size\": 0.05, \"shape\": \"mesh\", \"file\": "
#define SET ", \"shape\": \"level_set\", \"file\": "

static const recipe recipes[] = {
    {"obj", make_objs, MESH "\"p.obj\"", .still = true},
    {"abc, one sample", make_archive, MESH "\"p.abc\"", .still = true},
    {"vdb", make_vdbs, SET "\"p.vdb\"", .still = true},
    {"obj, keys", make_objs, MESH "\"p.obj\"", false, false, false, false, false},
    {"abc, keys", make_archive, MESH "\"p.abc\"", false, false, false, false, false},
    {"vdb, keys", make_vdbs, SET "\"p.vdb\"", false, false, false, false, false},
    {"obj sequence", make_objs, MESH "\"p.$F4.obj\"", true, false, false, false, true},
    {"obj sequence, new topology", make_objs, MESH "\"p.$F4.obj\"", true, true, false, false, true},
    {"ply sequence", make_plys, MESH "\"p.$F4.ply\"", true, false, false, false, true},
    {"ply, velocities", make_plys, MESH "\"p.$F4.ply\"", true, true, true, false, true},
    {"stl sequence", make_stls, MESH "\"p.$F4.stl\"", true, false, false, false, true},
    {"abc", make_archive, MESH "\"p.abc\"", true, false, false, false, false},
    {"abc, velocities", make_archive, MESH "\"p.abc\"", true, false, true, false, false},
    {"abc, per frame", make_archive, MESH "\"p.abc\"", true, false, true, true, false},
    {"abc, new topology", make_archive, MESH "\"p.abc\"", true, true, false, false, false},
    {"abc, transform", make_transformed_archive, MESH "\"p.abc\"", true, false, false, false,
     false},
    {"abc of each frame", make_archives, MESH "\"p.$F4.abc\"", true, false, false, false, true},
    {"vdb sequence", make_vdbs, SET "\"p.$F4.vdb\"", true, false, true, false, true},
    {"vdb, per frame", make_vdbs, SET "\"p.$F4.vdb\"", true, false, true, true, true},
    {"vdb without vel", make_vdbs, SET "\"p.$F4.vdb\"", true, false, false, false, true},
    {"usd, one sample", make_usd, MESH "\"p.usda\"", .still = true},
    {"usd, recorded units", make_usd, MESH "\"p.usda\"", .moves = true, .records = true},
    {"usd, velocities", make_usd, MESH "\"p.usda\"", .moves = true, .stored = true},
    {"usd, new topology", make_usd, MESH "\"p.usda\"", .moves = true, .changes = true},
    {"usd, transform", make_usd, MESH "\"p.usda\"", .moves = true, .transformed = true,
     .records = true},
    {"usd of each frame", make_usd, MESH "\"p.$F4.usda\"", .moves = true, .numbered = true},
};

// --- The shot ------------------------------------------------------------------------------------

static void add(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t used = strlen(text);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void keys_of(char *text, size_t size, firn_vec3 from)
{
    add(text, size, ", \"translation\": {\"keys\": [[1, [%g, %g, %g]], [6, [%g, %g, %g]]]}",
        (double)from.x, (double)from.y, (double)from.z,
        (double)(from.x + SPEED * (FRAMES - 1) / 24.0f), (double)from.y, (double)from.z);
}

typedef struct outcome {
    double speed; // m/s, of the snow along x
    double rest;  // m/s, across
} outcome;

static outcome push(const char *folder, const char *settings, bool still)
{
    static char text[8192];
    snprintf(text, sizeof text, scene, settings);
    firn_graph *graph = fixture_load(text, folder);
    if (still)
        assert_int_equal(firn_graph_set_text(graph, "snow.velocity=-2 0 0", NULL), FIRN_OK);
    const firn_data *data = NULL;
    firn_error error = {0};
    if (firn_graph_cook(graph, "solver", FRAMES, &data, &error) != FIRN_OK)
        fail_msg("%s: %s", settings, error.message);
    const firn_points *points = &data->particles->points;
    const firn_vec3 *velocity = firn_points_find(points, "v")->data;
    firn_vec3 sum = {0, 0, 0};
    for (size_t i = 0; i < points->count; i++)
        sum = firn_add(sum, velocity[i]);
    sum = firn_scale(1.0f / (float)points->count, sum);
    firn_graph_destroy(graph);
    return (outcome){(double)sum.x, hypot((double)sum.y, (double)sum.z)};
}

static void settings_of(const recipe *r, const variant *v, char *text, size_t size)
{
    text[0] = '\0';
    add(text, size, "%s", r->file);
    firn_vec3 back = firn_scale(-1.0f, v->shift);
    bool timed = strstr(v->settings, "time_") != NULL;
    bool told = r->records && strstr(v->settings, "file_") != NULL;
    if ((r->moves || !timed) && !told)
        add(text, size, "%s", v->settings);
    if (r->numbered && v->fps != 24.0)
        add(text, size, ", \"time_fps\": %g", v->fps);
    if (!r->moves && !r->still)
        keys_of(text, size, back);
    else if (firn_length(back) > 0.0f)
        add(text, size, ", \"translation\": [%g, %g, %g]", (double)back.x, (double)back.y,
            (double)back.z);
}

static void one_paddle_pushes_the_same_snow_from_every_file(void **state)
{
    (void)state;
    char settings[2048] = ", \"shape\": \"box\"";
    keys_of(settings, sizeof settings, firn_vec(START, 0, 0));
    char folder[64];
    fixture_folder(folder, sizeof folder);
    const outcome pushed = push(folder, settings, false);
    const outcome stopped =
        push(folder, ", \"shape\": \"box\", \"translation\": [-0.45, 0, 0]", true);
    assert_true(pushed.speed > 0.5 && stopped.speed > -1.0);
    int failed = 0, cells = 0;
    const size_t step = (size_t)effort(1, 5);
    for (size_t i = 0; i < FIRN_COUNT(recipes); i++)
        for (size_t k = i % step; k < FIRN_COUNT(variants); k += step, cells++) {
            char place[128];
            snprintf(place, sizeof place, "%s/%zu_%zu", folder, i, k);
            char command[160];
            snprintf(command, sizeof command, "mkdir %s", place);
            assert_int_equal(system(command), 0);
            recipes[i].write(place, &recipes[i], &variants[k]);
            settings_of(&recipes[i], &variants[k], settings, sizeof settings);
            outcome o = push(place, settings, recipes[i].still);
            outcome reference = recipes[i].still ? stopped : pushed;
            // Of the speed that the paddle gives, or takes.
            double limit = 0.05 * (recipes[i].still ? 2.0 + stopped.speed : pushed.speed);
            bool same = fabs(o.speed - reference.speed) < limit && o.rest < 0.02;

            failed += !same;
            print_message("%-28s %-8s %.4f m/s, %+.1f %%%s\n", recipes[i].name, variants[k].name,
                          o.speed, 5.0 * (o.speed - reference.speed) / limit, same ? "" : "  <--");
        }
    fixture_remove(folder);
    assert_true(cells >= effort(60, 12));
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_paddle_pushes_the_same_snow_from_every_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
