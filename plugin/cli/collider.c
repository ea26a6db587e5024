/// `firn collider`: a collider of a scene as level sets on disk.
#include "output.h"
#include "shot.h"

#include "firn/vdb_write.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COLLIDER_MAX = 64 }; // that are considered for a suggestion

typedef struct request {
    firn_shot_words shot;
    const char *output, *overwrite;
} request;

#define ROW(field) offsetof(request, field)

static const firn_option options[] = {
    {"-o", "FILE.vdb", "where to; NODE.vdb or NODE.$F4.vdb by itself", ROW(output)},
    {"--overwrite", NULL, "replaces files that are there", ROW(overwrite)},
};

typedef struct baking {
    firn_graph *graph;
    const char *node;
    char pattern[FIRN_PATH_SIZE];
    bool given;     // by the user
    bool overwrite; // files that are there
} baking;

static void print_warning(firn_level level, const char *node, const char *message, void *user)
{
    (void)user;
    if (level != FIRN_LEVEL_INFO)
        fprintf(stderr, "warning: %s: %s\n", node, message);
}

static firn_result look(baking *b, int frame, const firn_collider_data **data, firn_error *error)
{
    const firn_data *cooked = NULL;
    FIRN_TRY(firn_graph_cook(b->graph, b->node, frame, &cooked, error));
    *data = cooked->collider;
    if ((*data)->def.level_set == NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s is made of numbers; only meshes and level sets can be baked", b->node);
    return FIRN_OK;
}

// Full floats: the snow that meets the files is that which meets the mesh, bit for bit.
static firn_result write_surface(const baking *b, int frame, const firn_surface_key *key,
                                 firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(firn_path_of_frame(b->pattern, frame, path, sizeof path, error));
    const firn_vdb_meta meta[] = {{"firn_version", "string", "firn " FIRN_VERSION},
                                  {"firn_units", "string", FIRN_UNITS}};
    firn_vdb_content content = {.surface = key->level_set,
                                .velocity = key->velocity,
                                .meta_count = FIRN_COUNT(meta),
                                .meta = meta};
    firn_vdb_write_def def = firn_vdb_write_def_default();
    def.half = false;
    def.frame = frame;
    def.fps = firn_graph_shot(b->graph)->fps;
    FIRN_TRY(firn_vdb_write(path, &def, &content, NULL, error));
    printf("%s\n", path);
    return FIRN_OK;
}

static firn_result choose_pattern(baking *b, bool deforms, firn_error *error)
{
    bool numbered = firn_path_has_frame(b->pattern);
    if (b->given && deforms && !numbered)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s deforms, so each frame needs a file of its own: -o '%s.$F4.vdb'",
                         b->node, b->node);
    if (b->given && !deforms && numbered)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s keeps its shape, which one file holds: -o %s.vdb; the keys of the "
                         "node move it",
                         b->node, b->node);
    if (!b->given)
        snprintf(b->pattern, sizeof b->pattern, "%s%s.vdb", b->node, deforms ? ".$F4" : "");
    return FIRN_OK;
}

// Files that are there may be what somebody, or this very shot, reads.
static firn_result check_files(const baking *b, const firn_bake_def *frames, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(
        firn_output_check_frames(b->pattern, frames->first, frames->last, frames->step, error));
    for (int frame = frames->first; !b->overwrite && frame <= frames->last; frame += frames->step) {
        FIRN_TRY(firn_path_of_frame(b->pattern, frame, path, sizeof path, error));
        if (access(path, F_OK) == 0)
            return firn_fail(error, FIRN_ERR_EXISTS,
                             "'%.700s' is there already; --overwrite replaces it", path);
    }
    return FIRN_OK;
}

static firn_result bake(baking *b, const firn_bake_def *frames, firn_error *error)
{
    const firn_collider_data *data = NULL;
    FIRN_TRY(look(b, frames->first, &data, error));
    FIRN_TRY(choose_pattern(b, data->deforms, error));
    FIRN_TRY(check_files(b, frames, error));
    if (!data->deforms) {
        const firn_surface_key still = {.level_set = data->def.level_set};
        return write_surface(b, frames->first, &still, error);
    }
    for (int frame = frames->first; frame <= frames->last; frame += frames->step) {
        FIRN_TRY(look(b, frame, &data, error));
        FIRN_TRY(write_surface(b, frame, &data->surface[1], error));
    }
    return FIRN_OK;
}

// Names the colliders that there are.
static int refuse_node(const firn_graph *graph, const char *node)
{
    const char *known[COLLIDER_MAX];
    size_t count = 0;
    char hint[128];
    for (size_t i = 0; firn_graph_node(graph, i) != NULL && count < COLLIDER_MAX; i++) {
        const char *name = firn_graph_node(graph, i);
        if (firn_graph_node_type(graph, name)->output == FIRN_KIND_COLLIDER)
            known[count++] = name;
    }
    return firn_usage("collider", "the scene has no collider '%s'%s", node,
                      firn_suggest(known, count, node, hint, sizeof hint));
}

static int run(const void *memory, const firn_words *words)
{
    const request *own = memory;
    baking b = {
        .node = words->words[1], .given = own->output != NULL, .overwrite = own->overwrite != NULL};
    int code = firn_shot_load("collider", words->words[0], &own->shot, &b.graph, NULL);
    if (code != FIRN_EXIT_OK)
        return code;
    snprintf(b.pattern, sizeof b.pattern, "%s", b.given ? own->output : "");
    const firn_node_info *type = firn_graph_node_type(b.graph, b.node);
    if (type == NULL || type->output != FIRN_KIND_COLLIDER) {
        code = refuse_node(b.graph, b.node);
        firn_graph_destroy(b.graph);
        return code;
    }
    const firn_host host = {.log = print_warning};
    firn_graph_set_host(b.graph, &host);
    firn_bake_def frames;
    firn_shot_frames(own->shot.frames, b.graph, &frames);
    firn_error error;
    code = firn_exit_of(bake(&b, &frames, &error), &error);
    firn_graph_destroy(b.graph);
    return code;
}

const firn_command firn_command_collider = {
    .name = "collider",
    .summary = "bakes a collider of a shot into level sets (.vdb)",
    .usage = "SHOT.firn NODE [-o FILE.vdb] [OPTIONS]",
    .about = "Writes what the solver sees of a mesh: its signed distance and, where it deforms,\n"
             "its velocity, a file for each frame (-o 'walk.$F4.vdb'). A mesh that keeps its\n"
             "shape is one file in its own space; the keys of the node go on moving it. Cooks\n"
             "that read the files need not voxelize the mesh, and leave the same snow.",
    .example = "  firn collider walking_character.firn character -o 'walker.$F4.vdb'\n"
               "  firn cook walking_character.firn --set character.shape=level_set \\\n"
               "      --set 'character.file=walker.$F4.vdb'",
    .own = {options, FIRN_COUNT(options)},
    .shared = {firn_shot_rows, FIRN_SHOT_ROW_COUNT},
    .request_size = sizeof(request),
    .least = 2,
    .most = 2,
    .run = run,
};
