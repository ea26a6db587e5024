// Meshes that a skeleton bends (UsdSkel): linear blending of its joints.
//
//     world = sum over joints of weight * (p * bind * inverse(joint at rest) * joint now) *
//     skeleton
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JOINTS_MAX = 4096, INFLUENCES_MAX = 64 };

typedef struct skeleton {
    int prim;
    size_t joint_count;
    const char **names; // "hip/leg/foot"
    int *parents;
    firn_usd_matrix *now, *skin; // joints in the space of the skeleton; from rest to now
} skeleton;

// --- Relationships -------------------------------------------------------------------------------

// The path of a spec in its layer.
static bool spec_path(const firn_usd_doc *doc, int spec, char *text, size_t size)
{
    int chain[FIRN_USD_NESTING], depth = 0;
    for (; spec > 0 && depth < FIRN_USD_NESTING; spec = doc->specs[spec].parent)
        chain[depth++] = spec;
    size_t length = 0;
    text[0] = '\0';
    while (depth-- > 0) {
        const char *name = doc->specs[chain[depth]].name;
        if (name[0] == '{')
            continue;
        int written = snprintf(text + length, size - length, "/%s", name);
        if (written < 0 || (size_t)written >= size - length)
            return false;
        length += (size_t)written;
    }
    return true;
}

static int prim_at(const firn_usd_scene *scene, int prim, const char *path)
{
    while (*path == '/' && prim >= 0) {
        size_t length = strcspn(path + 1, "/");
        int next = -1;
        for (int i = scene->prims[prim].first_child; i >= 0 && next < 0; i = scene->prims[i].next)
            if (strlen(scene->prims[i].name) == length &&
                memcmp(scene->prims[i].name, path + 1, length) == 0)
                next = i;
        prim = next;
        path += 1 + length;
    }
    return prim;
}

// Where a path of a layer leads in the scene: from the prim that names it up to what both have in
// common, and down from there. What was brought in has another path than in its own layer.
static int resolve(const firn_usd_scene *scene, const firn_usd_opinion *from, const char *target)
{
    const firn_usd_doc *doc = scene->docs[from->doc];
    int prim = from->prim;
    char path[4096];
    for (int spec = from->spec; spec >= 0 && prim >= 0; spec = doc->specs[spec].parent) {
        if (doc->specs[spec].name[0] == '{')
            continue;
        if (!spec_path(doc, spec, path, sizeof path))
            return -1;
        size_t length = strlen(path);
        if (strncmp(target, path, length) == 0 && (target[length] == '/' || target[length] == 0)) {
            int found = prim_at(scene, prim, target + length);
            if (found >= 0)
                return found;
        }
        prim = scene->prims[prim].parent;
    }
    return prim_at(scene, 0, target);
}

// A target of a relationship of a list of paths, in text or crate; "" past the last.
static const char *target_of(firn_usd_doc *doc, firn_usd_ref value, size_t which, char *text,
                             size_t size)
{
    text[0] = '\0';
    if (doc->is_text) {
        const char **words = NULL;
        size_t count = 0;
        if (firn_usd_doc_words(doc, value, &words, &count, NULL) == FIRN_OK && which < count)
            snprintf(text, size, "%s", words[which]);
        firn_free((void *)words);
        return text;
    }
    // A list operation: what is in it, how many, and the numbers of the paths.
    uint64_t place = value.place & FIRN_CRATE_PAYLOAD, count;
    const unsigned char *at = firn_crate_at(&doc->crate, place, 9);
    uint32_t index;
    if (firn_crate_type_of(value.place) != FIRN_CRATE_PATH_LIST || at == NULL)
        return text;
    memcpy(&count, at + 1, sizeof count);
    at = which < count ? firn_crate_at(&doc->crate, place + 9 + 4 * which, 4) : NULL;
    if (at == NULL)
        return text;
    memcpy(&index, at, sizeof index);
    if (index >= doc->crate.path_count ||
        !firn_crate_path_text(&doc->crate, (int32_t)index, text, size))
        text[0] = '\0';
    return text;
}

// The prim that a target of a relationship of a prim, or of one above it, leads to; -1: none.
int firn_usd_find_related(const firn_usd_scene *scene, int prim, const char *name, size_t which)
{
    char text[4096];
    for (int i = prim; i > 0; i = scene->prims[i].parent)
        for (int o = scene->prims[i].first_opinion; o >= 0; o = scene->opinions[o].next) {
            firn_usd_opinion from = scene->opinions[o];
            firn_usd_doc *doc = scene->docs[from.doc];
            const firn_usd_property *p = firn_usd_doc_property(doc, from.spec, name);
            if (p != NULL && p->value.given &&
                target_of(doc, p->value, which, text, sizeof text)[0] != '\0')
                return resolve(scene, &from, text);
        }
    return -1;
}

// --- Joints --------------------------------------------------------------------------------------

static firn_result read_names(const firn_usd_scene *scene, int prim, const char *name,
                              const char ***names, size_t *count, firn_error *error)
{
    firn_usd_attribute_view view = firn_usd_find_attribute(scene, prim, name);
    *names = NULL;
    *count = 0;
    return view.doc != NULL
               ? firn_usd_doc_words(view.doc, view.property->value, names, count, error)
               : FIRN_OK;
}

static int name_index(const char *const *names, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return (int)i;
    return -1;
}

static void find_parents(skeleton *s)
{
    for (size_t i = 0; i < s->joint_count; i++) {
        const char *slash = strrchr(s->names[i], '/');
        size_t length = slash != NULL ? (size_t)(slash - s->names[i]) : 0;
        int parent = slash != NULL ? name_index(s->names, i, s->names[i], length) : -1;
        s->parents[i] = parent;
    }
}

/// What an animation says of its joints.
typedef struct pose {
    firn_usd_numbers translation, rotation, scale;
    const char **names;
    size_t count;
} pose;

static void release_pose(pose *p)
{
    firn_free(p->translation.data);
    firn_free(p->rotation.data);
    firn_free(p->scale.data);
    firn_free((void *)p->names);
}

static firn_result read_pose(const firn_usd_scene *scene, int animation, double code, pose *p,
                             firn_error *error)
{
    FIRN_TRY(read_names(scene, animation, "joints", &p->names, &p->count, error));
    FIRN_TRY(firn_usd_numbers_at(scene, animation, "translations", code, FIRN_USD_F64,
                                 &p->translation, error));
    FIRN_TRY(firn_usd_numbers_at(scene, animation, "rotations", code, FIRN_USD_F64, &p->rotation,
                                 error));
    firn_usd_quaternion(scene, animation, "rotations", &p->rotation);
    return firn_usd_numbers_at(scene, animation, "scales", code, FIRN_USD_F64, &p->scale, error);
}

// Scaled, turned, moved.
static firn_usd_matrix joint_matrix(const pose *p, size_t i)
{
    const double *t = p->translation.data, *q = p->rotation.data, *s = p->scale.data;
    firn_usd_matrix m = firn_usd_matrix_identity(), turn = m;
    if (p->scale.count == p->count && p->scale.tuple == 3)
        for (int k = 0; k < 3; k++)
            m.m[5 * k] = s[3 * i + (size_t)k];
    if (p->rotation.count == p->count && p->rotation.tuple == 4)
        turn = firn_usd_matrix_turn(q + 4 * i);
    m = firn_usd_matrix_mul(&m, &turn);
    if (p->translation.count == p->count && p->translation.tuple == 3)
        memcpy(m.m + 12, t + 3 * i, 3 * sizeof *t);
    return m;
}

// The joints now: where the animation says nothing they rest.
static firn_result pose_joints(const firn_usd_scene *scene, skeleton *s, double code,
                               firn_error *error)
{
    firn_usd_numbers rest;
    pose p = {0};
    FIRN_TRY(
        firn_usd_numbers_at(scene, s->prim, "restTransforms", code, FIRN_USD_F64, &rest, error));
    int animation = firn_usd_find_related(scene, s->prim, "skel:animationSource", 0);
    firn_result result = animation > 0 ? read_pose(scene, animation, code, &p, error) : FIRN_OK;
    bool rests = rest.count == s->joint_count && rest.tuple == 16;
    for (size_t i = 0; i < s->joint_count && result == FIRN_OK; i++) {
        int k = name_index(p.names, p.count, s->names[i], strlen(s->names[i]));
        firn_usd_matrix local = firn_usd_matrix_identity();
        if (k >= 0)
            local = joint_matrix(&p, (size_t)k);
        else if (rests)
            memcpy(local.m, (const double *)rest.data + 16 * i, sizeof local.m);
        s->now[i] =
            s->parents[i] >= 0 ? firn_usd_matrix_mul(&local, &s->now[s->parents[i]]) : local;
    }
    firn_free(rest.data);
    release_pose(&p);
    return result;
}

static firn_result build(const firn_usd_scene *scene, skeleton *s, double code, firn_error *error)
{
    firn_usd_numbers bind;
    FIRN_TRY(read_names(scene, s->prim, "joints", &s->names, &s->joint_count, error));
    if (s->joint_count == 0 || s->joint_count > JOINTS_MAX)
        return firn_usd_fail_prim(scene, s->prim, "it has no joints, or too many", error);
    s->parents = firn_alloc(s->joint_count * sizeof *s->parents);
    s->now = firn_alloc(s->joint_count * sizeof *s->now);
    s->skin = firn_alloc(s->joint_count * sizeof *s->skin);
    if (s->parents == NULL || s->now == NULL || s->skin == NULL)
        return firn_usd_fail_memory(scene, error);
    find_parents(s);
    FIRN_TRY(pose_joints(scene, s, code, error));
    FIRN_TRY(
        firn_usd_numbers_at(scene, s->prim, "bindTransforms", code, FIRN_USD_F64, &bind, error));
    bool fits = bind.count == s->joint_count && bind.tuple == 16;
    for (size_t i = 0; i < s->joint_count && fits; i++) {
        firn_usd_matrix rest, back;
        memcpy(rest.m, (const double *)bind.data + 16 * i, sizeof rest.m);
        fits = firn_usd_matrix_invert(&rest, &back);
        if (fits)
            s->skin[i] = firn_usd_matrix_mul(&back, &s->now[i]);
    }
    firn_free(bind.data);
    return fits ? FIRN_OK
                : firn_usd_fail_prim(scene, s->prim, "its bindTransforms do not fit its joints",
                                     error);
}

static void release_skeleton(skeleton *s)
{
    firn_free((void *)s->names);
    firn_free(s->parents);
    firn_free(s->now);
    firn_free(s->skin);
}

// --- Points --------------------------------------------------------------------------------------

/// Which joints pull at which points.
typedef struct binding {
    firn_usd_numbers index, weight;
    size_t each; // influences of a point
    bool rigid;  // the same for all of them
    const char **names;
    size_t name_count; // of joints that the indices count; 0: those of the skeleton
    firn_usd_matrix bind;
} binding;

static firn_result read_binding(const firn_usd_scene *scene, int prim, double code, size_t count,
                                binding *b, firn_error *error)
{
    firn_usd_numbers bind;
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "primvars:skel:jointIndices", code, FIRN_USD_I32,
                                 &b->index, error));
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "primvars:skel:jointWeights", code, FIRN_USD_F32,
                                 &b->weight, error));
    FIRN_TRY(read_names(scene, prim, "skel:joints", &b->names, &b->name_count, error));
    FIRN_TRY(firn_usd_numbers_at(scene, prim, "primvars:skel:geomBindTransform", code, FIRN_USD_F64,
                                 &bind, error));
    b->bind = firn_usd_matrix_identity();
    if (bind.count == 1 && bind.tuple == 16)
        memcpy(b->bind.m, bind.data, sizeof b->bind.m);
    firn_free(bind.data);
    size_t all = b->index.count * (size_t)b->index.tuple;
    b->rigid = count > 0 && all % count != 0;
    b->each = b->rigid || count == 0 ? all : all / count;
    if (all != b->weight.count * (size_t)b->weight.tuple || b->each > INFLUENCES_MAX)
        return firn_usd_fail_prim(scene, prim, "its jointIndices and jointWeights do not fit",
                                  error);
    return FIRN_OK;
}

// Indices become those of the skeleton.
static bool map_joints(const skeleton *s, binding *b)
{
    int32_t *index = b->index.data;
    for (size_t i = 0; i < b->index.count * (size_t)b->index.tuple; i++) {
        if (b->name_count > 0) {
            if (index[i] < 0 || (size_t)index[i] >= b->name_count)
                return false;
            const char *name = b->names[index[i]];
            index[i] = name_index(s->names, s->joint_count, name, strlen(name));
        }
        if (index[i] < 0 || (size_t)index[i] >= s->joint_count)
            return false;
    }
    return true;
}

static void bend(const skeleton *s, const binding *b, const firn_usd_matrix *world, size_t count,
                 firn_vec3 *position)
{
    const int32_t *index = b->index.data;
    const float *weight = b->weight.data;
    for (size_t i = 0; i < count; i++) {
        size_t first = b->rigid ? 0 : i * b->each;
        firn_vec3 p = firn_usd_matrix_point(&b->bind, position[i]), sum = {0};
        float total = 0.0f;
        for (size_t k = 0; k < b->each; k++) {
            float w = weight[first + k];
            sum =
                firn_add(sum, firn_scale(w, firn_usd_matrix_point(&s->skin[index[first + k]], p)));
            total += w;
        }
        // Weights add up to one; those that do not are taken as shares.
        sum = total > 0.0f ? firn_scale(1.0f / total, sum) : p;
        position[i] = firn_usd_matrix_point(world, sum);
    }
}

static bool is_skinned(const firn_usd_scene *scene, int prim)
{
    return firn_usd_find_attribute(scene, prim, "primvars:skel:jointIndices").doc != NULL;
}

firn_result firn_usd_skin(const firn_usd_scene *scene, int prim, double code, size_t count,
                          firn_vec3 *position, bool *skinned, firn_error *error)
{
    skeleton s = {.prim = is_skinned(scene, prim)
                              ? firn_usd_find_related(scene, prim, "skel:skeleton", 0)
                              : -1};
    *skinned = s.prim > 0;
    if (!*skinned)
        return FIRN_OK;
    binding b = {0};
    firn_usd_matrix world;
    firn_result result = build(scene, &s, code, error);
    if (result == FIRN_OK)
        result = read_binding(scene, prim, code, count, &b, error);
    if (result == FIRN_OK && !map_joints(&s, &b))
        result = firn_usd_fail_prim(scene, prim, "it names a joint that is not there", error);
    if (result == FIRN_OK)
        result = firn_usd_world_matrix(scene, s.prim, code, &world, error);
    if (result == FIRN_OK)
        bend(&s, &b, &world, count, position);
    firn_free(b.index.data);
    firn_free(b.weight.data);
    firn_free((void *)b.names);
    release_skeleton(&s);
    return result;
}

void firn_usd_add_skin_range(const firn_usd_scene *scene, int prim, double *first, double *last,
                             bool *any)
{
    static const char *const names[] = {"translations", "rotations", "scales", "blendShapeWeights"};
    bool shaped = firn_usd_find_attribute(scene, prim, "skel:blendShapes").doc != NULL;
    int bones = shaped || is_skinned(scene, prim)
                    ? firn_usd_find_related(scene, prim, "skel:skeleton", 0)
                    : -1;
    int animation = bones > 0 ? firn_usd_find_related(scene, bones, "skel:animationSource", 0) : -1;
    for (size_t i = 0; i < FIRN_COUNT(names) && animation > 0; i++)
        firn_usd_add_range(scene, animation, names[i], first, last, any);
    if (bones > 0)
        firn_usd_add_moving_range(scene, bones, first, last, any);
}
