#include "body_mesh.h"

#include "firn/vdb_polygons.h"

#include <math.h>
#include <string.h>

enum { AROUND = 24, RINGS = 12 }; // of a ball

void firn_body_mesh_free(firn_made_mesh *mesh)
{
    firn_free(mesh->position);
    firn_free(mesh->face_size);
    firn_free(mesh->corner);
    memset(mesh, 0, sizeof *mesh);
}

static firn_result claim(firn_made_mesh *mesh, size_t points, size_t faces, size_t corners,
                         firn_error *error)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->position = firn_alloc((points + 1) * sizeof *mesh->position);
    mesh->face_size = firn_alloc((faces + 1) * sizeof *mesh->face_size);
    mesh->corner = firn_alloc((corners + 1) * sizeof *mesh->corner);
    if (mesh->position == NULL || mesh->face_size == NULL || mesh->corner == NULL) {
        firn_body_mesh_free(mesh);
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot make the mesh of a body");
    }
    mesh->view.position = mesh->position;
    mesh->view.face_size = mesh->face_size;
    mesh->view.corner = mesh->corner;
    return FIRN_OK;
}

static void add_face(firn_made_mesh *mesh, const int32_t *corners, int count)
{
    mesh->face_size[mesh->view.face_count++] = count;
    for (int i = 0; i < count; i++)
        mesh->corner[mesh->view.corner_count++] = corners[i];
}

static firn_result make_box(firn_vec3 half, firn_made_mesh *mesh, firn_error *error)
{
    static const int32_t faces[6][4] = {{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1},
                                        {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}};
    FIRN_TRY(claim(mesh, 8, 6, 24, error));
    mesh->view.vertex_count = 8;
    for (int i = 0; i < 8; i++)
        mesh->position[i] =
            firn_vec(i & 4 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 1 ? half.z : -half.z);
    for (int f = 0; f < 6; f++)
        add_face(mesh, faces[f], 4);
    return FIRN_OK;
}

// A ball whose halves are apart along y; the last two points are its poles.
static firn_result make_capsule(float half, float r, firn_made_mesh *mesh, firn_error *error)
{
    const float pi = 3.14159265f;
    int rings = RINGS + (half > 0.0f);
    size_t points = (size_t)(rings - 1) * AROUND + 2;
    FIRN_TRY(claim(mesh, points, (size_t)rings * AROUND, (size_t)rings * AROUND * 4, error));
    for (int i = 1; i < rings; i++) {
        bool below = half > 0.0f && i > RINGS / 2;
        float angle = pi * (float)(i - below) / RINGS, y = r * cosf(angle), x = r * sinf(angle);
        y += half > 0.0f ? (below ? -half : half) : 0.0f;
        for (int k = 0; k < AROUND; k++) {
            float turn = 2.0f * pi * (float)k / AROUND;
            mesh->position[mesh->view.vertex_count++] = firn_vec(x * cosf(turn), y, x * sinf(turn));
        }
    }
    int32_t top = (int32_t)mesh->view.vertex_count, bottom = top + 1;
    mesh->position[mesh->view.vertex_count++] = firn_vec(0.0f, half + r, 0.0f);
    mesh->position[mesh->view.vertex_count++] = firn_vec(0.0f, -half - r, 0.0f);
    for (int32_t i = 0; i < rings; i++)
        for (int32_t k = 0; k < AROUND; k++) {
            int32_t next = (k + 1) % AROUND, above = (i - 1) * AROUND, under = i * AROUND;
            const int32_t quad[4] = {above + k, above + next, under + next, under + k};
            const int32_t cap[3] = {top, under + next, under + k};
            const int32_t foot[3] = {above + k, above + next, bottom};
            if (i == 0)
                add_face(mesh, cap, 3);
            else if (i == rings - 1)
                add_face(mesh, foot, 3);
            else
                add_face(mesh, quad, 4);
        }
    return FIRN_OK;
}

firn_result firn_body_mesh_make(const firn_collider_def *def, firn_made_mesh *mesh,
                                firn_error *error)
{
    float grown = def->offset / def->pose.scale, r = def->radius + grown;
    if (def->shape == FIRN_SHAPE_SPHERE)
        return make_capsule(0.0f, r, mesh, error);
    if (def->shape == FIRN_SHAPE_CAPSULE)
        return make_capsule(def->half_size.y, r, mesh, error);
    firn_vec3 half = firn_add(def->half_size, firn_vec(grown, grown, grown));
    return make_box(half, mesh, error);
}

static firn_result copy(const firn_vdb_mesh *from, const firn_transform *map, firn_made_mesh *mesh,
                        firn_error *error)
{
    FIRN_TRY(claim(mesh, from->point_count, from->face_count, from->index_count, error));
    mesh->view.vertex_count = from->point_count;
    for (size_t i = 0; i < from->point_count; i++)
        mesh->position[i] = firn_transform_point(*map, from->points[i]);
    const int32_t *corner = from->indices;
    for (size_t f = 0; f < from->face_count; f++) {
        int size = from->face_sizes != NULL ? from->face_sizes[f] : 3;
        add_face(mesh, corner, size);
        corner += size;
    }
    return FIRN_OK;
}

firn_result firn_body_mesh_from(const firn_level_set *set, firn_made_mesh *mesh, firn_error *error)
{
    // Polygons stand at the middle of voxels of edge 1; the map of a level set, at their corners.
    firn_vdb_values values = {.voxel_size = 1.0f,
                              .leaf_count = set->leaf_count,
                              .leaf_origin = set->leaf_origin,
                              .values = set->values,
                              .outside = set->background};
    firn_transform map = set->map;
    map.translation = firn_transform_point(set->map, firn_vec(-0.5f, -0.5f, -0.5f));
    firn_vdb_polygons *polygons = NULL;
    FIRN_TRY(firn_vdb_polygons_make(&values, 0.0f, 0.0f, 0, &polygons, error));
    firn_vdb_mesh view = firn_vdb_polygons_read(polygons);
    firn_result result = copy(&view, &map, mesh, error);
    firn_vdb_polygons_destroy(polygons);
    return result;
}
