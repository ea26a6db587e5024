/// The complete state of particles, time and emission as bytes: versioned, checked against the
/// simulation it is loaded into, and protected by a checksum.
#include "sim_state.h"

#include "firn/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CHECKPOINT_VERSION = 4,
    CHUNK = 1 << 18, // bytes that a thread takes at a time
    CHUNKS = 64,     // that are hashed at a time
};

/// Of a header's flags.
enum { VOLUMES_MISSING = 1, DISTURBED = 2 };

static const char checkpoint_magic[8] = {'F', 'I', 'R', 'N', 'C', 'K', 'P', 'T'};

/// The first bytes; all numbers little-endian as on every machine Firn is built for.
typedef struct checkpoint_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint64_t total_size;    // bytes of the whole checkpoint
    uint64_t checksum;      // of everything else
    uint32_t channel_count; // firn_saved_channel of each follow the header
    uint32_t unused;
    char program[16]; // version of Firn
    // What the simulation must share.
    float cell_size;
    int32_t kernel, transfer, integrator;
    int32_t material_count, source_count;
    // What is restored.
    uint64_t count, sorted_count, block_count;
    int64_t substep;
    double time;
    uint32_t next_id;
    uint32_t flags; // VOLUMES_MISSING, DISTURBED
    uint64_t acting_colliders;
} checkpoint_header;

/// Where a block's particles are; the rest of firn_block follows from a sort.
typedef struct saved_block {
    firn_coord coord;
    uint32_t begin, end;
    float rest;
} saved_block;

/// How far a source has come.
typedef struct saved_source {
    double begun, emitted;
    double shift[3];
    int32_t started, alive;
} saved_source;

/// The channels of the particles, as they stand behind the header.
typedef struct channel_list {
    firn_saved_channel row[FIRN_ROW_LIMIT];
    size_t count;
} channel_list;

static channel_list list_channels(const firn_sim *sim)
{
    channel_list list;
    list.count = (size_t)firn_channel_set_save(&sim->particles.channels, list.row);
    return list;
}

static size_t list_size(const channel_list *list) { return list->count * sizeof *list->row; }

static uint64_t body_size(const checkpoint_header *h, int column_count)
{
    return h->channel_count * (uint64_t)sizeof(firn_saved_channel) +
           h->count * ((uint64_t)column_count * 4 + 1) + (h->count - h->sorted_count) * 8 +
           h->block_count * sizeof(saved_block) + (uint64_t)h->source_count * sizeof(saved_source);
}

static checkpoint_header make_header(const firn_sim *sim)
{
    checkpoint_header h;
    memset(&h, 0, sizeof h);
    memcpy(h.magic, checkpoint_magic, sizeof h.magic);
    h.version = CHECKPOINT_VERSION;
    h.header_size = sizeof h;
    memcpy(h.program, FIRN_VERSION, sizeof FIRN_VERSION);
    h.channel_count = (uint32_t)list_channels(sim).count;
    h.cell_size = sim->def.cell_size;
    h.kernel = sim->def.kernel;
    h.transfer = sim->def.transfer;
    h.integrator = sim->def.integrator;
    h.material_count = sim->materials.count;
    h.source_count = sim->emission.source_count;
    h.count = sim->particles.count;
    h.sorted_count = sim->order.sorted_count;
    h.block_count = sim->grid.block_count;
    h.substep = sim->substep;
    h.time = sim->time;
    h.next_id = sim->particles.next_id;
    h.flags =
        (sim->volumes_missing ? VOLUMES_MISSING : 0u) | (sim->rest.disturbed ? DISTURBED : 0u);
    h.acting_colliders = sim->rest.acting_colliders;
    h.total_size = sizeof h + body_size(&h, sim->particles.channel_count);
    return h;
}

/// Receives the pieces of the state one after the other.
typedef void piece_sink(void *user, const void *bytes, size_t size);

static void write_body(const firn_sim *sim, piece_sink *sink, void *user)
{
    firn_transfer_recover(sim);
    const firn_particles *p = &sim->particles;
    for (int c = 0; c < p->channel_count; c++)
        sink(user, firn_channel_of(p, c), p->count * sizeof(float));
    sink(user, p->material.data, p->count);
    sink(user, sim->emission.new_keys.data,
         (p->count - sim->order.sorted_count) * sizeof(uint64_t));
    const firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (size_t b = 0; b < sim->grid.block_count; b++) {
        saved_block saved = {blocks[b].coord, blocks[b].begin, blocks[b].end, blocks[b].rest};
        sink(user, &saved, sizeof saved);
    }
    const firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < sim->emission.source_count; i++) {
        saved_source saved;
        memset(&saved, 0, sizeof saved);
        saved.begun = sources[i].begun;
        saved.emitted = sources[i].emitted;
        memcpy(saved.shift, sources[i].shift, sizeof saved.shift);
        saved.started = sources[i].started;
        saved.alive = sources[i].alive;
        sink(user, &saved, sizeof saved);
    }
}

/// Where pieces go, and how many threads may help.
typedef struct destination {
    uint64_t hash;
    unsigned char *at;
    firn_file_writer *file;
    int thread_count;
} destination;

// Large pieces are hashed in chunks, and the hashes of these in turn.
static uint64_t hash_piece(const void *bytes, size_t size, uint64_t seed, int thread_count)
{
    if (size <= CHUNK)
        return firn_hash64(bytes, size, seed);
    uint64_t hash = seed;
    for (size_t begin = 0; begin < size; begin += (size_t)CHUNK * CHUNKS) {
        uint64_t hashes[CHUNKS];
        size_t count = (size - begin + CHUNK - 1) / CHUNK;
        count = count < CHUNKS ? count : CHUNKS;
#pragma omp parallel for schedule(static) num_threads(thread_count)
        for (size_t c = 0; c < count; c++) {
            size_t at = begin + c * CHUNK, rest = size - at;
            hashes[c] = firn_hash64((const char *)bytes + at, rest < CHUNK ? rest : CHUNK, c);
        }
        hash = firn_hash64(hashes, count * sizeof *hashes, hash);
    }
    return hash;
}

static void copy_piece(void *to, const void *from, size_t size, int thread_count)
{
    size_t count = (size + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(count > 1 ? thread_count : 1)
    for (size_t c = 0; c < count; c++) {
        size_t at = c * CHUNK, rest = size - at;
        memcpy((char *)to + at, (const char *)from + at, rest < CHUNK ? rest : CHUNK);
    }
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
    copy_piece(d->at, bytes, size, d->thread_count);
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

static uint64_t header_checksum(checkpoint_header h)
{
    h.checksum = 0;
    return firn_hash64(&h, sizeof h, 0);
}

static checkpoint_header make_checked_header(const firn_sim *sim)
{
    checkpoint_header h = make_header(sim);
    destination d = {.hash = header_checksum(h), .thread_count = sim->thread_count};
    channel_list list = list_channels(sim);
    hash_sink(&d, list.row, list_size(&list));
    write_body(sim, hash_sink, &d);
    h.checksum = d.hash;
    return h;
}

firn_result firn_sim_save(const firn_sim *sim, const char *path, firn_error *error)
{
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    checkpoint_header header = make_checked_header(sim);
    channel_list list = list_channels(sim);
    firn_file_write(file, &header, sizeof header);
    firn_file_write(file, list.row, list_size(&list));
    write_body(sim, file_sink, &(destination){.file = file});
    return firn_file_commit(file, error);
}

firn_result firn_sim_save_memory(const firn_sim *sim, void **bytes, size_t *size, firn_error *error)
{
    checkpoint_header header = make_checked_header(sim);
    *size = 0;
    *bytes = firn_alloc(header.total_size);
    if (*bytes == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory for a checkpoint of %.1f MB",
                         1e-6 * (double)header.total_size);
    destination d = {.at = *bytes, .thread_count = sim->thread_count};
    channel_list list = list_channels(sim);
    memory_sink(&d, &header, sizeof header);
    memory_sink(&d, list.row, list_size(&list));
    write_body(sim, memory_sink, &d);
    *size = header.total_size;
    return FIRN_OK;
}

/// Bytes of a checkpoint that are still to be read; the checksum runs along as it was written.
typedef struct cursor {
    const unsigned char *at, *end;
    const char *name;
} cursor;

static const void *take(cursor *c, size_t size)
{
    if ((size_t)(c->end - c->at) < size)
        return NULL;
    const void *here = c->at;
    c->at += size;
    return here;
}

static firn_result check_header(const firn_sim *sim, const checkpoint_header *h, const char *name,
                                firn_error *error)
{
    if (memcmp(h->magic, checkpoint_magic, sizeof h->magic) != 0)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is not a checkpoint of Firn", name);
    if (h->version != CHECKPOINT_VERSION || h->header_size != sizeof *h)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s was written by another version of Firn (format %u, this one reads "
                         "%d); resume with that version or start again",
                         name, h->version, CHECKPOINT_VERSION);
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
    return FIRN_OK;
}

static firn_result check_sizes(const firn_sim *sim, const checkpoint_header *h, size_t size,
                               const char *name, firn_error *error)
{
    bool sizes = h->count <= FIRN_PARTICLE_LIMIT && h->sorted_count <= h->count &&
                 h->block_count <= h->sorted_count && h->total_size == size &&
                 h->total_size == sizeof *h + body_size(h, sim->particles.channel_count);
    if (!sizes)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s is damaged: %zu bytes found, %llu expected for %llu particles", name,
                         size, (unsigned long long)h->total_size, (unsigned long long)h->count);
    return FIRN_OK;
}

// Goes through the pieces as write_body has written them.
static uint64_t checksum_of(const firn_sim *sim, const checkpoint_header *h, cursor c)
{
    int threads = sim->thread_count;
    size_t list = h->channel_count * sizeof(firn_saved_channel);
    uint64_t hash = hash_piece(take(&c, list), list, header_checksum(*h), threads);
    for (int i = 0; i < sim->particles.channel_count; i++)
        hash = hash_piece(take(&c, h->count * 4), h->count * 4, hash, threads);
    hash = hash_piece(take(&c, h->count), h->count, hash, threads);
    size_t keys = (h->count - h->sorted_count) * 8;
    hash = hash_piece(take(&c, keys), keys, hash, threads);
    for (uint64_t b = 0; b < h->block_count; b++)
        hash = firn_hash64(take(&c, sizeof(saved_block)), sizeof(saved_block), hash);
    for (int i = 0; i < h->source_count; i++)
        hash = firn_hash64(take(&c, sizeof(saved_source)), sizeof(saved_source), hash);
    return hash;
}

// A right checksum says that the bytes are as written; these say that they can be used.
static bool blocks_are_sound(const saved_block *blocks, const checkpoint_header *h)
{
    uint32_t last = 0;
    uint64_t last_key = 0;
    for (uint64_t b = 0; b < h->block_count; b++) {
        firn_coord c = blocks[b].coord;
        int32_t limit = FIRN_COORD_LIMIT - 2;
        if (blocks[b].begin != last || blocks[b].end < last || blocks[b].end > h->sorted_count ||
            c.x <= -limit || c.x >= limit || c.y <= -limit || c.y >= limit || c.z <= -limit ||
            c.z >= limit || !(blocks[b].rest >= 0.0f))
            return false;
        uint64_t key = firn_block_key(c);
        if (b > 0 && key <= last_key)
            return false;
        last_key = key;
        last = blocks[b].end;
    }
    return last == h->sorted_count;
}

static bool materials_are_sound(const uint8_t *material, const checkpoint_header *h)
{
    for (uint64_t p = 0; p < h->count; p++)
        if (material[p] >= h->material_count)
            return false;
    return true;
}

// A source that was removed since cannot come back.
static firn_result check_sources(const firn_sim *sim, const checkpoint_header *h, cursor c,
                                 firn_error *error)
{
    c.at = c.end - (size_t)h->source_count * sizeof(saved_source);
    const firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < h->source_count; i++) {
        saved_source saved;
        memcpy(&saved, take(&c, sizeof saved), sizeof saved);
        if (saved.alive != 0 && !sources[i].alive)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s was saved before source %d was removed; add the source again, "
                             "in a new simulation",
                             c.name, i + 1);
    }
    return FIRN_OK;
}

static void restore(firn_sim *sim, const checkpoint_header *h, cursor c)
{
    (void)take(&c, h->channel_count * sizeof(firn_saved_channel));
    firn_particles *p = &sim->particles;
    for (int i = 0; i < p->channel_count; i++)
        copy_piece(firn_channel_of(p, i), take(&c, h->count * 4), h->count * 4, sim->thread_count);
    copy_piece(p->material.data, take(&c, h->count), h->count, sim->thread_count);
    size_t keys = (h->count - h->sorted_count) * 8;
    copy_piece(sim->emission.new_keys.data, take(&c, keys), keys, sim->thread_count);
    firn_block *blocks = firn_grid_blocks(&sim->grid);
    for (uint64_t b = 0; b < h->block_count; b++) {
        saved_block saved;
        memcpy(&saved, take(&c, sizeof saved), sizeof saved);
        blocks[b] = (firn_block){
            .coord = saved.coord, .begin = saved.begin, .end = saved.end, .rest = saved.rest};
    }
    firn_source *sources = sim->emission.sources.data;
    for (int i = 0; i < h->source_count; i++) {
        saved_source saved;
        memcpy(&saved, take(&c, sizeof saved), sizeof saved);
        sources[i].begun = saved.begun;
        sources[i].emitted = saved.emitted;
        memcpy(sources[i].shift, saved.shift, sizeof saved.shift);
        sources[i].started = saved.started != 0;
        if (sources[i].alive && saved.alive == 0) {
            firn_source_close(&sources[i]);
            sources[i].alive = false;
        }
    }
    p->count = h->count;
    p->next_id = h->next_id;
    sim->order.sorted_count = h->sorted_count;
    sim->grid.block_count = h->block_count;
    sim->substep = h->substep;
    sim->time = h->time;
    sim->volumes_missing = (h->flags & VOLUMES_MISSING) != 0;
    sim->rest.disturbed = (h->flags & DISTURBED) != 0;
    sim->rest.acting_colliders = h->acting_colliders;
    sim->order.must_sort = true;
    sim->solve.warm = false;
    sim->colliders.prepared = false;
}

// What the particles carry must be what these carry, before sizes can mean anything.
static firn_result check_channels(const firn_sim *sim, const checkpoint_header *h, cursor c,
                                  firn_error *error)
{
    channel_list list = {.count = h->channel_count};
    const void *rows = list.count <= FIRN_ROW_LIMIT ? take(&c, list_size(&list)) : NULL;
    if (rows == NULL)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is damaged: it names %zu channels", c.name,
                         list.count);
    memcpy(list.row, rows, list_size(&list));
    return firn_channel_set_match(&sim->particles.channels, list.row, list.count, c.name, error);
}

static firn_result load(firn_sim *sim, cursor c, firn_error *error)
{
    size_t size = (size_t)(c.end - c.at);
    checkpoint_header h;
    const void *bytes = take(&c, sizeof h);
    if (bytes == NULL)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s is too short for a checkpoint: %zu bytes",
                         c.name, size);
    memcpy(&h, bytes, sizeof h);
    FIRN_TRY(check_header(sim, &h, c.name, error));
    FIRN_TRY(check_channels(sim, &h, c, error));
    FIRN_TRY(check_sizes(sim, &h, size, c.name, error));
    if (checksum_of(sim, &h, c) != h.checksum)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s is damaged: its checksum does not match; use an earlier checkpoint",
                         c.name);
    const uint8_t *material = c.at + h.channel_count * sizeof(firn_saved_channel) +
                              h.count * 4 * (uint64_t)sim->particles.channel_count;
    const unsigned char *blocks = material + h.count + (h.count - h.sorted_count) * 8;
    firn_array copy = {NULL, 0};
    FIRN_TRY(firn_array_claim(&sim->budget, &copy, h.block_count + 1, sizeof(saved_block), error));
    memcpy(copy.data, blocks, h.block_count * sizeof(saved_block));
    bool sound = blocks_are_sound(copy.data, &h) && materials_are_sound(material, &h) &&
                 isfinite(h.time) && h.time >= 0.0;
    firn_array_free(&sim->budget, &copy);
    if (!sound)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "%s is damaged: blocks, materials or time make no sense", c.name);
    FIRN_TRY(check_sources(sim, &h, c, error));
    FIRN_TRY(firn_particles_reserve(&sim->particles, h.count, error));
    FIRN_TRY(firn_array_reserve(&sim->budget, &sim->emission.new_keys, h.count - h.sorted_count,
                                sizeof(uint64_t), error));
    FIRN_TRY(firn_array_reserve(&sim->budget, &sim->grid.blocks, h.block_count, sizeof(firn_block),
                                error));
    restore(sim, &h, c);
    return FIRN_OK;
}

firn_result firn_sim_load_memory(firn_sim *sim, const void *bytes, size_t size, firn_error *error)
{
    cursor c = {bytes, (const unsigned char *)bytes + size, "the checkpoint"};
    return load(sim, c, error);
}

firn_result firn_sim_load(firn_sim *sim, const char *path, firn_error *error)
{
    void *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_file_read(path, SIZE_MAX, &bytes, &size, error));
    cursor c = {bytes, (const unsigned char *)bytes + size, path};
    firn_result result = load(sim, c, error);
    firn_free(bytes);
    return result;
}

firn_result firn_checkpoint_look(const char *path, firn_checkpoint_info *info, firn_error *error)
{
    checkpoint_header h;
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
                                   .time = h.time,
                                   .substep = h.substep,
                                   .particles = h.count,
                                   .blocks = h.block_count,
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
