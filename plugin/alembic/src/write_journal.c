// The journal of a resumable archive. Beside "<path>.partial", the archive as far as it is
// written, lies "<path>.journal.partial": a header, then one record per finished frame.
//
//   header   "FirnAbcJ", u64 version, 16 bytes fingerprint of the declarations, u64 checksum
//   record   u32 mark, u32 payload bytes, u64 size of the archive after the frame, payload, u64
//            checksum of all that, chained to the checksum before it
//   payload  entries of u32 kind, u32 index and the numbers of the structs below
//
// Replaying the entries brings the writer to the state it had after the last whole frame, because
// that state follows from the keys and sizes of the samples alone. Before a frame is replayed its
// data is read back and compared with the keys, so neither a kill at any byte nor a power cut that
// lost data out of order can bring a damaged frame into the finished file; nothing has to wait for
// the disk while frames are written.
#include "write.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 1, MARK = 0x4d415246, CHECK_BYTES = 1 << 20 };
enum { ENTRY_SAMPLE = 1, ENTRY_XFORM = 2, ENTRY_TIME = 3 };

typedef struct journal_header {
    char magic[8];
    uint64_t version;
    firn_abcw_digest fingerprint;
    uint64_t checksum;
} journal_header;

typedef struct record_header {
    uint32_t mark;
    uint32_t payload_bytes;
    uint64_t archive_bytes;
} record_header;

typedef struct entry_head {
    uint32_t kind;
    uint32_t index; // of the property, object or clock
} entry_head;

typedef struct sample_entry {
    uint64_t bytes, elements;
    firn_abcw_digest key;
    uint64_t word;
    uint64_t stored; // 1: this sample put the block there
} sample_entry;

static bool logs(const firn_abc_writer *writer)
{
    return writer->resumable && writer->phase == FIRN_ABCW_WRITING;
}

static void log_entry(firn_abc_writer *writer, uint32_t kind, uint32_t index, const void *data,
                      size_t size)
{
    const entry_head head = {kind, index};
    firn_abcw_bytes_put(&writer->frame, &head, sizeof head);
    firn_abcw_bytes_put(&writer->frame, data, size);
}

void firn_abcw_journal_sample(firn_abc_writer *writer, const firn_abcw_sample *sample,
                              uint64_t word, bool stored)
{
    const sample_entry entry = {sample->bytes, sample->elements, sample->key, word, stored};
    if (logs(writer))
        log_entry(writer, ENTRY_SAMPLE, sample->property, &entry, sizeof entry);
}

void firn_abcw_journal_xform(firn_abc_writer *writer, uint32_t node, const double *channels)
{
    if (logs(writer))
        log_entry(writer, ENTRY_XFORM, node, channels,
                  writer->objects[node].xform->channel_count * sizeof *channels);
}

void firn_abcw_journal_time(firn_abc_writer *writer, uint32_t clock, double seconds)
{
    if (logs(writer))
        log_entry(writer, ENTRY_TIME, clock, &seconds, sizeof seconds);
}

// Everything that was declared: a journal continues only the same archive.
static bool fingerprint(const firn_abc_writer *writer, firn_abcw_digest *digest)
{
    firn_abcw_bytes bytes = {0};
    firn_abcw_bytes_put(&bytes, writer->metadata.data, writer->metadata.size);
    for (size_t i = 0; i < writer->clock_count; i++) {
        const firn_abcw_times *clock = &writer->clocks[i];
        firn_abcw_bytes_put_u32(&bytes, clock->acyclic);
        firn_abcw_bytes_put(&bytes, &clock->step, sizeof clock->step);
        firn_abcw_bytes_put(&bytes, clock->times, clock->count * sizeof *clock->times);
    }
    for (size_t i = 0; i < writer->object_count; i++) {
        const firn_abcw_object *object = &writer->objects[i];
        firn_abcw_bytes_put_u32(&bytes, object->parent);
        firn_abcw_bytes_put(&bytes, object->name, strlen(object->name) + 1);
        firn_abcw_bytes_put(&bytes, object->metadata, strlen(object->metadata) + 1);
        if (object->xform != NULL)
            firn_abcw_bytes_put(&bytes, object->xform->ops, sizeof object->xform->ops);
    }
    for (size_t i = 0; i < writer->property_count; i++) {
        const firn_abcw_property *property = &writer->properties[i];
        const firn_abcw_property_def *def = &property->def;
        const uint32_t numbers[] = {(uint32_t)def->kind, (uint32_t)def->pod, def->extent,
                                    def->node,           def->parent1,       def->clock};
        firn_abcw_bytes_put(&bytes, numbers, sizeof numbers);
        firn_abcw_bytes_put(&bytes, property->name, strlen(property->name) + 1);
        firn_abcw_bytes_put(&bytes, property->metadata, strlen(property->metadata) + 1);
    }
    *digest = firn_spooky(bytes.data, bytes.size);
    bool whole = !bytes.failed;
    firn_abcw_bytes_free(&bytes);
    return whole;
}

firn_result firn_abcw_journal_end_frame(firn_abc_writer *writer, firn_error *error)
{
    if (writer->frame.failed || writer->frame.size > UINT32_MAX)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    FIRN_TRY(firn_file_flush(writer->stream.file, error));
    const record_header head = {MARK, (uint32_t)writer->frame.size, writer->stream.offset};
    uint64_t sum = firn_hash64(&head, sizeof head, writer->journal_sum);
    sum = firn_hash64(writer->frame.data, writer->frame.size, sum);
    firn_file_write(writer->journal, &head, sizeof head);
    firn_file_write(writer->journal, writer->frame.data, writer->frame.size);
    firn_file_write(writer->journal, &sum, sizeof sum);
    writer->journal_sum = sum;
    writer->frame.size = 0;
    return firn_file_flush(writer->journal, error);
}

// A cursor over the payload of a record.
typedef struct entries {
    const unsigned char *at, *end;
} entries;

static bool take(entries *from, void *to, size_t size)
{
    if ((size_t)(from->end - from->at) < size)
        return false;
    memcpy(to, from->at, size);
    from->at += size;
    return true;
}

typedef struct entry {
    entry_head head;
    sample_entry sample;
    double numbers[FIRN_ABCW_CHANNELS_MAX];
} entry;

static bool take_entry(const firn_abc_writer *writer, entries *from, entry *to)
{
    if (!take(from, &to->head, sizeof to->head))
        return false;
    uint32_t index = to->head.index;
    switch (to->head.kind) {
    case ENTRY_SAMPLE:
        return index < writer->property_count && take(from, &to->sample, sizeof to->sample);
    case ENTRY_XFORM:
        return index < writer->object_count && writer->objects[index].xform != NULL &&
               take(from, to->numbers,
                    writer->objects[index].xform->channel_count * sizeof *to->numbers);
    case ENTRY_TIME:
        return index < writer->clock_count && writer->clocks[index].acyclic &&
               take(from, to->numbers, sizeof *to->numbers);
    default:
        return false;
    }
}

// True when the block lies in the archive as the entry says, down to its last byte.
static bool block_is_intact(firn_abc_writer *writer, const sample_entry *sample,
                            uint64_t archive_bytes, unsigned char *buffer)
{
    uint64_t offset = sample->word & ~FIRN_ABCW_EMPTY_DATA;
    uint64_t head[3];
    if (offset > archive_bytes || archive_bytes - offset < sizeof head ||
        archive_bytes - offset - sizeof head < sample->bytes)
        return false;
    firn_file_writer *file = writer->stream.file;
    if (firn_file_read_at(file, offset, head, sizeof head, NULL) != FIRN_OK ||
        head[0] != sizeof sample->key + sample->bytes || head[1] != sample->key.word[0] ||
        head[2] != sample->key.word[1])
        return false;
    offset += sizeof head;
    firn_murmur murmur = {0, 0, 0};
    uint64_t left = sample->bytes;
    for (; left > CHECK_BYTES; left -= CHECK_BYTES, offset += CHECK_BYTES) {
        if (firn_file_read_at(file, offset, buffer, CHECK_BYTES, NULL) != FIRN_OK)
            return false;
        firn_murmur_blocks(&murmur, buffer, CHECK_BYTES);
    }
    if (firn_file_read_at(file, offset, buffer, (size_t)left, NULL) != FIRN_OK)
        return false;
    firn_abcw_digest key = firn_murmur_finish(&murmur, buffer, (size_t)left);
    return key.word[0] == sample->key.word[0] && key.word[1] == sample->key.word[1];
}

static bool frame_is_intact(firn_abc_writer *writer, entries payload, uint64_t archive_bytes,
                            unsigned char *buffer)
{
    if (archive_bytes > firn_file_size(writer->stream.file))
        return false;
    entry next;
    while (payload.at != payload.end) {
        if (!take_entry(writer, &payload, &next))
            return false;
        if (next.head.kind == ENTRY_SAMPLE && next.sample.stored != 0 &&
            !block_is_intact(writer, &next.sample, archive_bytes, buffer))
            return false;
    }
    return true;
}

static firn_result replay_entry(firn_abc_writer *writer, const entry *next, firn_error *error)
{
    if (next->head.kind == ENTRY_TIME)
        return firn_abcw_time_add(writer, next->head.index, next->numbers[0], error);
    if (next->head.kind == ENTRY_XFORM) {
        firn_abcw_xform_note(writer->objects[next->head.index].xform, next->numbers);
        return FIRN_OK;
    }
    const firn_abcw_sample sample = {.property = next->head.index,
                                     .bytes = next->sample.bytes,
                                     .elements = next->sample.elements,
                                     .key = next->sample.key};
    return firn_abcw_sample_apply(writer, &sample, error);
}

static firn_result replay_frame(firn_abc_writer *writer, entries payload, uint64_t archive_bytes,
                                firn_error *error)
{
    entry next;
    while (take_entry(writer, &payload, &next))
        FIRN_TRY(replay_entry(writer, &next, error));
    if (writer->stream.offset != archive_bytes)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "cannot continue '%s': its journal contradicts itself; remove "
                         "'%s.partial' to start anew",
                         writer->path, writer->path);
    writer->frame_count++;
    return FIRN_OK;
}

// Replays all whole frames of the journal and tells where they end.
static firn_result replay(firn_abc_writer *writer, const unsigned char *journal, size_t size,
                          unsigned char *buffer, size_t *kept, firn_error *error)
{
    entries from = {journal + *kept, journal + size};
    record_header head;
    while (take(&from, &head, sizeof head)) {
        size_t left = (size_t)(from.end - from.at);
        uint64_t stored_sum = 0;
        if (head.mark != MARK || left < sizeof stored_sum ||
            left - sizeof stored_sum < head.payload_bytes)
            break;
        entries payload = {from.at, from.at + head.payload_bytes};
        from.at = payload.end;
        take(&from, &stored_sum, sizeof stored_sum);
        uint64_t sum = firn_hash64(&head, sizeof head, writer->journal_sum);
        sum = firn_hash64(payload.at, head.payload_bytes, sum);
        if (sum != stored_sum || !frame_is_intact(writer, payload, head.archive_bytes, buffer))
            break;
        FIRN_TRY(replay_frame(writer, payload, head.archive_bytes, error));
        writer->journal_sum = sum;
        *kept = (size_t)(from.at - journal);
    }
    return FIRN_OK;
}

static firn_result replay_journal(firn_abc_writer *writer, const journal_header *expected,
                                  size_t *kept, firn_error *error)
{
    size_t size = (size_t)firn_file_size(writer->journal);
    *kept = 0;
    // Without a whole header and a start of the archive there is nothing to continue.
    if (size < sizeof *expected || firn_file_size(writer->stream.file) < FIRN_ABCW_FILE_START)
        return FIRN_OK;
    unsigned char *journal = firn_alloc(size);
    unsigned char *buffer = firn_alloc(CHECK_BYTES);
    firn_result result = FIRN_OK;
    if (journal == NULL || buffer == NULL)
        result =
            firn_fail(error, FIRN_ERR_MEMORY, "cannot continue '%s': out of memory", writer->path);
    else
        result = firn_file_read_at(writer->journal, 0, journal, size, error);
    journal_header header = {0};
    if (result == FIRN_OK)
        memcpy(&header, journal, sizeof header);
    bool whole = header.checksum == firn_hash64(&header, offsetof(journal_header, checksum), 0);
    if (result == FIRN_OK && whole) {
        bool same = memcmp(&header, expected, sizeof header) == 0;
        *kept = same ? sizeof header : 0;
        if (!same && size > sizeof header)
            result = firn_fail(error, FIRN_ERR_ARGUMENT,
                               "cannot continue '%s': it was begun with other objects or settings; "
                               "remove '%s.partial' to start anew",
                               writer->path, writer->path);
        else if (same)
            result = replay(writer, journal, size, buffer, kept, error);
    }
    firn_free(journal);
    firn_free(buffer);
    return result;
}

static firn_result journal_path(const char *path, char journal[FIRN_PATH_SIZE], firn_error *error)
{
    int length = snprintf(journal, FIRN_PATH_SIZE, "%s.journal", path);
    if (length <= 0 || length >= FIRN_PATH_SIZE)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "cannot write '%.200s': the name is too long",
                         path);
    return FIRN_OK;
}

firn_result firn_abcw_journal_open(firn_abc_writer *writer, firn_error *error)
{
    journal_header expected = {.magic = "FirnAbcJ", .version = VERSION};
    if (!fingerprint(writer, &expected.fingerprint))
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot write '%s': out of memory", writer->path);
    expected.checksum = firn_hash64(&expected, offsetof(journal_header, checksum), 0);
    writer->journal_sum = expected.checksum;

    // The lock on the archive guards the journal too.
    char path[FIRN_PATH_SIZE];
    FIRN_TRY(journal_path(writer->path, path, error));
    FIRN_TRY(firn_file_open_partial(writer->path, &writer->stream.file, error));
    FIRN_TRY(firn_file_open_partial(path, &writer->journal, error));
    size_t kept = 0;
    FIRN_TRY(replay_journal(writer, &expected, &kept, error));
    firn_file_truncate(writer->journal, kept);
    if (kept == 0)
        firn_file_write(writer->journal, &expected, sizeof expected);
    FIRN_TRY(firn_file_flush(writer->journal, error));
    firn_file_truncate(writer->stream.file, writer->frame_count > 0 ? writer->stream.offset : 0);
    return firn_file_flush(writer->stream.file, error);
}

firn_result firn_abc_writer_forget(const char *path, firn_error *error)
{
    char journal[FIRN_PATH_SIZE];
    FIRN_TRY(journal_path(path, journal, error));
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_open_partial(path, &file, error));
    firn_file_writer *journal_file = NULL;
    firn_result result = firn_file_open_partial(journal, &journal_file, error);
    firn_file_discard(journal_file);
    firn_file_discard(file);
    return result;
}
