/// The complete state of particles, time and emission as bytes: versioned, checked against the
/// simulation it is loaded into, and protected by a checksum.
#include "checkpoint.h"

#include "sim_state.h"

#include "firn/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHECKPOINT_VERSION = 6 };

static const char checkpoint_magic[8] = {'F', 'I', 'R', 'N', 'C', 'K', 'P', 'T'};

// What the columns of the particles hold follows from the models; zero for snow alone.
static uint64_t models_hash(const firn_sim *sim)
{
    uint64_t hash = 0;
    for (int i = 0; i < sim->materials.count; i++)
        if (sim->materials.model[i] != FIRN_MODEL_SNOW)
            hash ^= firn_hash64(&sim->materials.model[i], 1, (uint64_t)i);
    return hash;
}

firn_channel_list firn_checkpoint_channels(const firn_sim *sim)
{
    firn_channel_list list;
    list.count = (size_t)firn_channel_set_save(&sim->particles.channels, list.row);
    return list;
}

// Half of the bits are enough to tell strangers apart.
static uint32_t fold(uint64_t origin)
{
    uint32_t folded = (uint32_t)(origin ^ (origin >> 32));
    return origin != 0 && folded == 0 ? 1 : folded;
}

firn_checkpoint_header firn_checkpoint_begin(const firn_sim *sim, const firn_state_scalars *state)
{
    firn_checkpoint_header h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, checkpoint_magic, sizeof h.magic);
    h.version = CHECKPOINT_VERSION;
    h.header_size = sizeof h;
    memcpy(h.program, FIRN_VERSION, sizeof FIRN_VERSION);
    h.models = models_hash(sim);
    h.channel_count = (uint32_t)firn_checkpoint_channels(sim).count;
    h.cell_size = sim->def.cell_size;
    h.kernel = sim->def.kernel;
    h.transfer = sim->def.transfer;
    h.integrator = sim->def.integrator;
    h.origin = fold(sim->origin);
    h.material_count = sim->materials.count;
    h.source_count = sim->emission.source_count;
    h.body_count = sim->bodies.slot_count;
    h.state = *state;
    h.total_size =
        sizeof h + firn_channel_list_size(h.channel_count) + firn_state_arrays(sim, &h.state).bytes;
    return h;
}

static void write_body(const firn_sim *sim, firn_state_sink *sink, void *user)
{
    firn_transfer_recover(sim);
    firn_state_scalars scalars = firn_state_scalars_of(sim);
    firn_state_list list = firn_state_arrays(sim, &scalars);
    for (int i = 0; i < list.count; i++)
        firn_state_write(sim, &list.array[i], sink, user);
}

/// Where pieces go, and how many threads may help.
typedef struct destination {
    uint64_t hash;
    unsigned char *at;
    firn_file_writer *file;
    int thread_count;
} destination;

uint64_t firn_checkpoint_hash_group(const void *bytes, size_t size, uint64_t seed, int thread_count)
{
    uint64_t hashes[FIRN_HASH_CHUNKS];
    size_t count = (size + FIRN_HASH_CHUNK - 1) / FIRN_HASH_CHUNK;
#pragma omp parallel for schedule(static) num_threads(thread_count)
    for (size_t c = 0; c < count; c++) {
        size_t at = c * FIRN_HASH_CHUNK, rest = size - at;
        hashes[c] = firn_hash64((const char *)bytes + at,
                                rest < FIRN_HASH_CHUNK ? rest : FIRN_HASH_CHUNK, c);
    }
    return firn_hash64(hashes, count * sizeof *hashes, seed);
}

static uint64_t hash_piece(const void *bytes, size_t size, uint64_t seed, int thread_count)
{
    if (size <= FIRN_HASH_CHUNK)
        return firn_hash64(bytes, size, seed);
    uint64_t hash = seed;
    for (size_t at = 0; at < size; at += FIRN_HASH_GROUP) {
        size_t rest = size - at < FIRN_HASH_GROUP ? size - at : FIRN_HASH_GROUP;
        hash = firn_checkpoint_hash_group((const char *)bytes + at, rest, hash, thread_count);
    }
    return hash;
}

static void hash_sink(void *user, const void *bytes, size_t size)
{
    destination *d = user;
    d->hash = hash_piece(bytes, size, d->hash, d->thread_count);
}

static void file_sink(void *user, const void *bytes, size_t size)
{
    firn_file_write(((destination *)user)->file, bytes, size);
}

static void memory_sink(void *user, const void *bytes, size_t size)
{
    destination *d = user;
    firn_copy(d->at, bytes, size, d->thread_count);
    d->at += size;
}

uint64_t firn_sim_hash(const firn_sim *sim)
{
    uint64_t hash = firn_hash64(&sim->time, sizeof sim->time, (uint64_t)sim->substep);
    hash = firn_hash64(&sim->particles.next_id, sizeof sim->particles.next_id, hash);
    destination d = {.hash = hash, .thread_count = sim->thread_count};
    write_body(sim, hash_sink, &d);
    return d.hash;
}

static void write_channels(const firn_sim *sim, firn_state_sink *sink, void *user)
{
    firn_channel_list list = firn_checkpoint_channels(sim);
    sink(user, list.row, firn_channel_list_size(list.count));
}

static uint64_t header_checksum(firn_checkpoint_header h)
{
    h.checksum = 0;
    return firn_hash64(&h, sizeof h, 0);
}

uint64_t firn_checkpoint_seed(const firn_sim *sim, const firn_checkpoint_header *header)
{
    destination d = {.hash = header_checksum(*header), .thread_count = sim->thread_count};
    write_channels(sim, hash_sink, &d);
    return d.hash;
}

static firn_checkpoint_header make_checked_header(const firn_sim *sim)
{
    firn_state_scalars scalars = firn_state_scalars_of(sim);
    firn_checkpoint_header h = firn_checkpoint_begin(sim, &scalars);
    destination d = {.hash = firn_checkpoint_seed(sim, &h), .thread_count = sim->thread_count};
    write_body(sim, hash_sink, &d);
    h.checksum = d.hash;
    return h;
}

void firn_sim_set_origin(firn_sim *sim, uint64_t origin) { sim->origin = origin; }

firn_result firn_sim_save(const firn_sim *sim, const char *path, firn_error *error)
{
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    firn_checkpoint_header header = make_checked_header(sim);
    firn_file_write(file, &header, sizeof header);
    write_channels(sim, file_sink, &(destination){.file = file});
    write_body(sim, file_sink, &(destination){.file = file});
    return firn_file_commit(file, error);
}

firn_result firn_sim_save_memory(const firn_sim *sim, void **bytes, size_t *size, firn_error *error)
{
    firn_checkpoint_header header = make_checked_header(sim);
    *size = 0;
    *bytes = firn_alloc(header.total_size);
    if (*bytes == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory for a checkpoint of %.1f MB",
                         1e-6 * (double)header.total_size);
    destination d = {.at = *bytes, .thread_count = sim->thread_count};
    memory_sink(&d, &header, sizeof header);
    write_channels(sim, memory_sink, &d);
    write_body(sim, memory_sink, &d);
    *size = header.total_size;
    return FIRN_OK;
}

/// The bytes of a checkpoint, and what they are called in messages.
typedef struct source_bytes {
    const unsigned char *at;
    size_t size;
    const char *name;
} source_bytes;

// Counts that no simulation has would overflow the sizes that follow from them.
static bool sizes_are_sound(const firn_sim *sim, const firn_checkpoint_header *h, size_t size)
{
    const firn_state_scalars *s = &h->state;
    return s->count <= FIRN_PARTICLE_LIMIT && s->sorted_count <= s->count &&
           s->block_count <= s->sorted_count && s->touch_count <= FIRN_PARTICLE_LIMIT &&
           s->grain_count <= FIRN_PARTICLE_LIMIT && h->total_size == size &&
           h->total_size == sizeof *h + firn_channel_list_size(h->channel_count) +
                                firn_state_arrays(sim, s).bytes;
}

static firn_result check_header(const firn_sim *sim, const firn_checkpoint_header *h,
                                const char *name, firn_error *error)
{
    if (memcmp(h->magic, checkpoint_magic, sizeof h->magic) != 0)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is not a checkpoint of Firn", name);
    if (h->version != CHECKPOINT_VERSION || h->header_size != sizeof *h)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s was written by another version of Firn (format %u, this one reads "
                         "%d); resume with that version or start again",
                         name, h->version, CHECKPOINT_VERSION);
    if (sim->origin != 0 && h->origin != fold(sim->origin))
        return firn_fail(error, FIRN_ERR_STALE,
                         "%s is of another simulation than this one (made by %.16s, origin %08x, "
                         "here %08x); it is left alone",
                         name, h->program, h->origin, fold(sim->origin));
    if (h->cell_size != sim->def.cell_size || h->kernel != sim->def.kernel ||
        h->transfer != sim->def.transfer || h->integrator != sim->def.integrator)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s belongs to a simulation with other settings: cell size %g m, kernel "
                         "%d, transfer %d, integrator %d; here %g m, %d, %d, %d",
                         name, (double)h->cell_size, h->kernel, h->transfer, h->integrator,
                         (double)sim->def.cell_size, sim->def.kernel, sim->def.transfer,
                         sim->def.integrator);
    if (h->material_count != sim->materials.count || h->source_count != sim->emission.source_count)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s belongs to a simulation with %d materials and %d sources, this one "
                         "has %d and %d; add them before loading",
                         name, h->material_count, h->source_count, sim->materials.count,
                         sim->emission.source_count);
    if (h->body_count != sim->bodies.slot_count)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s belongs to a simulation with %d bodies, this one has %d; add them "
                         "before loading",
                         name, h->body_count, sim->bodies.slot_count);
    if (h->state.grain_count > 0 && firn_owners_shared(&sim->owners))
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "%s has %llu grains outside the grid, which belong to no rank; go on from "
                         "it on one rank",
                         name, (unsigned long long)h->state.grain_count);
    if (h->models != models_hash(sim))
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s was saved with materials of other models; resume the scene that "
                         "wrote it",
                         name);
    return FIRN_OK;
}

// What the particles carry must be what these carry, before sizes can mean anything.
static firn_result check_channels(const firn_sim *sim, const firn_checkpoint_header *h,
                                  const source_bytes *from, firn_error *error)
{
    size_t size = firn_channel_list_size(h->channel_count);
    if (h->channel_count > FIRN_ROW_LIMIT || from->size - sizeof *h < size)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is damaged: it names %u channels", from->name,
                         h->channel_count);
    firn_channel_list list = {.count = h->channel_count};
    memcpy(list.row, from->at + sizeof *h, size);
    return firn_channel_set_match(&sim->particles.channels, list.row, list.count, from->name,
                                  error);
}

static firn_result check_sizes(const firn_sim *sim, const firn_checkpoint_header *h, size_t size,
                               const char *name, firn_error *error)
{
    if (sizes_are_sound(sim, h, size))
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_FORMAT,
                     "%s is damaged: %zu bytes found, %llu expected for %llu particles", name, size,
                     (unsigned long long)h->total_size, (unsigned long long)h->state.count);
}

// Goes through the arrays as write_body has written them.
static uint64_t checksum_of(const firn_sim *sim, const firn_checkpoint_header *h,
                            const firn_state_list *list, const unsigned char *body)
{
    size_t channels = firn_channel_list_size(h->channel_count);
    uint64_t hash = hash_piece(body - channels, channels, header_checksum(*h), sim->thread_count);
    for (int k = 0; k < list->count; k++) {
        const firn_state_array *a = &list->array[k];
        const unsigned char *bytes = body + a->offset;
        if (a->pack == NULL)
            hash = hash_piece(bytes, firn_state_bytes(a), hash, sim->thread_count);
        for (size_t i = 0; a->pack != NULL && i < a->count; i++)
            hash = firn_hash64(bytes + i * a->element, a->element, hash);
    }
    return hash;
}

// A right checksum says that the bytes are as written; these say that they can be used.
static bool blocks_are_sound(const unsigned char *bytes, const firn_state_scalars *s)
{
    uint32_t last = 0;
    uint64_t last_key = 0;
    for (uint64_t b = 0; b < s->block_count; b++) {
        firn_saved_block block;
        memcpy(&block, bytes + b * sizeof block, sizeof block);
        firn_coord c = block.coord;
        int32_t limit = FIRN_COORD_LIMIT - 2;
        if (block.begin != last || block.end < last || block.end > s->sorted_count ||
            c.x <= -limit || c.x >= limit || c.y <= -limit || c.y >= limit || c.z <= -limit ||
            c.z >= limit || !(block.rest >= 0.0f))
            return false;
        uint64_t key = firn_block_key(c);
        if (b > 0 && key <= last_key)
            return false;
        last_key = key;
        last = block.end;
    }
    return last == s->sorted_count;
}

static bool materials_are_sound(const unsigned char *material, uint64_t count,
                                const firn_checkpoint_header *h)
{
    for (uint64_t p = 0; p < count; p++)
        if (material[p] >= h->material_count)
            return false;
    return true;
}

static bool grains_are_sound(const unsigned char *body, const firn_state_list *list,
                             const firn_checkpoint_header *h)
{
    uint64_t count = h->state.grain_count;
    if (!(h->state.promise >= 0.0 && h->state.promise < 1e6))
        return false;
    if (count == 0)
        return true;
    const unsigned char *keys = body + firn_state_find(list, "grain block")->offset;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key;
        memcpy(&key, keys + i * sizeof key, sizeof key);
        firn_coord c = firn_block_coord(key);
        int32_t limit = FIRN_COORD_LIMIT - 2;
        if (key >> 63 != 0 || c.x <= -limit || c.x >= limit || c.y <= -limit || c.y >= limit ||
            c.z <= -limit || c.z >= limit)
            return false;
    }
    return materials_are_sound(body + firn_state_find(list, "grain material")->offset, count, h);
}

// A source that was removed since cannot come back.
static firn_result check_sources(const firn_sim *sim, const unsigned char *bytes, const char *name,
                                 firn_error *error)
{
    const firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < sim->emission.source_count; i++) {
        firn_saved_source saved;
        memcpy(&saved, bytes + (size_t)i * sizeof saved, sizeof saved);
        if (saved.alive != 0 && !sources[i].alive)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s was saved before source %d was removed; add the source again, "
                             "in a new simulation",
                             name, i + 1);
    }
    return FIRN_OK;
}

static bool is_finite(const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (!(fabs(values[i]) <= 1e9))
            return false;
    return true;
}

// They are looked up by body.
static bool touches_are_sound(const unsigned char *bytes, const firn_state_scalars *s)
{
    int32_t last = 0;
    for (uint64_t i = 0; i < s->touch_count; i++) {
        firn_body_touch touch;
        memcpy(&touch, bytes + i * sizeof touch, sizeof touch);
        if (touch.body < last || !is_finite(touch.place, 3) || !(touch.force[0] < 1e30))
            return false;
        last = touch.body;
    }
    return true;
}

static firn_result check_bodies(const firn_sim *sim, const unsigned char *bytes, const char *name,
                                firn_error *error)
{
    for (int i = 0; i < sim->bodies.slot_count; i++) {
        const firn_body_motion *now = &firn_body_slot(&sim->bodies, i)->now;
        firn_body_motion saved;
        memcpy(&saved, bytes + (size_t)i * sizeof saved, sizeof saved);
        if (saved.alive != now->alive || saved.generation != now->generation)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s was saved with other bodies (number %d is another one); add them "
                             "as they were then",
                             name, i + 1);
        const double *q = saved.rotation;
        double length2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        if (!is_finite(saved.center, 3) || !is_finite(saved.velocity, 3) ||
            !is_finite(saved.spin, 3) || !(fabs(length2 - 1.0) < 1e-6) || !(saved.rest >= 0.0))
            return firn_fail(error, FIRN_ERR_FORMAT, "%s is damaged: body %d makes no sense", name,
                             i + 1);
    }
    return FIRN_OK;
}

static firn_result check_body(const firn_sim *sim, const firn_checkpoint_header *h,
                              const source_bytes *from, firn_error *error)
{
    const unsigned char *body = from->at + sizeof *h + firn_channel_list_size(h->channel_count);
    firn_state_list list = firn_state_arrays(sim, &h->state);
    if (checksum_of(sim, h, &list, body) != h->checksum)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s is damaged: its checksum does not match; use an earlier checkpoint",
                         from->name);
    if (!blocks_are_sound(body + firn_state_find(&list, "blocks")->offset, &h->state) ||
        !materials_are_sound(body + firn_state_find(&list, "material")->offset, h->state.count,
                             h) ||
        !grains_are_sound(body, &list, h) || !isfinite(h->state.time) || h->state.time < 0.0)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s is damaged: blocks, materials or time make no sense", from->name);
    FIRN_TRY(check_bodies(sim, body + firn_state_find(&list, "bodies")->offset, from->name, error));
    if (!touches_are_sound(body + firn_state_find(&list, "touches")->offset, &h->state))
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is damaged: contacts make no sense",
                         from->name);
    return check_sources(sim, body + firn_state_find(&list, "sources")->offset, from->name, error);
}

firn_result firn_checkpoint_check(const firn_sim *sim, const void *bytes, size_t size,
                                  const char *name, firn_checkpoint_header *header,
                                  firn_error *error)
{
    const source_bytes from = {bytes, size, name};
    if (size < sizeof *header)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is too short for a checkpoint: %zu bytes",
                         name, size);
    memcpy(header, bytes, sizeof *header);
    FIRN_TRY(check_header(sim, header, name, error));
    FIRN_TRY(check_channels(sim, header, &from, error));
    FIRN_TRY(check_sizes(sim, header, size, name, error));
    return check_body(sim, header, &from, error);
}

static firn_result load(firn_sim *sim, const source_bytes *from, firn_error *error)
{
    firn_checkpoint_header h;
    FIRN_TRY(firn_checkpoint_check(sim, from->at, from->size, from->name, &h, error));
    FIRN_TRY(firn_state_reserve(sim, &h.state, error));
    // From here on nothing can fail.
    firn_snapshot_void(sim);
    firn_state_list list = firn_state_arrays(sim, &h.state);
    const unsigned char *body = from->at + sizeof h + firn_channel_list_size(h.channel_count);
    for (int i = 0; i < list.count; i++)
        firn_state_read(sim, &list.array[i], body + list.array[i].offset);
    firn_state_put_scalars(sim, &h.state);
    firn_state_settle(sim);
    return FIRN_OK;
}

firn_result firn_sim_load_memory(firn_sim *sim, const void *bytes, size_t size, firn_error *error)
{
    return load(sim, &(source_bytes){bytes, size, "the checkpoint"}, error);
}

firn_result firn_sim_load(firn_sim *sim, const char *path, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_file_read(path, SIZE_MAX, &bytes, &size, error));
    firn_result result = load(sim, &(source_bytes){bytes, size, path}, error);
    firn_free(bytes);
    return result;
}

firn_result firn_checkpoint_look(const char *path, firn_checkpoint_info *info, firn_error *error)
{
    firn_checkpoint_header h;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return firn_fail_errno(error, errno, "open", path);
    bool fits = fread(&h, sizeof h, 1, file) == 1 && fseek(file, 0, SEEK_END) == 0;
    size_t size = fits ? (size_t)ftell(file) : 0;
    fclose(file);
    if (!fits || memcmp(h.magic, checkpoint_magic, sizeof h.magic) != 0)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is not a checkpoint of Firn", path);
    if (h.version != CHECKPOINT_VERSION || h.header_size != sizeof h)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s was written by another version of Firn (format %u, this one reads %d)",
                         path, h.version, CHECKPOINT_VERSION);
    if (h.total_size != size)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is damaged: %zu bytes found, %llu expected",
                         path, size, (unsigned long long)h.total_size);
    *info = (firn_checkpoint_info){.format = (int)h.version,
                                   .time = h.state.time,
                                   .substep = h.state.substep,
                                   .particles = h.state.count + h.state.grain_count,
                                   .blocks = h.state.block_count,
                                   .bytes = size,
                                   .checksum = h.checksum,
                                   .cell_size = h.cell_size,
                                   .kernel = h.kernel,
                                   .transfer = h.transfer,
                                   .integrator = h.integrator,
                                   .material_count = h.material_count,
                                   .source_count = h.source_count};
    memcpy(info->program, h.program, sizeof info->program - 1);
    return FIRN_OK;
}
