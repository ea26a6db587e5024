#include "mesh_usd.h"

#include "limit_surface.h"

#include <string.h>

firn_result firn_mesh_usd_open(firn_mesh_file *file, const char *object, firn_error *error)
{
    FIRN_TRY(firn_usd_scene_open(file->path, &file->usd, error));
    file->ranged = firn_usd_scene_range(file->usd, object, &file->first_time, &file->last_time);
    return FIRN_OK;
}

// Borrows the arrays.
static firn_abc_cage cage_of(const firn_usd_cage *from)
{
    static const firn_abc_scheme schemes[] = {
        [FIRN_USD_SCHEME_CATMULL_CLARK] = FIRN_ABC_SCHEME_CATMULL_CLARK,
        [FIRN_USD_SCHEME_LOOP] = FIRN_ABC_SCHEME_LOOP,
        [FIRN_USD_SCHEME_BILINEAR] = FIRN_ABC_SCHEME_BILINEAR,
    };
    return (firn_abc_cage){.first_vertex = from->first_vertex,
                           .vertex_count = from->vertex_count,
                           .first_face = from->first_face,
                           .face_count = from->face_count,
                           .first_corner = from->first_corner,
                           .corner_count = from->corner_count,
                           .scheme = schemes[from->scheme],
                           .boundary = from->boundary,
                           .crease_count = from->crease_count,
                           .crease = from->crease,
                           .crease_sharpness = from->crease_sharpness,
                           .peak_count = from->peak_count,
                           .peak = from->peak,
                           .peak_sharpness = from->peak_sharpness,
                           .hole_count = from->hole_count,
                           .hole = from->hole};
}

// The limit surfaces of a mesh that has cages.
static firn_result refine(firn_mesh_file *file, const firn_usd_mesh *read, firn_mesh *mesh,
                          firn_error *error)
{
    firn_abc_mesh view = {.vertex_count = read->vertex_count,
                          .position = read->position,
                          .velocity = read->velocity,
                          .velocity_stored = read->velocity != NULL,
                          .face_count = read->face_count,
                          .face_size = read->face_size,
                          .corner_count = read->corner_count,
                          .corner = read->corner,
                          .cage_count = read->cage_count};
    firn_vec3 *rest = NULL;
    firn_result result = FIRN_OK;
    view.cages = firn_alloc(read->cage_count * sizeof *view.cages);
    if (read->velocity == NULL)
        view.velocity = rest = firn_alloc_zero((read->vertex_count + 1) * sizeof *rest);
    if (view.cages == NULL || view.velocity == NULL)
        result =
            firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read '%.300s'", file->path);
    for (size_t i = 0; i < read->cage_count && result == FIRN_OK; i++)
        view.cages[i] = cage_of(&read->cages[i]);
    if (result == FIRN_OK)
        result =
            firn_limit_surfaces_apply(&file->limits, &file->subd, &view, file->path, mesh, error);
    if (result == FIRN_OK && rest != NULL) {
        firn_free(mesh->velocity);
        mesh->velocity = NULL;
    }
    firn_free(view.cages);
    firn_free(rest);
    return result;
}

// A cage that is taken as it is has no faces where its surface has holes.
static firn_result skip_holes(const firn_usd_mesh *read, firn_mesh *mesh, firn_error *error)
{
    bool *marked = firn_alloc_zero(mesh->face_count + 1);
    if (marked == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read a mesh");
    for (size_t i = 0; i < read->cage_count; i++)
        for (size_t k = 0; k < read->cages[i].hole_count; k++)
            marked[read->cages[i].first_face + (size_t)read->cages[i].hole[k]] = true;
    firn_mesh_skip_faces(mesh, marked);
    firn_free(marked);
    return FIRN_OK;
}

firn_result firn_mesh_usd_read(firn_mesh_file *file, const char *object, double time,
                               firn_mesh *mesh, firn_error *error)
{
    firn_usd_mesh read;
    FIRN_TRY(firn_usd_read_world_mesh(file->usd, object, time, &read, error));
    firn_result result = FIRN_OK;
    if (read.cage_count > 0 && file->subd.level != 0) {
        result = refine(file, &read, mesh, error);
    } else {
        *mesh = (firn_mesh){.vertex_count = read.vertex_count,
                            .position = read.position,
                            .velocity = read.velocity,
                            .stored = read.velocity != NULL,
                            .face_count = read.face_count,
                            .face_size = read.face_size,
                            .corner_count = read.corner_count,
                            .corner = read.corner};
        read.position = read.velocity = NULL;
        read.face_size = read.corner = NULL;
        if (read.cage_count > 0)
            result = skip_holes(&read, mesh, error);
    }
    firn_usd_mesh_free(&read);
    return result;
}
