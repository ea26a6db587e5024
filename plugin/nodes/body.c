#include "nodes.h"

#include "body_mesh.h"
#include "shape_file.h"
#include "solid_settings.h"

#include "firn/abc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 4, PIECE_MAX = 256 };

typedef struct settings {
    firn_solid_settings solid; // its shape is found from kind
    int kind;                  // of shape, without the plane
    bool pieces;
    float release_frame;
    firn_body_def body;
} settings;

/// One body: of the node, or of a piece of its file.
typedef struct piece {
    char object[FIRN_TEXT_SIZE]; // path in the archive
    char name[64];
    firn_collider_data data;
    firn_body_data body;
    firn_moving_surface surface;
    firn_made_mesh mesh;
} piece;

typedef struct state {
    piece *pieces;
    size_t piece_count;
    firn_pose_key keys[SAMPLES + 1];
    settings scratch;
} state;

#define MOTION "translation rotation scale"

static const firn_node_rows rows[] = {
    {firn_solid_params, offsetof(settings, solid), "shape"},
    {firn_collider_params, offsetof(settings, solid.def), "shape friction active_from active_to"},
    {firn_body_params, offsetof(settings, body), "release"},
    FIRN_SOLID_ROWS,
};

// clang-format off
static const firn_param params[] = {
    {"shape", offsetof(settings, kind), FIRN_CHOICE, {1}, 0, 4, "",
     "What moves: a box, a sphere, a capsule along its Y axis, a mesh (.obj, .ply, .stl, .abc, "
     ".usd) or a level set (.vdb), which must be closed to have a weight",
     "box|sphere|capsule|mesh|level_set"},
    {"friction", offsetof(settings, solid.def.friction), FIRN_FLOAT, {0.05}, 0.0, 100.0, "",
     "Coulomb's coefficient: 0.03 to 0.1 for runners on snow, 0.5 for wood; between two bodies the "
     "geometric mean of both"},
    {FIRN_PARAM(settings, pieces), FIRN_BOOL, {0}, 0, 1, "",
     "Every mesh of the archive that object selects is a body of its own, called after the node "
     "and the mesh", .visible_when = "shape==mesh"},
    {FIRN_PARAM(settings, release_frame), FIRN_FLOAT, {0}, -1e6, 1e6, "",
     "Frame from which it moves on its own; until then it stands or follows its keys, and is let "
     "go with their velocity. 0: from the start"},
};
// clang-format on

static firn_solid_settings solid_of(const settings *s)
{
    firn_solid_settings solid = s->solid;
    solid.shape = s->kind + FIRN_SOLID_BOX;
    return solid;
}

static void reset(void *memory)
{
    settings *s = memory;
    firn_solid_reset(&s->solid);
    s->body = firn_body_def_default();
}

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    firn_solid_settings solid = solid_of(s);
    FIRN_TRY(firn_solid_check(&solid, error));
    if (solid.input.deforming || firn_path_has_frame(solid.input.file))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "file is '%s', which deforms: a body keeps its shape; use a collider for "
                         "what is animated point by point, or the file of one frame",
                         solid.input.file);
    if (s->pieces &&
        (solid.shape != FIRN_SOLID_MESH || !firn_path_ends_with(solid.input.file, ".abc")))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "pieces asks for several bodies, which only the meshes of an Alembic "
                         "archive (.abc) are; switch it off or use a node for each file");
    return FIRN_OK;
}

static bool file_of(const void *memory, const firn_param *param, int frame, char *path, size_t size)
{
    firn_solid_settings solid = solid_of(memory);
    return firn_solid_file(&solid, param, frame, path, size);
}

static void release(void *memory)
{
    state *own = memory;
    for (size_t i = 0; i < own->piece_count; i++) {
        firn_moving_surface_release(&own->pieces[i].surface);
        firn_body_mesh_free(&own->pieces[i].mesh);
    }
    firn_free(own->pieces);
}

// --- Pieces of a file ----------------------------------------------------------------------------

static firn_result claim_pieces(state *own, size_t count, firn_error *error)
{
    own->pieces = firn_alloc_zero((count + 1) * sizeof *own->pieces);
    if (own->pieces == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the bodies");
    own->piece_count = count;
    return FIRN_OK;
}

static bool is_piece(const firn_abc *archive, int object, const char *pattern)
{
    firn_abc_kind kind = firn_abc_object_at(archive, object)->kind;
    return (kind == FIRN_ABC_KIND_POLYMESH || kind == FIRN_ABC_KIND_SUBD) &&
           firn_abc_object_matches(archive, object, pattern);
}

// A mesh below a transform of its own is known by the name of that.
static const char *name_of(const firn_abc *archive, int object)
{
    const firn_abc_object *mesh = firn_abc_object_at(archive, object);
    const firn_abc_object *above = firn_abc_object_at(archive, mesh->parent);
    return above->kind == FIRN_ABC_KIND_XFORM && above->child_count == 1 ? above->name : mesh->name;
}

static bool has_name(const state *own, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(own->pieces[i].name, name) == 0)
            return true;
    return false;
}

static firn_result list_pieces(const firn_abc *archive, const firn_solid_settings *solid,
                               state *own, firn_error *error)
{
    size_t count = 0;
    for (int i = 0; i < firn_abc_object_count(archive); i++)
        count += is_piece(archive, i, solid->input.object);
    if (count == 0 || count > PIECE_MAX)
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "'%.300s' has %zu meshes that object '%.200s' selects; pieces needs 1 to "
                         "%d",
                         solid->input.file, count, solid->input.object, PIECE_MAX);
    FIRN_TRY(claim_pieces(own, count, error));
    size_t at = 0;
    for (int i = 0; i < firn_abc_object_count(archive); i++) {
        if (!is_piece(archive, i, solid->input.object))
            continue;
        piece *p = &own->pieces[at];
        const char *name = name_of(archive, i);
        snprintf(p->object, sizeof p->object, "%s", firn_abc_object_at(archive, i)->path);
        snprintf(p->name, sizeof p->name, "%.50s", name);
        if (has_name(own, at, p->name))
            snprintf(p->name, sizeof p->name, "%.50s_%zu", name, at + 1);
        at++;
    }
    return FIRN_OK;
}

static firn_result find_pieces(const firn_cook *cook, const firn_solid_settings *solid,
                               firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    if (own->pieces != NULL)
        return FIRN_OK;
    if (!s->pieces) {
        FIRN_TRY(claim_pieces(own, 1, error));
        memcpy(own->pieces[0].object, solid->input.object, sizeof own->pieces[0].object);
        return FIRN_OK;
    }
    firn_abc *archive = NULL;
    FIRN_TRY(firn_abc_open(solid->input.file, &archive, error));
    firn_result result = list_pieces(archive, solid, own, error);
    firn_abc_close(archive);
    return result;
}

// --- A body --------------------------------------------------------------------------------------

static firn_result copy_mesh(const firn_cook *cook, piece *p, firn_error *error)
{
    const firn_mesh *mesh = NULL;
    FIRN_TRY(firn_mesh_reader_mesh(p->surface.reader, cook->start_frame, &mesh, error));
    p->body.mesh = (firn_solid_mesh){.vertex_count = mesh->vertex_count,
                                     .position = mesh->position,
                                     .face_count = mesh->face_count,
                                     .face_size = mesh->face_size,
                                     .corner_count = mesh->corner_count,
                                     .corner = mesh->corner};
    return FIRN_OK;
}

static firn_result read_file(const firn_cook *cook, const firn_solid_settings *solid, piece *p,
                             firn_error *error)
{
    firn_surface_input wanted = solid->input;
    memcpy(wanted.object, p->object, sizeof wanted.object);
    bool is_level_set = solid->shape == FIRN_SOLID_LEVEL_SET;
    FIRN_TRY(firn_moving_surface_open(&p->surface, cook, &wanted, is_level_set, error));
    if (p->surface.deforms)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "'%.300s' moves or changes its shape, but a body keeps its shape and is "
                         "moved by keys of its node until release_frame; set time_speed to 0 to "
                         "take it as it is at the first frame, or use a collider",
                         solid->input.file);
    FIRN_TRY(firn_moving_surface_still(&p->surface, cook, &p->data.def.level_set, error));
    if (!is_level_set)
        return copy_mesh(cook, p, error);
    if (p->mesh.position == NULL)
        FIRN_TRY(firn_body_mesh_from(p->data.def.level_set, &p->mesh, error));
    p->body.mesh = p->mesh.view;
    return FIRN_OK;
}

// Until it is let go it follows keys.
static firn_result sample_motion(const firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    for (int i = 0; i <= SAMPLES; i++) {
        double frame = cook->frame - 1 + (double)i / SAMPLES;
        FIRN_TRY(firn_cook_evaluate(cook, frame, &own->scratch, error));
        firn_solid_settings solid = solid_of(&own->scratch);
        own->keys[i] = (firn_pose_key){frame, firn_solid_pose(&solid)};
    }
    return FIRN_OK;
}

static firn_result make_body(const firn_cook *cook, const firn_solid_settings *solid, piece *p,
                             firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    p->data = (firn_collider_data){.def = firn_solid_def(solid), .color = solid->color};
    p->body = (firn_body_data){.def = s->body, .piece = p->name};
    if (firn_solid_has_file(solid)) {
        FIRN_TRY(read_file(cook, solid, p, error));
    } else {
        firn_body_mesh_free(&p->mesh);
        FIRN_TRY(firn_body_mesh_make(&p->data.def, &p->mesh, error));
        p->body.mesh = p->mesh.view;
    }
    p->body.def.shape = p->data.def;
    p->body.def.release =
        s->release_frame > 0.0f ? ((double)s->release_frame - cook->start_frame) / cook->fps : -1e9;
    bool led = cook->frame - 1 < (double)s->release_frame;
    if (led && firn_cook_is_animated(cook, MOTION)) {
        FIRN_TRY(sample_motion(cook, error));
        p->data.keys = own->keys;
        p->data.key_count = SAMPLES + 1;
    }
    p->data.body = &p->body;
    return FIRN_OK;
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    const settings *s = cook->settings;
    state *own = cook->state;
    firn_solid_settings solid = solid_of(s);
    FIRN_TRY(find_pieces(cook, &solid, error));
    for (size_t i = 0; i < own->piece_count; i++) {
        FIRN_TRY(make_body(cook, &solid, &own->pieces[i], error));
        if (i > 0)
            own->pieces[i - 1].body.next = &own->pieces[i].data;
    }
    cook->output->collider = &own->pieces[0].data;
    return FIRN_OK;
}

const firn_node_type firn_node_body = {
    .size = sizeof(firn_node_type),
    .name = "body",
    .label = "Rigid body",
    .category = "Simulation",
    .help = "Something solid that snow moves: a shape, a mesh or a level set with a weight, which "
            "falls, slides, rolls and rests on others.",
    .version = 1,
    .params = params,
    .param_count = FIRN_COUNT(params),
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .animated = MOTION,
    .neutral = "sequence_look_ahead mesh_look_ahead color",
    .output = FIRN_KIND_COLLIDER,
    .time_dependent = true,
    .reset = reset,
    .check = check,
    .file = file_of,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
};
