#include "limit_surface.h"

#include "firn/vdb_subdivide.h"

#include <math.h>
#include <string.h>

// A cage that has been refined, and what it was made of.
typedef struct refined {
    firn_vdb_subdivision *subdivision;
    firn_vdb_cage cage; // copies of the arrays of this mesh
    int level;
} refined;

struct firn_limit_surfaces {
    size_t count;
    refined *parts;
};

static void clear(refined *part)
{
    firn_vdb_subdivision_destroy(part->subdivision);
    firn_free((void *)part->cage.face_sizes);
    firn_free((void *)part->cage.indices);
    firn_free((void *)part->cage.creases);
    firn_free((void *)part->cage.crease_sharpness);
    firn_free((void *)part->cage.corners);
    firn_free((void *)part->cage.corner_sharpness);
    firn_free((void *)part->cage.holes);
    memset(part, 0, sizeof *part);
}

void firn_limit_surfaces_destroy(firn_limit_surfaces *surfaces)
{
    if (surfaces == NULL)
        return;
    for (size_t i = 0; i < surfaces->count; i++)
        clear(&surfaces->parts[i]);
    firn_free(surfaces->parts);
    firn_free(surfaces);
}

// --- Cages ---------------------------------------------------------------------------------------

// The cage with its own numbers of points; corner is room for them.
static firn_vdb_cage cage_of(const firn_abc_mesh *read, const firn_abc_cage *from, int32_t *corner)
{
    static const int schemes[] = {
        [FIRN_ABC_SCHEME_CATMULL_CLARK] = FIRN_VDB_SCHEME_CATMULL_CLARK,
        [FIRN_ABC_SCHEME_LOOP] = FIRN_VDB_SCHEME_LOOP,
        [FIRN_ABC_SCHEME_BILINEAR] = FIRN_VDB_SCHEME_BILINEAR,
    };
    for (size_t i = 0; i < from->corner_count; i++)
        corner[i] = read->corner[from->first_corner + i] - (int32_t)from->first_vertex;
    // "None" would take away the faces along open edges, where a collider should have some.
    return (firn_vdb_cage){.scheme = schemes[from->scheme],
                           .boundary = from->boundary == 1 ? FIRN_VDB_BOUNDARY_EDGE_CORNER
                                                           : FIRN_VDB_BOUNDARY_EDGE,
                           .point_count = from->vertex_count,
                           .face_count = from->face_count,
                           .face_sizes = read->face_size + from->first_face,
                           .index_count = from->corner_count,
                           .indices = corner,
                           .crease_count = from->crease_count,
                           .creases = from->crease,
                           .crease_sharpness = from->crease_sharpness,
                           .corner_count = from->peak_count,
                           .corners = from->peak,
                           .corner_sharpness = from->peak_sharpness,
                           .hole_count = from->hole_count,
                           .holes = from->hole};
}

static bool same(const void *a, const void *b, size_t count, size_t size)
{
    return count == 0 || memcmp(a, b, count * size) == 0;
}

static bool same_cage(const firn_vdb_cage *a, const firn_vdb_cage *b)
{
    return a->scheme == b->scheme && a->boundary == b->boundary &&
           a->point_count == b->point_count && a->face_count == b->face_count &&
           a->index_count == b->index_count && a->crease_count == b->crease_count &&
           a->corner_count == b->corner_count && a->hole_count == b->hole_count &&
           same(a->face_sizes, b->face_sizes, a->face_count, sizeof *a->face_sizes) &&
           same(a->indices, b->indices, a->index_count, sizeof *a->indices) &&
           same(a->creases, b->creases, 2 * a->crease_count, sizeof *a->creases) &&
           same(a->crease_sharpness, b->crease_sharpness, a->crease_count, sizeof(float)) &&
           same(a->corners, b->corners, a->corner_count, sizeof *a->corners) &&
           same(a->corner_sharpness, b->corner_sharpness, a->corner_count, sizeof(float)) &&
           same(a->holes, b->holes, a->hole_count, sizeof *a->holes);
}

static bool copy(const void **array, size_t count, size_t size)
{
    void *made = firn_alloc(count * size + 1);
    if (made != NULL && count > 0)
        memcpy(made, *array, count * size);
    *array = made;
    return made != NULL;
}

static bool copy_cage(firn_vdb_cage *cage)
{
    const void *arrays[] = {
        cage->face_sizes, cage->indices,          cage->creases, cage->crease_sharpness,
        cage->corners,    cage->corner_sharpness, cage->holes};
    const size_t counts[] = {cage->face_count,   cage->index_count,  2 * cage->crease_count,
                             cage->crease_count, cage->corner_count, cage->corner_count,
                             cage->hole_count};
    bool done = true;
    for (size_t i = 0; i < FIRN_COUNT(arrays); i++)
        done = copy(&arrays[i], counts[i], sizeof(int32_t)) && done;
    cage->face_sizes = arrays[0];
    cage->indices = arrays[1];
    cage->creases = arrays[2];
    cage->crease_sharpness = arrays[3];
    cage->corners = arrays[4];
    cage->corner_sharpness = arrays[5];
    cage->holes = arrays[6];
    return done;
}

static float longest_edge(const firn_abc_mesh *read, const firn_abc_cage *cage)
{
    float longest = 0.0f;
    const int32_t *corner = read->corner + cage->first_corner;
    for (size_t f = 0; f < cage->face_count; f++) {
        int32_t size = read->face_size[cage->first_face + f];
        for (int32_t k = 0; k < size; k++) {
            firn_vec3 a = read->position[corner[k]], b = read->position[corner[(k + 1) % size]];
            longest = fmaxf(longest, firn_length(firn_sub(a, b)));
        }
        corner += size;
    }
    return longest;
}

// As many steps as bring edges down to the length that is wanted, as far as that is not too much.
static int choose_level(const firn_subd_def *def, const firn_abc_mesh *read,
                        const firn_abc_cage *cage)
{
    static const size_t enough = 2000000; // faces
    if (def->level >= 0)
        return def->level;
    int level = 1;
    for (float edge = 0.5f * longest_edge(read, cage);
         level < FIRN_VDB_SUBDIVISION_LEVELS && edge > def->edge; edge *= 0.5f)
        level++;
    while (level > 1 && cage->corner_count << (2 * (level - 1)) > enough)
        level--;
    return level;
}

static firn_result refine(refined *part, const firn_subd_def *def, const firn_abc_mesh *read,
                          const firn_abc_cage *cage, firn_error *error)
{
    int32_t *corner = firn_alloc(cage->corner_count * sizeof *corner + 1);
    if (corner == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot subdivide a mesh");
    firn_vdb_cage now = cage_of(read, cage, corner);
    firn_result result = FIRN_OK;
    if (part->subdivision == NULL || !same_cage(&part->cage, &now)) {
        // What was chosen for the first frame stays, so that frames have one topology.
        int level = part->subdivision != NULL ? part->level : choose_level(def, read, cage);
        clear(part);
        result = firn_vdb_subdivision_create(&now, level, &part->subdivision, error);
        part->level = level;
        part->cage = now;
        if (!copy_cage(&part->cage) && result == FIRN_OK)
            result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot subdivide a mesh");
    }
    firn_free(corner);
    return result;
}

// --- Putting the mesh together -------------------------------------------------------------------

static firn_result allocate(const firn_limit_surfaces *surfaces, const firn_abc_mesh *read,
                            firn_mesh *mesh, firn_error *error)
{
    size_t vertices = read->vertex_count, faces = read->face_count, corners = read->corner_count;
    for (size_t i = 0; i < read->cage_count; i++) {
        firn_vdb_limit limit = firn_vdb_subdivision_limit(surfaces->parts[i].subdivision);
        vertices += limit.point_count - read->cages[i].vertex_count;
        faces += limit.face_count - read->cages[i].face_count;
        corners += limit.index_count - read->cages[i].corner_count;
    }
    mesh->position = firn_alloc_zero((vertices + 1) * sizeof *mesh->position);
    mesh->velocity = firn_alloc_zero((vertices + 1) * sizeof *mesh->velocity);
    mesh->face_size = firn_alloc((faces + 1) * sizeof *mesh->face_size);
    mesh->corner = firn_alloc((corners + 1) * sizeof *mesh->corner);
    mesh->stored = read->velocity_stored;
    if (mesh->position == NULL || mesh->velocity == NULL || mesh->face_size == NULL ||
        mesh->corner == NULL || vertices > INT32_MAX)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot subdivide a mesh");
    return FIRN_OK;
}

static void append(firn_mesh *mesh, size_t vertices, size_t faces, const int32_t *face_size,
                   size_t corners, const int32_t *corner, size_t base)
{
    if (faces > 0)
        memcpy(mesh->face_size + mesh->face_count, face_size, faces * sizeof *face_size);
    for (size_t i = 0; i < corners; i++)
        mesh->corner[mesh->corner_count + i] =
            corner[i] + (int32_t)mesh->vertex_count - (int32_t)base;
    mesh->vertex_count += vertices;
    mesh->face_count += faces;
    mesh->corner_count += corners;
}

// What lies between two cages, as it is.
static void append_plain(firn_mesh *mesh, const firn_abc_mesh *read, const firn_abc_cage *from,
                         const firn_abc_cage *to)
{
    size_t vertex = from->first_vertex + from->vertex_count;
    size_t face = from->first_face + from->face_count;
    size_t corner = from->first_corner + from->corner_count;
    size_t vertices = to->first_vertex - vertex;
    if (vertices > 0) {
        memcpy(mesh->position + mesh->vertex_count, read->position + vertex,
               vertices * sizeof *mesh->position);
        memcpy(mesh->velocity + mesh->vertex_count, read->velocity + vertex,
               vertices * sizeof *mesh->velocity);
    }
    append(mesh, vertices, to->first_face - face, read->face_size + face, to->first_corner - corner,
           read->corner + corner, vertex);
}

static firn_result append_limit(firn_mesh *mesh, const firn_abc_mesh *read,
                                const firn_abc_cage *cage, const firn_vdb_subdivision *subdivision,
                                firn_error *error)
{
    firn_vdb_limit limit = firn_vdb_subdivision_limit(subdivision);
    FIRN_TRY(firn_vdb_subdivision_apply(subdivision, read->position + cage->first_vertex,
                                        mesh->position + mesh->vertex_count, error));
    FIRN_TRY(firn_vdb_subdivision_apply(subdivision, read->velocity + cage->first_vertex,
                                        mesh->velocity + mesh->vertex_count, error));
    append(mesh, limit.point_count, limit.face_count, limit.face_sizes, limit.index_count,
           limit.indices, 0);
    mesh->skipped += limit.left_out;
    return FIRN_OK;
}

static firn_result make_room(firn_limit_surfaces **surfaces, size_t count, firn_error *error)
{
    if (*surfaces != NULL && (*surfaces)->count == count)
        return FIRN_OK;
    firn_limit_surfaces_destroy(*surfaces);
    *surfaces = firn_alloc_zero(sizeof **surfaces);
    refined *parts = firn_alloc_zero((count + 1) * sizeof *parts);
    if (*surfaces == NULL || parts == NULL) {
        firn_free(parts);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot subdivide a mesh");
    }
    (*surfaces)->count = count;
    (*surfaces)->parts = parts;
    return FIRN_OK;
}

static firn_result build(firn_limit_surfaces *surfaces, const firn_subd_def *def,
                         const firn_abc_mesh *read, firn_mesh *mesh, firn_error *error)
{
    for (size_t i = 0; i < read->cage_count; i++)
        FIRN_TRY(refine(&surfaces->parts[i], def, read, &read->cages[i], error));
    FIRN_TRY(allocate(surfaces, read, mesh, error));
    const firn_abc_cage begin = {0}, end = {.first_vertex = read->vertex_count,
                                            .first_face = read->face_count,
                                            .first_corner = read->corner_count};
    for (size_t i = 0; i < read->cage_count; i++) {
        append_plain(mesh, read, i > 0 ? &read->cages[i - 1] : &begin, &read->cages[i]);
        FIRN_TRY(append_limit(mesh, read, &read->cages[i], surfaces->parts[i].subdivision, error));
    }
    append_plain(mesh, read, &read->cages[read->cage_count - 1], &end);
    return FIRN_OK;
}

firn_result firn_limit_surfaces_apply(firn_limit_surfaces **surfaces, const firn_subd_def *def,
                                      const firn_abc_mesh *read, const char *path, firn_mesh *mesh,
                                      firn_error *error)
{
    firn_error cause;
    firn_result result = make_room(surfaces, read->cage_count, &cause);
    if (result == FIRN_OK)
        result = build(*surfaces, def, read, mesh, &cause);
    if (result == FIRN_OK)
        return FIRN_OK;
    firn_mesh_free(mesh);
    return firn_fail(error, result, "'%.300s': %.600s", path, cause.message);
}
