// Reads archives of the official library and of our own, writes them again and compares all
// properties and all keys of the two.
#include "abc_write_support.h"

#include "firn/abc.h"

#include <stdlib.h>

enum { OBJECTS_MAX = 64, PARAMS_MAX = 32, CLOCKS_MAX = 8 };

typedef struct rewrite {
    const firn_abc *from;
    firn_abc_writer *to;
    firn_abc_clock clocks[CLOCKS_MAX];
    firn_abc_node nodes[OBJECTS_MAX];
    bool kept[OBJECTS_MAX];
    int params[OBJECTS_MAX][PARAMS_MAX];
    int param_count[OBJECTS_MAX];
} rewrite;

static int find(const rewrite *r, int object, const char *path)
{
    return firn_abc_property_find(r->from, object, path);
}

static uint32_t sample_count(const rewrite *r, int property)
{
    return property < 0 ? 0 : firn_abc_property_at(r->from, property)->sample_count;
}

static bool is_cyclic(const rewrite *r, int clock)
{
    return firn_abc_time_sampling_at(r->from, clock)->kind == FIRN_ABC_TIME_CYCLIC;
}

static firn_abc_scope scope_of(const rewrite *r, int property)
{
    static const char *const names[] = {"con", "uni", "var", "vtx", "fvr"};
    char scope[16];
    firn_abc_metadata_value(firn_abc_property_at(r->from, property)->metadata, "geoScope", scope,
                            sizeof scope);
    for (int i = 0; i < FIRN_ABC_SCOPE_COUNT; i++)
        if (strcmp(scope, names[i]) == 0)
            return (firn_abc_scope)i;
    return FIRN_ABC_CONSTANT;
}

// The value type with this number type, extent and interpretation; COUNT if there is none.
static firn_abc_value value_of(const rewrite *r, int property)
{
    const firn_abc_property *p = firn_abc_property_at(r->from, property);
    char meaning[16];
    firn_abc_metadata_value(p->metadata, "interpretation", meaning, sizeof meaning);
    static const struct {
        firn_abc_pod pod;
        int extent;
        const char *meaning;
    } values[FIRN_ABC_VALUE_COUNT] = {
        {FIRN_ABC_POD_FLOAT32, 1, ""},       {FIRN_ABC_POD_INT32, 1, ""},
        {FIRN_ABC_POD_UINT64, 1, ""},        {FIRN_ABC_POD_FLOAT32, 2, "vector"},
        {FIRN_ABC_POD_FLOAT32, 3, "vector"}, {FIRN_ABC_POD_FLOAT32, 3, "point"},
        {FIRN_ABC_POD_FLOAT32, 3, "normal"}, {FIRN_ABC_POD_FLOAT32, 3, "rgb"},
        {FIRN_ABC_POD_FLOAT32, 4, "quat"},   {FIRN_ABC_POD_FLOAT32, 9, "matrix"},
    };
    int i = 0;
    while (i < FIRN_ABC_VALUE_COUNT &&
           !(p->kind == FIRN_ABC_PROPERTY_ARRAY && values[i].pod == p->pod &&
             values[i].extent == p->extent && strcmp(values[i].meaning, meaning) == 0))
        i++;
    return (firn_abc_value)i;
}

static int list_params(rewrite *r, int object, firn_abc_param_def *defs)
{
    int compound = find(r, object, ".geom/.arbGeomParams");
    int count = 0;
    for (int i = 0; compound >= 0 && i < firn_abc_property_count(r->from); i++) {
        const firn_abc_property *p = firn_abc_property_at(r->from, i);
        if (p->parent != compound || value_of(r, i) == FIRN_ABC_VALUE_COUNT)
            continue;
        assert_true(count < PARAMS_MAX);
        r->params[object][count] = i;
        defs[count++] = (firn_abc_param_def){p->name, value_of(r, i), scope_of(r, i)};
    }
    r->param_count[object] = count;
    return count;
}

static void declare_points(rewrite *r, int object, firn_abc_node parent, firn_abc_clock clock)
{
    firn_abc_param_def params[PARAMS_MAX];
    firn_abc_points_def def = firn_abc_points_def_default();
    def.clock = clock;
    def.params = params;
    def.param_count = (size_t)list_params(r, object, params);
    def.velocities = find(r, object, ".geom/.velocities") >= 0;
    def.widths = find(r, object, ".geom/.widths") >= 0;
    if (def.widths)
        def.width_scope = scope_of(r, find(r, object, ".geom/.widths"));
    ASSERT_OK(firn_abc_writer_add_points(r->to, parent, firn_abc_object_at(r->from, object)->name,
                                         &def, &r->nodes[object], error));
}

static bool plain_array(const rewrite *r, int property)
{
    return property >= 0 &&
           firn_abc_property_at(r->from, property)->kind == FIRN_ABC_PROPERTY_ARRAY;
}

static void declare_mesh(rewrite *r, int object, firn_abc_node parent, firn_abc_clock clock)
{
    firn_abc_param_def params[PARAMS_MAX];
    firn_abc_mesh_def def = firn_abc_mesh_def_default();
    def.clock = clock;
    def.params = params;
    def.param_count = (size_t)list_params(r, object, params);
    def.velocities = find(r, object, ".geom/.velocities") >= 0;
    def.normals = plain_array(r, find(r, object, ".geom/N"));
    def.uvs = plain_array(r, find(r, object, ".geom/uv"));
    if (def.normals)
        def.normal_scope = scope_of(r, find(r, object, ".geom/N"));
    if (def.uvs)
        def.uv_scope = scope_of(r, find(r, object, ".geom/uv"));
    ASSERT_OK(firn_abc_writer_add_mesh(r->to, parent, firn_abc_object_at(r->from, object)->name,
                                       &def, &r->nodes[object], error));
}

static void declare_xform(rewrite *r, int object, firn_abc_node parent, firn_abc_clock clock)
{
    firn_abc_xform_def def = firn_abc_xform_def_default();
    def.clock = clock;
    def.op_count = 0;
    int property = find(r, object, ".xform/.ops");
    if (property >= 0) {
        firn_abc_array ops;
        ASSERT_OK(firn_abc_read(r->from, property, 0, &ops, error));
        for (size_t i = 0; i < ops.bytes; i++)
            def.ops[def.op_count++] = (firn_abc_op)((const uint8_t *)ops.values)[i];
        firn_abc_array_free(&ops);
    }
    ASSERT_OK(firn_abc_writer_add_xform(r->to, parent, firn_abc_object_at(r->from, object)->name,
                                        &def, &r->nodes[object], error));
}

static void declare_object(rewrite *r, int object)
{
    const firn_abc_object *o = firn_abc_object_at(r->from, object);
    const firn_abc_node parent = o->parent > 0 ? r->nodes[o->parent] : FIRN_ABC_ROOT;
    const char *timed = o->kind == FIRN_ABC_KIND_XFORM ? ".xform/.inherits" : ".geom/P";
    int property = find(r, object, timed);
    int clock = property >= 0 ? firn_abc_property_at(r->from, property)->time_sampling : 0;
    r->kept[object] = (o->parent <= 0 || r->kept[o->parent]) && !is_cyclic(r, clock);
    if (!r->kept[object])
        return;
    switch (o->kind) {
    case FIRN_ABC_KIND_GROUP:
        ASSERT_OK(firn_abc_writer_add_group(r->to, parent, o->name, &r->nodes[object], error));
        break;
    case FIRN_ABC_KIND_POINTS:
        declare_points(r, object, parent, r->clocks[clock]);
        break;
    case FIRN_ABC_KIND_POLYMESH:
        declare_mesh(r, object, parent, r->clocks[clock]);
        break;
    case FIRN_ABC_KIND_XFORM:
        declare_xform(r, object, parent, r->clocks[clock]);
        break;
    default:
        r->kept[object] = false;
    }
}

typedef struct loaded {
    firn_abc_array arrays[PARAMS_MAX + 8];
    int count;
} loaded;

static const void *load(loaded *l, const rewrite *r, int property, uint32_t index, size_t *count)
{
    *count = 0;
    if (!(property >= 0 &&
          firn_abc_property_at(r->from, property)->kind != FIRN_ABC_PROPERTY_COMPOUND))
        return NULL;
    firn_abc_array *array = &l->arrays[l->count++];
    ASSERT_OK(firn_abc_read(r->from, property, index, array, error));
    *count = array->count;
    return array->values;
}

static void unload(loaded *l)
{
    for (int i = 0; i < l->count; i++)
        firn_abc_array_free(&l->arrays[i]);
}

static void put_points(rewrite *r, int object, uint32_t index)
{
    loaded l = {.count = 0};
    size_t count, ids;
    firn_abc_points_data data = {0};
    data.positions = load(&l, r, find(r, object, ".geom/P"), index, &data.count);
    data.ids = load(&l, r, find(r, object, ".geom/.pointIds"), index, &ids);
    if (ids == 0)
        data.ids = NULL;
    data.velocities = load(&l, r, find(r, object, ".geom/.velocities"), index, &count);
    data.widths = load(&l, r, find(r, object, ".geom/.widths"), index, &count);
    const void *params[PARAMS_MAX];
    for (int i = 0; i < r->param_count[object]; i++)
        params[i] = load(&l, r, r->params[object][i], index, &count);
    data.params = params;
    ASSERT_OK(firn_abc_writer_put_points(r->to, r->nodes[object], &data, error));
    unload(&l);
}

static void put_mesh(rewrite *r, int object, uint32_t index)
{
    loaded l = {.count = 0};
    size_t count;
    firn_abc_mesh_data data = {0};
    data.positions = load(&l, r, find(r, object, ".geom/P"), index, &data.point_count);
    data.face_indices =
        load(&l, r, find(r, object, ".geom/.faceIndices"), index, &data.corner_count);
    data.face_counts = load(&l, r, find(r, object, ".geom/.faceCounts"), index, &data.face_count);
    data.velocities = load(&l, r, find(r, object, ".geom/.velocities"), index, &count);
    data.normals = load(&l, r, find(r, object, ".geom/N"), index, &count);
    data.uvs = load(&l, r, find(r, object, ".geom/uv"), index, &count);
    const void *params[PARAMS_MAX];
    for (int i = 0; i < r->param_count[object]; i++)
        params[i] = load(&l, r, r->params[object][i], index, &count);
    data.params = params;
    ASSERT_OK(firn_abc_writer_put_mesh(r->to, r->nodes[object], &data, error));
    unload(&l);
}

static void put_xform(rewrite *r, int object, uint32_t index)
{
    loaded l = {.count = 0};
    size_t count;
    const uint8_t *inherits = load(&l, r, find(r, object, ".xform/.inherits"), index, &count);
    const double *channels = load(&l, r, find(r, object, ".xform/.vals"), index, &count);
    ASSERT_OK(
        firn_abc_writer_put_xform(r->to, r->nodes[object], channels, inherits[0] != 0, error));
    unload(&l);
}

static void put_object(rewrite *r, int object)
{
    firn_abc_kind kind = firn_abc_object_at(r->from, object)->kind;
    const char *counted = kind == FIRN_ABC_KIND_XFORM ? ".xform/.inherits" : ".geom/P";
    uint32_t count = sample_count(r, find(r, object, counted));
    for (uint32_t i = 0; i < count; i++) {
        if (kind == FIRN_ABC_KIND_POINTS)
            put_points(r, object, i);
        else if (kind == FIRN_ABC_KIND_POLYMESH)
            put_mesh(r, object, i);
        else
            put_xform(r, object, i);
    }
}

static void declare_clocks(rewrite *r)
{
    for (int i = 0; i < firn_abc_time_sampling_count(r->from); i++) {
        const firn_abc_time_sampling *clock = firn_abc_time_sampling_at(r->from, i);
        assert_true(i < CLOCKS_MAX);
        if (clock->kind == FIRN_ABC_TIME_UNIFORM)
            ASSERT_OK(firn_abc_writer_add_clock(r->to, clock->times[0], clock->time_per_cycle,
                                                &r->clocks[i], error));
        else
            ASSERT_OK(firn_abc_writer_add_acyclic_clock(r->to, &r->clocks[i], error));
    }
}

static void put_times(rewrite *r)
{
    for (int i = 0; i < firn_abc_time_sampling_count(r->from); i++) {
        const firn_abc_time_sampling *clock = firn_abc_time_sampling_at(r->from, i);
        for (uint32_t k = 0; clock->kind == FIRN_ABC_TIME_ACYCLIC && k < clock->time_count; k++)
            ASSERT_OK(firn_abc_writer_put_time(r->to, r->clocks[i], clock->times[k], error));
    }
}

static void write_again(rewrite *r, const char *path)
{
    firn_abc_writer_def def = firn_abc_writer_def_default();
    ASSERT_OK(firn_abc_writer_create(path, &def, &r->to, error));
    declare_clocks(r);
    int count = firn_abc_object_count(r->from);
    assert_true(count <= OBJECTS_MAX);
    for (int i = 1; i < count; i++)
        declare_object(r, i);
    uint32_t frame;
    ASSERT_OK(firn_abc_writer_begin(r->to, &frame, error));
    put_times(r);
    for (int i = 1; i < count; i++)
        if (r->kept[i])
            put_object(r, i);
    ASSERT_OK(firn_abc_writer_finish(r->to, error));
}

// Properties of the written file are those of the original, all samples included.
static int compare_property(const rewrite *r, int object, const firn_abc *again, int property)
{
    const firn_abc_property *b = firn_abc_property_at(again, property);
    int original = find(r, object, b->path);
    if (original < 0)
        fail_msg("the original has no '%s'", b->path);
    const firn_abc_property *a = firn_abc_property_at(r->from, original);
    assert_int_equal(a->kind, b->kind);
    assert_string_equal(a->metadata, b->metadata);
    if (a->kind == FIRN_ABC_PROPERTY_COMPOUND)
        return 0;
    assert_int_equal(a->pod, b->pod);
    assert_int_equal(a->extent, b->extent);
    assert_int_equal(a->sample_count, b->sample_count);
    assert_int_equal(a->constant, b->constant);
    assert_int_equal(a->scalar_like, b->scalar_like);
    for (uint32_t i = 0; i < a->sample_count; i++) {
        firn_abc_array left, right;
        ASSERT_OK(firn_abc_read(r->from, original, i, &left, error));
        ASSERT_OK(firn_abc_read(again, property, i, &right, error));
        assert_int_equal(left.count, right.count);
        assert_int_equal(left.bytes, right.bytes);
        assert_memory_equal(left.key, right.key, sizeof left.key);
        if (left.bytes > 0)
            assert_memory_equal(left.values, right.values, left.bytes);
        const firn_abc_time_sampling *times[2] = {
            firn_abc_time_sampling_at(r->from, a->time_sampling),
            firn_abc_time_sampling_at(again, b->time_sampling)};
        assert_true(firn_abc_sample_time(times[0], i) == firn_abc_sample_time(times[1], i));
        firn_abc_array_free(&left);
        firn_abc_array_free(&right);
    }
    return (int)a->sample_count;
}

static int compare(const rewrite *r, const char *path)
{
    firn_abc *again = NULL;
    ASSERT_OK(firn_abc_open(path, &again, error));
    int samples = 0;
    for (int i = 1; i < firn_abc_object_count(r->from); i++) {
        if (!r->kept[i])
            continue;
        const firn_abc_object *a = firn_abc_object_at(r->from, i);
        int object = firn_abc_object_find(again, a->path);
        assert_true(object > 0);
        const firn_abc_object *b = firn_abc_object_at(again, object);
        assert_string_equal(a->metadata, b->metadata);
        for (int k = 0; k < b->property_count; k++)
            samples += compare_property(r, i, again, b->first_property + k);
    }
    firn_abc_close(again);
    return samples;
}

static void rewrite_gives_the_same_samples(const char *path, int least)
{
    rewrite *r = calloc(1, sizeof *r);
    assert_non_null(r);
    firn_abc *from = NULL;
    ASSERT_OK(firn_abc_open(path, &from, error));
    r->from = from;
    const char *slash = strrchr(path, '/');
    char again[256];
    snprintf(again, sizeof again, "abc_rewrite_%s", slash != NULL ? slash + 1 : path);
    write_again(r, again);
    int samples = compare(r, again);
    if (samples < least)
        fail_msg("only %d samples of %s were compared", samples, path);
    firn_abc_close(from);
    free(r);
}

static void archives_of_the_official_library_survive_a_rewrite(void **state)
{
    (void)state;
    rewrite_gives_the_same_samples(FIRN_FIXTURES "/alembic/tiny.abc", 6);
    rewrite_gives_the_same_samples(FIRN_FIXTURES "/alembic/points_anim.abc", 100);
    rewrite_gives_the_same_samples(FIRN_FIXTURES "/alembic/points_edge.abc", 900);
    rewrite_gives_the_same_samples(FIRN_FIXTURES "/alembic/mesh_deform.abc", 60);
    rewrite_gives_the_same_samples(FIRN_FIXTURES "/alembic/xform_hierarchy.abc", 148);
    rewrite_gives_the_same_samples(FIRN_FIXTURES "/alembic/groups_meshes.abc", 20);
    rewrite_gives_the_same_samples(FIRN_FIXTURES "/alembic/acyclic.abc", 30);
}

static void our_archives_survive_a_rewrite(void **state)
{
    (void)state;
    ASSERT_OK(scene_write("abc_rewrite.abc", false, 20, 20, error));
    rewrite_gives_the_same_samples("abc_rewrite.abc", 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives_of_the_official_library_survive_a_rewrite),
        cmocka_unit_test(our_archives_survive_a_rewrite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
