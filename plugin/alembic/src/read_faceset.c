#include "subd.h"

#include <string.h>

static bool is_set_of(const firn_abc *archive, int object, int mesh)
{
    const firn_abc_object *info = &archive->objects[object].info;
    return info->kind == FIRN_ABC_KIND_FACESET && info->parent == mesh;
}

// One past the last object below a mesh.
static int end_of(const firn_abc *archive, int mesh)
{
    int depth = archive->objects[mesh].info.depth, end = mesh + 1;
    while (end < archive->object_count && archive->objects[end].info.depth > depth)
        end++;
    return end;
}

bool firn_abc_selects_faces(const firn_abc *archive, int mesh, const char *pattern)
{
    int end = end_of(archive, mesh);
    for (int i = mesh + 1; i < end; i++)
        if (is_set_of(archive, i, mesh) && firn_abc_object_matches(archive, i, pattern))
            return true;
    return false;
}

static firn_result mark(const firn_abc *archive, int set, double time, size_t face_count,
                        bool value, bool *kept, firn_error *error)
{
    int property = firn_abc_property_find(archive, set, ".faceset/.faces");
    if (property < 0)
        return FIRN_OK;
    firn_abc_array faces;
    FIRN_TRY(firn_abc_read_typed(archive, property, firn_abc_index_at(archive, property, time),
                                 FIRN_ABC_POD_INT32, 1, &faces, error));
    const int32_t *face = faces.values;
    firn_result result = FIRN_OK;
    for (size_t i = 0; i < faces.count && result == FIRN_OK; i++) {
        if (face[i] < 0 || (size_t)face[i] >= face_count) {
            firn_abc_place place = firn_abc_place_of(archive, set, property, error);
            result =
                firn_abc_fail(&place, FIRN_ERR_FORMAT, "it names face %d, but the mesh has %zu",
                              (int)face[i], face_count);
        } else {
            kept[face[i]] = value;
        }
    }
    firn_abc_array_free(&faces);
    return result;
}

firn_result firn_abc_selected_faces(const firn_abc *archive, int mesh, const char *pattern,
                                    double time, size_t face_count, bool **kept, firn_error *error)
{
    *kept = NULL;
    bool whole = firn_abc_object_matches(archive, mesh, pattern);
    bool *mask = NULL;
    int end = end_of(archive, mesh);
    firn_result result = FIRN_OK;
    for (int i = mesh + 1; i < end && result == FIRN_OK; i++) {
        // Of a whole mesh the sets that are excluded count, else those that are selected.
        if (!is_set_of(archive, i, mesh) || firn_abc_object_matches(archive, i, pattern) == whole)
            continue;
        if (mask == NULL) {
            mask = firn_abc_alloc_array(face_count, sizeof *mask);
            firn_abc_place place = firn_abc_place_of(archive, mesh, -1, error);
            if (mask == NULL)
                return firn_abc_fail_memory(&place, face_count);
            memset(mask, whole ? 1 : 0, face_count);
        }
        result = mark(archive, i, time, face_count, !whole, mask, error);
    }
    if (result != FIRN_OK) {
        firn_free(mask);
        return result;
    }
    *kept = mask;
    return FIRN_OK;
}
