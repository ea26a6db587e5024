#include "nodes.h"

#include "output_file.h"

#include "firn/abc_write.h"
#include "firn/file.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 256, LIST_LIMIT = 1 << 24 };

typedef struct settings {
    firn_output output;
} settings;

typedef struct state {
    firn_abc_writer *writer;
    firn_abc_node *xforms, *meshes; // of each body
    char *names;                    // of the bodies, a line for each
    size_t body_count;
    uint32_t written; // frames, of this run or an earlier one
    firn_stat stats[1];
} state;

static const firn_node_rows rows[] = {{firn_output_params, offsetof(settings, output)}};

static firn_result check(const void *memory, firn_error *error)
{
    const settings *s = memory;
    return firn_output_check(&s->output, error);
}

static void close_archive(state *own)
{
    firn_abc_writer_destroy(own->writer);
    firn_free(own->xforms);
    firn_free(own->meshes);
    firn_free(own->names);
    own->writer = NULL;
    own->xforms = own->meshes = NULL;
    own->names = NULL;
    own->body_count = 0;
    own->written = 0;
}

static void release(void *memory) { close_archive(memory); }

// --- Which bodies: a file beside the unfinished archive tells a later run
// -------------------------

static firn_result list_path(const char *path, char list[FIRN_PATH_SIZE], firn_error *error)
{
    int length = snprintf(list, FIRN_PATH_SIZE, "%s.bodies.partial", path);
    return length > 0 && length < FIRN_PATH_SIZE
               ? FIRN_OK
               : firn_fail(error, FIRN_ERR_ARGUMENT, "the name '%.200s' is too long", path);
}

// A dot would end the names that some DCCs make of it.
static void name_body(const firn_body_pose *body, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%s", body->name);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '.' || *c == '\n' ? '_' : *c;
}

static firn_result list_bodies(state *own, const firn_particle_data *from, firn_error *error)
{
    own->names = firn_alloc_zero(from->body_count * (NAME_SIZE + 1) + 1);
    if (own->names == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the bodies");
    char *at = own->names;
    for (size_t i = 0; i < from->body_count; i++) {
        char name[NAME_SIZE];
        name_body(&from->bodies[i], name);
        at += snprintf(at, NAME_SIZE + 1, "%s\n", name);
    }
    return FIRN_OK;
}

static firn_result save_list(const state *own, const char *path, firn_error *error)
{
    char list[FIRN_PATH_SIZE];
    firn_file_writer *file = NULL;
    FIRN_TRY(list_path(path, list, error));
    FIRN_TRY(firn_file_create(list, &file, error));
    firn_file_write(file, own->names, strlen(own->names));
    return firn_file_commit(file, error);
}

// The bodies of an archive that an earlier run began; none when there is no such list.
static firn_result read_list(state *own, const char *path, firn_error *error)
{
    char list[FIRN_PATH_SIZE];
    void *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(list_path(path, list, error));
    if (firn_file_read(list, LIST_LIMIT, &bytes, &size, NULL) != FIRN_OK)
        return FIRN_OK;
    own->names = size > 0 ? firn_alloc_zero(size + 1) : NULL;
    if (own->names != NULL)
        memcpy(own->names, bytes, size);
    firn_free(bytes);
    return own->names != NULL || size == 0
               ? FIRN_OK
               : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the bodies");
}

static void forget_list(const char *path)
{
    char list[FIRN_PATH_SIZE];
    if (list_path(path, list, NULL) == FIRN_OK)
        remove(list);
}

// --- The archive: a transform for each body, its mesh below --------------------------------------

static firn_result declare_body(state *own, const char *name, size_t i, firn_abc_clock clock,
                                firn_error *error)
{
    firn_abc_xform_def xform = firn_abc_xform_def_default();
    xform.clock = clock;
    FIRN_TRY(firn_abc_writer_add_xform(own->writer, FIRN_ABC_ROOT, name, &xform, &own->xforms[i],
                                       error));
    firn_abc_mesh_def mesh = firn_abc_mesh_def_default();
    char shape[NAME_SIZE + 8];
    snprintf(shape, sizeof shape, "%sShape", name);
    return firn_abc_writer_add_mesh(own->writer, own->xforms[i], shape, &mesh, &own->meshes[i],
                                    error);
}

// Archives wind their faces clockwise.
static firn_result put_mesh(const state *own, const firn_solid_mesh *mesh, size_t i,
                            firn_error *error)
{
    int32_t *indices = firn_alloc((mesh->corner_count + 1) * sizeof *indices);
    if (indices == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot write a body");
    size_t first = 0;
    for (size_t f = 0; f < mesh->face_count; f++) {
        size_t size = (size_t)mesh->face_size[f];
        for (size_t k = 0; k < size; k++)
            indices[first + k] = mesh->corner[first + size - 1 - k];
        first += size;
    }
    firn_abc_mesh_data data = {.point_count = mesh->vertex_count,
                               .face_count = mesh->face_count,
                               .corner_count = mesh->corner_count,
                               .positions = mesh->position,
                               .face_counts = mesh->face_size,
                               .face_indices = indices};
    firn_result result = firn_abc_writer_put_mesh(own->writer, own->meshes[i], &data, error);
    firn_free(indices);
    return result;
}

static firn_result declare_bodies(state *own, firn_abc_clock clock, firn_error *error)
{
    const char *line = own->names;
    for (size_t i = 0; i < own->body_count; i++, line = strchr(line, '\n') + 1) {
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, "\n"), line);
        FIRN_TRY(declare_body(own, name, i, clock, error));
    }
    return FIRN_OK;
}

// Opens the archive of the bodies that are listed.
static firn_result declare(const firn_cook *cook, const char *path, firn_error *error)
{
    state *own = cook->state;
    firn_abc_writer_def def = firn_abc_writer_def_default();
    def.resumable = true;
    def.fps = cook->fps;
    def.description = cook->version;
    own->body_count = 0;
    for (const char *c = own->names; *c != '\0'; c++)
        own->body_count += *c == '\n';
    FIRN_TRY(firn_abc_writer_create(path, &def, &own->writer, error));
    own->xforms = firn_alloc_zero((own->body_count + 1) * sizeof *own->xforms);
    own->meshes = firn_alloc_zero((own->body_count + 1) * sizeof *own->meshes);
    if (own->xforms == NULL || own->meshes == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot list the bodies");
    firn_abc_clock clock;
    FIRN_TRY(firn_abc_writer_add_clock(own->writer, cook->bake_first / cook->fps,
                                       cook->bake_step / cook->fps, &clock, error));
    FIRN_TRY(declare_bodies(own, clock, error));
    return firn_abc_writer_begin(own->writer, &own->written, error);
}

// Row by row, for points that are rows.
static void matrix_of(const firn_body_state *s, double m[16])
{
    const double *q = s->rotation, x = q[0], y = q[1], z = q[2], w = q[3];
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                         2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                         2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
    memset(m, 0, 16 * sizeof *m);
    for (int i = 0; i < 9; i++)
        m[4 * (i / 3) + i % 3] = s->scale * r[i];
    memcpy(m + 12, s->translation, sizeof s->translation);
    m[15] = 1.0;
}

static firn_result put_frame(state *own, const firn_particle_data *from, firn_error *error)
{
    for (size_t i = 0; own->written == 0 && i < own->body_count; i++)
        FIRN_TRY(put_mesh(own, &from->bodies[i].collider->body->mesh, i, error));
    for (size_t i = 0; i < own->body_count; i++) {
        double m[16];
        matrix_of(&from->bodies[i].state, m);
        FIRN_TRY(firn_abc_writer_put_xform(own->writer, own->xforms[i], m, true, error));
    }
    own->written++;
    return firn_abc_writer_end_frame(own->writer, error);
}

// --- Cooking -------------------------------------------------------------------------------------

static bool writes(const void *memory, size_t index, firn_node_output *file)
{
    const settings *s = memory;
    *file = (firn_node_output){s->output.name, "abc", false};
    return index == 0;
}

static firn_result path_of(const firn_cook *cook, char *path, firn_error *error)
{
    const settings *s = cook->settings;
    return firn_cook_output_path(cook, s->output.name, "abc", false, path, error);
}

static firn_result cook(firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    const firn_particle_data *from = firn_cook_input(cook, "particles", 0)->particles;
    if (from->body_count == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the particles come with no bodies: link the solver itself, and link body "
                         "nodes to its colliders");
    own->stats[0] = (firn_stat){"bodies", (double)from->body_count};
    cook->output->stats = own->stats;
    cook->output->stat_count = FIRN_COUNT(own->stats);
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(path_of(cook, path, error));
    if (own->writer == NULL) {
        FIRN_TRY(list_bodies(own, from, error));
        FIRN_TRY(save_list(own, path, error));
        FIRN_TRY(declare(cook, path, error));
    }
    uint32_t index = (uint32_t)((cook->frame - cook->bake_first) / cook->bake_step);
    if (index < own->written)
        return FIRN_OK; // an earlier run wrote the same
    if (index != own->written || from->body_count != own->body_count)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the archive has %u frames; frame %d cannot follow", own->written,
                         cook->frame);
    return put_frame(own, from, error);
}

// Which bodies there are is known when the first frame comes, or from an earlier run.
static firn_result begin(firn_cook *cook, int *frames, firn_error *error)
{
    state *own = cook->state;
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(path_of(cook, path, error));
    if (own->writer == NULL && cook->resume)
        FIRN_TRY(read_list(own, path, error));
    if (own->writer == NULL && own->names != NULL) {
        FIRN_TRY(declare(cook, path, error));
    } else if (own->writer == NULL) {
        forget_list(path);
        FIRN_TRY(firn_abc_writer_forget(path, error));
    }
    *frames = (int)own->written;
    return FIRN_OK;
}

static firn_result finish(firn_cook *cook, firn_error *error)
{
    state *own = cook->state;
    if (own->writer == NULL)
        return FIRN_OK;
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(path_of(cook, path, error));
    firn_result result = firn_abc_writer_finish(own->writer, error);
    own->writer = NULL;
    close_archive(own);
    if (result != FIRN_OK)
        return result;
    forget_list(path);
    return firn_cook_wrote(cook, path, error);
}

static const firn_node_input inputs[] = {
    {"particles", FIRN_KIND_PARTICLES, false, true, "The solver that moves the bodies"},
};

const firn_node_type firn_node_write_bodies = {
    .size = sizeof(firn_node_type),
    .name = "write_bodies",
    .label = "Write bodies",
    .category = "Files",
    .help = "Writes the motion of bodies as an Alembic archive: a transform for each, its mesh "
            "below. It appears when the last frame is done.",
    .version = 1,
    .rows = rows,
    .row_count = FIRN_COUNT(rows),
    .settings_size = sizeof(settings),
    .inputs = inputs,
    .input_count = FIRN_COUNT(inputs),
    .output = FIRN_KIND_NONE,
    .time_dependent = true,
    .check = check,
    .state_size = sizeof(state),
    .cook = cook,
    .release = release,
    .begin = begin,
    .finish = finish,
    .writes = writes,
};
