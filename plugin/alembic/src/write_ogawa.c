#include "write.h"

#include <string.h>

// Version 1 of the container; the frozen byte (5) and the root offset (8) are patched at the end.
static const unsigned char file_start[FIRN_ABCW_FILE_START] = {
    'O', 'g', 'a', 'w', 'a', 0, 0, 1, 0,    0,    0, 0, 0, 0, 0, 0, //
    4,   0,   0,   0,   0,   0, 0, 0, 0,    0,    0, 0,             // layout version 0
    4,   0,   0,   0,   0,   0, 0, 0, 0x3c, 0x2a, 0, 0              // library version 10812
};

static void append(firn_abcw_stream *stream, const void *bytes, size_t size)
{
    firn_file_write(stream->file, bytes, size);
    stream->offset += size;
}

void firn_abcw_stream_start(firn_abcw_stream *stream)
{
    // A resumed file has its start already; an earlier finish may have frozen it.
    if (firn_file_size(stream->file) == 0)
        firn_file_write(stream->file, file_start, sizeof file_start);
    else
        firn_file_patch(stream->file, 0, file_start, sizeof file_start);
}

uint64_t firn_abcw_stream_data(firn_abcw_stream *stream, const void *bytes, size_t size)
{
    if (size == 0)
        return FIRN_ABCW_EMPTY_DATA;
    uint64_t word = stream->offset | FIRN_ABCW_EMPTY_DATA;
    uint64_t length = size;
    append(stream, &length, sizeof length);
    append(stream, bytes, size);
    return word;
}

uint64_t firn_abcw_stream_sample(firn_abcw_stream *stream, const firn_abcw_sample *sample)
{
    uint64_t word = stream->offset | FIRN_ABCW_EMPTY_DATA;
    uint64_t head[3] = {sizeof sample->key + sample->bytes, sample->key.word[0],
                        sample->key.word[1]};
    if (sample->data != NULL) {
        append(stream, head, sizeof head);
        append(stream, sample->data, (size_t)sample->bytes);
    } else {
        stream->offset += sizeof head + sample->bytes;
    }
    return word;
}

uint64_t firn_abcw_stream_group(firn_abcw_stream *stream, const uint64_t *words, size_t count)
{
    if (count == 0)
        return FIRN_ABCW_EMPTY_GROUP;
    uint64_t word = stream->offset;
    uint64_t length = count;
    append(stream, &length, sizeof length);
    append(stream, words, count * sizeof *words);
    return word;
}

void firn_abcw_stream_freeze(firn_abcw_stream *stream, uint64_t root_word)
{
    static const unsigned char frozen = 0xff;
    firn_file_patch(stream->file, 8, &root_word, sizeof root_word);
    firn_file_patch(stream->file, 5, &frozen, sizeof frozen);
}
