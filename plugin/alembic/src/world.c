#include "matrix.h"
#include "subd.h"
#include "xform.h"

#include <string.h>

enum { USE_LIMIT = 1 << 20 };

// A mesh that appears in the world: where it is, or where a use of it puts it.
typedef struct appearance {
    int mesh;
    int use; // -1 when it is no instance
} appearance;

typedef struct scene {
    const firn_abc *archive;
    const char *pattern;
    double time;
    appearance *appearances;
    size_t count, capacity;
    firn_abc_use *uses; // of instances, those inside of others after them
    int use_count, use_capacity;
    bool hides; // something that was selected is not visible at the time
} scene;

static firn_result fail_limit(const firn_abc *archive, int object, firn_error *error)
{
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    return firn_abc_fail(&place, FIRN_ERR_MEMORY,
                         "the meshes up to this one take more than %llu bytes together; select "
                         "fewer",
                         (unsigned long long)firn_abc_result_limit(archive));
}

static firn_result add(scene *s, appearance next, firn_error *error)
{
    if (s->count == s->capacity) {
        size_t larger = s->capacity > 0 ? 2 * s->capacity : 16;
        if (larger > firn_abc_result_limit(s->archive) / sizeof *s->appearances)
            return fail_limit(s->archive, next.mesh, error);
        appearance *moved = firn_abc_alloc_array(larger, sizeof *moved);
        firn_abc_place place = firn_abc_place_of(s->archive, next.mesh, -1, error);
        if (moved == NULL)
            return firn_abc_fail_memory(&place, larger * sizeof *moved);
        if (s->count > 0)
            memcpy(moved, s->appearances, s->count * sizeof *moved);
        firn_free(s->appearances);
        s->appearances = moved;
        s->capacity = larger;
    }
    s->appearances[s->count++] = next;
    return FIRN_OK;
}

// The object that an instance stands for.
static firn_result find_source(const firn_abc *archive, int instance, int *source,
                               firn_error *error)
{
    firn_abc_place place = firn_abc_place_of(archive, instance, -1, error);
    int property = firn_abc_property_find(archive, instance, ".instanceSource");
    if (property < 0)
        return firn_abc_fail(&place, FIRN_ERR_FORMAT, "it is an instance of nothing");
    firn_abc_array path;
    FIRN_TRY(firn_abc_read_typed(archive, property, 0, FIRN_ABC_POD_STRING, 1, &path, error));
    *source = path.count > 0 ? firn_abc_object_find(archive, path.values) : -1;
    firn_result result = FIRN_OK;
    if (*source < 0)
        result = firn_abc_fail(&place, FIRN_ERR_FORMAT,
                               "it is an instance of '%.200s', which is not there",
                               path.count > 0 ? (const char *)path.values : "");
    firn_abc_array_free(&path);
    return result;
}

// Hidden objects take no part; what says nothing, or "deferred", does as its parent. `last` and
// what is above it do not count; -1: everything does.
static firn_result is_visible(const firn_abc *archive, int object, int last, double time,
                              bool *visible, firn_error *error)
{
    *visible = true;
    for (int i = object; i >= 0 && i != last; i = archive->objects[i].info.parent) {
        int property = firn_abc_property_find(archive, i, "visible");
        const firn_abc_property *info = property >= 0 ? &archive->properties[property].info : NULL;
        if (info == NULL || info->sample_count == 0 || info->pod != FIRN_ABC_POD_INT8 ||
            info->kind != FIRN_ABC_PROPERTY_SCALAR || info->extent != 1)
            continue;
        firn_abc_array value;
        FIRN_TRY(firn_abc_read(archive, property, firn_abc_index_at(archive, property, time),
                               &value, error));
        int8_t said = value.count > 0 ? *(const int8_t *)value.values : -1;
        firn_abc_array_free(&value);
        if (said >= 0) {
            *visible = said > 0;
            return FIRN_OK;
        }
    }
    return FIRN_OK;
}

static firn_result add_use(scene *s, int instance, int outer, firn_error *error)
{
    const firn_abc *archive = s->archive;
    firn_abc_place place = firn_abc_place_of(archive, instance, -1, error);
    firn_abc_use use = {-1, instance, outer};
    FIRN_TRY(find_source(archive, instance, &use.source, error));
    for (int i = outer; i >= 0; i = s->uses[i].outer)
        if (s->uses[i].source == use.source)
            return firn_abc_fail(&place, FIRN_ERR_UNSUPPORTED,
                                 "it is an instance within itself, through '%.200s'",
                                 archive->objects[s->uses[i].instance].info.path);
    if (s->use_count == s->use_capacity) {
        int larger = s->use_capacity > 0 ? 2 * s->use_capacity : 16;
        if (larger > USE_LIMIT)
            return fail_limit(archive, instance, error);
        firn_abc_use *moved = firn_abc_alloc_array((size_t)larger, sizeof *moved);
        if (moved == NULL)
            return firn_abc_fail_memory(&place, (size_t)larger * sizeof *moved);
        if (s->use_count > 0)
            memcpy(moved, s->uses, (size_t)s->use_count * sizeof *moved);
        firn_free(s->uses);
        s->uses = moved;
        s->use_capacity = larger;
    }
    s->uses[s->use_count++] = use;
    return FIRN_OK;
}

// The meshes below the source of a use; instances there become uses that come later.
static firn_result add_meshes_of(scene *s, int use, firn_error *error)
{
    const firn_abc *archive = s->archive;
    int source = s->uses[use].source;
    int depth = archive->objects[source].info.depth;
    for (int i = source; i < archive->object_count; i++) {
        if (i > source && archive->objects[i].info.depth <= depth)
            break;
        bool visible = true;
        bool wanted = archive->objects[i].is_instance || firn_abc_is_mesh(archive, i);
        if (wanted)
            FIRN_TRY(is_visible(archive, i, source, s->time, &visible, error));
        if (!wanted || !visible)
            continue;
        if (archive->objects[i].is_instance)
            FIRN_TRY(add_use(s, i, use, error));
        else
            FIRN_TRY(add(s, (appearance){i, use}, error));
    }
    return FIRN_OK;
}

static firn_result add_instance(scene *s, int instance, firn_error *error)
{
    int first = s->use_count;
    FIRN_TRY(add_use(s, instance, -1, error));
    for (int use = first; use < s->use_count; use++)
        FIRN_TRY(add_meshes_of(s, use, error));
    return FIRN_OK;
}

static bool is_selected(const scene *s, int object)
{
    bool is_mesh = firn_abc_is_mesh(s->archive, object);
    if (!is_mesh && !s->archive->objects[object].is_instance)
        return false;
    return firn_abc_object_matches(s->archive, object, s->pattern) ||
           (is_mesh && firn_abc_selects_faces(s->archive, object, s->pattern));
}

static firn_result collect(scene *s, firn_error *error)
{
    const firn_abc *archive = s->archive;
    const char *pattern = s->pattern;
    for (int i = 0; i < archive->object_count; i++) {
        const firn_abc_object_record *object = &archive->objects[i];
        bool visible = true;
        if (!is_selected(s, i))
            continue;
        FIRN_TRY(is_visible(archive, i, -1, s->time, &visible, error));
        s->hides = s->hides || !visible;
        if (!visible)
            continue;
        if (object->is_instance)
            FIRN_TRY(add_instance(s, i, error));
        else
            FIRN_TRY(add(s, (appearance){i, -1}, error));
    }
    if (s->count > 0 || s->hides)
        return FIRN_OK;
    if (pattern == NULL || pattern[0] == '\0')
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "'%.400s' has no mesh", archive->name);
    return firn_fail(error, FIRN_ERR_NOT_FOUND, "'%.400s' has no mesh that matches '%.200s'",
                     archive->name, pattern);
}

static firn_result measure(const scene *s, double time, firn_abc_mesh *total, firn_error *error)
{
    uint64_t limit = firn_abc_result_limit(s->archive);
    for (size_t i = 0; i < s->count; i++) {
        int object = s->appearances[i].mesh;
        firn_abc_mesh sizes = {0};
        FIRN_TRY(firn_abc_mesh_measure(s->archive, object, time, &sizes, error));
        total->vertex_count += sizes.vertex_count;
        total->face_count += sizes.face_count;
        total->corner_count += sizes.corner_count;
        uint64_t bytes = (uint64_t)total->vertex_count * 2 * sizeof(firn_vec3) +
                         ((uint64_t)total->face_count + total->corner_count) * sizeof(int32_t);
        if (bytes > limit || total->vertex_count > INT32_MAX)
            return fail_limit(s->archive, object, error);
    }
    return FIRN_OK;
}

static firn_result allocate(const firn_abc_place *place, const firn_abc_mesh *sizes,
                            firn_abc_mesh *mesh)
{
    mesh->position = firn_abc_alloc_array(sizes->vertex_count, sizeof *mesh->position);
    mesh->velocity = firn_abc_alloc_array(sizes->vertex_count, sizeof *mesh->velocity);
    mesh->face_size = firn_abc_alloc_array(sizes->face_count, sizeof *mesh->face_size);
    mesh->corner = firn_abc_alloc_array(sizes->corner_count, sizeof *mesh->corner);
    if (mesh->position == NULL || mesh->velocity == NULL || mesh->face_size == NULL ||
        mesh->corner == NULL)
        return firn_abc_fail_memory(place, sizes->vertex_count * 2 * sizeof(firn_vec3));
    return FIRN_OK;
}

// Stored corners run clockwise seen from outside; a matrix that mirrors has turned them already.
static void append_faces(firn_abc_mesh *all, const firn_abc_mesh *mesh, const bool *kept,
                         bool mirrored)
{
    int32_t base = (int32_t)all->vertex_count;
    const int32_t *from = mesh->corner;
    for (size_t f = 0; f < mesh->face_count; f++) {
        int32_t size = mesh->face_size[f];
        if (kept == NULL || kept[f]) {
            int32_t *to = all->corner + all->corner_count;
            for (int32_t k = 0; k < size; k++)
                to[k] = base + from[mirrored ? k : size - 1 - k];
            all->face_size[all->face_count++] = size;
            all->corner_count += (size_t)size;
        }
        from += size;
    }
}

// The faces that are not selected shape the others of a subdivision surface: they become holes.
static firn_result append_cage(const scene *s, int object, const bool *kept, firn_abc_mesh *all,
                               firn_error *error)
{
    firn_abc_place place = firn_abc_place_of(s->archive, object, -1, error);
    if (all->cages == NULL)
        all->cages = firn_abc_alloc_array(s->count, sizeof *all->cages);
    if (all->cages == NULL)
        return firn_abc_fail_memory(&place, s->count * sizeof *all->cages);
    firn_abc_cage *cage = &all->cages[all->cage_count];
    FIRN_TRY(firn_abc_read_cage(s->archive, object, s->time, cage, error));
    all->cage_count++;
    cage->first_vertex = all->vertex_count;
    cage->first_face = all->face_count;
    cage->first_corner = all->corner_count;
    return kept != NULL ? firn_abc_cage_exclude(&place, cage, kept) : FIRN_OK;
}

static firn_result check_room(const firn_abc_place *place, const firn_abc_mesh *all,
                              const firn_abc_mesh *room, const firn_abc_mesh *mesh)
{
    if (mesh->vertex_count > room->vertex_count - all->vertex_count ||
        mesh->face_count > room->face_count - all->face_count ||
        mesh->corner_count > room->corner_count - all->corner_count)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "the file changed while being read");
    return FIRN_OK;
}

static firn_result append(const firn_abc_place *place, firn_abc_mesh *all, firn_abc_mesh *mesh,
                          const bool *kept, const firn_abc_moving_matrix *moving)
{
    firn_abc_to_world(&moving->matrix, &moving->rate, mesh->vertex_count, mesh->position,
                      mesh->velocity);
    FIRN_TRY(firn_abc_check_finite(place, mesh->position, mesh->vertex_count));
    append_faces(all, mesh, kept, firn_abc_matrix_det(&moving->matrix) < 0.0);
    if (mesh->vertex_count > 0) {
        size_t bytes = mesh->vertex_count * sizeof(firn_vec3);
        memcpy(all->position + all->vertex_count, mesh->position, bytes);
        memcpy(all->velocity + all->vertex_count, mesh->velocity, bytes);
    }
    all->vertex_count += mesh->vertex_count;
    all->velocity_stored = all->velocity_stored || mesh->velocity_stored;
    return FIRN_OK;
}

static firn_result append_mesh(const scene *s, int object, const firn_abc_moving_matrix *moving,
                               const firn_abc_mesh *room, firn_abc_mesh *mesh, firn_abc_mesh *all,
                               firn_error *error)
{
    const firn_abc *archive = s->archive;
    firn_abc_place place = firn_abc_place_of(archive, object, -1, error);
    bool *kept = NULL;
    FIRN_TRY(check_room(&place, all, room, mesh));
    FIRN_TRY(firn_abc_selected_faces(archive, object, s->pattern, s->time, mesh->face_count, &kept,
                                     error));
    bool is_cage = archive->objects[object].info.kind == FIRN_ABC_KIND_SUBD;
    firn_result result = FIRN_OK;
    if (is_cage)
        result = append_cage(s, object, kept, all, error);
    if (result == FIRN_OK)
        result = append(&place, all, mesh, is_cage ? NULL : kept, moving);
    firn_free(kept);
    return result;
}

static firn_result append_appearance(const scene *s, appearance next, const firn_abc_mesh *room,
                                     firn_abc_mesh *all, firn_error *error)
{
    const firn_abc *archive = s->archive;
    double time = s->time;
    firn_abc_moving_matrix moving;
    firn_abc_mesh mesh;
    if (next.use < 0)
        FIRN_TRY(
            firn_abc_world_matrix(archive, next.mesh, time, &moving.matrix, &moving.rate, error));
    else
        FIRN_TRY(
            firn_abc_instance_matrix(archive, next.mesh, s->uses, next.use, time, &moving, error));
    FIRN_TRY(firn_abc_read_mesh(archive, next.mesh, time, &mesh, error));
    // Instances are selected by their own paths, below which there are no face sets.
    scene selected = *s;
    selected.pattern = next.use < 0 ? s->pattern : "";
    firn_result result = append_mesh(&selected, next.mesh, &moving, room, &mesh, all, error);
    firn_abc_mesh_free(&mesh);
    return result;
}

firn_result firn_abc_read_world_mesh(const firn_abc *archive, const char *pattern, double time,
                                     firn_abc_mesh *mesh, firn_error *error)
{
    *mesh = (firn_abc_mesh){0};
    firn_abc_mesh total = {0};
    scene s = {.archive = archive, .pattern = pattern, .time = time};
    firn_abc_place place = {.archive = archive, .error = error};
    firn_result result = collect(&s, error);
    if (result == FIRN_OK)
        result = measure(&s, time, &total, error);
    if (result == FIRN_OK)
        result = allocate(&place, &total, mesh);
    for (size_t i = 0; i < s.count && result == FIRN_OK; i++)
        result = append_appearance(&s, s.appearances[i], &total, mesh, error);
    firn_free(s.appearances);
    firn_free(s.uses);
    if (result != FIRN_OK)
        firn_abc_mesh_free(mesh);
    return result;
}
