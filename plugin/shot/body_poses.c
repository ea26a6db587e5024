/// Where the bodies of a cache are: the solver's numbers of each frame say so.
#include "firn/shot.h"

#include <stdio.h>
#include <string.h>

static bool find_stat(const firn_cache_frame *frame, const char *body, const char *part,
                      double *value)
{
    size_t length = strlen(body);
    for (size_t i = 0; i < frame->stat_count; i++) {
        const char *name = frame->stats[i].name;
        if (strncmp(name, body, length) != 0 || name[length] != '.' ||
            strcmp(name + length + 1, part) != 0)
            continue;
        *value = frame->stats[i].value;
        return true;
    }
    return false;
}

bool firn_body_pose_noted(const firn_manifest_view *manifest, int frame, const char *body,
                          firn_transform *pose)
{
    static const char *const parts[] = {"x", "y", "z", "qx", "qy", "qz", "qw"};
    size_t i = 0;
    while (i < manifest->frame_count && manifest->frames[i].frame != frame)
        i++;
    double v[FIRN_COUNT(parts)];
    for (size_t k = 0; k < FIRN_COUNT(parts); k++)
        if (i == manifest->frame_count || !find_stat(&manifest->frames[i], body, parts[k], &v[k]))
            return false;
    pose->translation = firn_vec((float)v[0], (float)v[1], (float)v[2]);
    pose->rotation = (firn_quat){(float)v[3], (float)v[4], (float)v[5], (float)v[6]};
    return true;
}

firn_collider_def firn_solid_noted(const firn_manifest_view *manifest, int frame, const char *node,
                                   const firn_collider_data *data)
{
    firn_collider_def def = firn_collider_at_end(data);
    if (manifest == NULL || data->body == NULL)
        return def;
    char name[256];
    bool piece = data->body->piece[0] != '\0';
    snprintf(name, sizeof name, piece ? "%.60s.%.60s" : "%.60s%.0s", node,
             piece ? data->body->piece : "");
    firn_body_pose_noted(manifest, frame, name, &def.pose);
    return def;
}

const firn_collider_data *firn_solid_next(const firn_collider_data *data)
{
    return data->body != NULL ? data->body->next : NULL;
}
