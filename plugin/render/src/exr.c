#include "firn/exr.h"

#include "half.h"

#include "firn/file.h"

#include <openexr.h>
#include <string.h>

enum { CHANNEL_MAX = 8, EDGE_LIMIT = 32768 };

static void keep_quiet(exr_const_context_t context, exr_result_t code, const char *message)
{
    (void)context;
    (void)code;
    (void)message;
}

static exr_context_initializer_t start(void)
{
    exr_context_initializer_t settings = EXR_DEFAULT_CONTEXT_INITIALIZER;
    settings.error_handler_fn = keep_quiet;
    settings.alloc_fn = firn_alloc;
    settings.free_fn = firn_free;
    return settings;
}

// --- Writing -------------------------------------------------------------------------------------

static int64_t put(exr_const_context_t context, void *user, const void *bytes, uint64_t size,
                   uint64_t offset, exr_stream_error_func_ptr_t fail)
{
    firn_file_writer *file = user;
    (void)context;
    (void)fail;
    static const char zeros[256] = {0};
    uint64_t end = firn_file_size(file);
    // Room for the table of chunks, which comes last.
    while (end < offset) {
        uint64_t part = offset - end < sizeof zeros ? offset - end : sizeof zeros;
        firn_file_write(file, zeros, (size_t)part);
        end += part;
    }
    uint64_t inside = end - offset < size ? end - offset : size;
    if (inside > 0)
        firn_file_patch(file, offset, bytes, (size_t)inside);
    if (size > inside)
        firn_file_write(file, (const char *)bytes + inside, (size_t)(size - inside));
    return (int64_t)size;
}

typedef struct writer {
    exr_context_t context;
    int part;
    int width, height;
    const firn_exr_channel *channels;
    int count;
    const firn_exr_picture *picture;
    unsigned char *rows[CHANNEL_MAX]; // values of a chunk as the file has them
} writer;

static const firn_exr_channel *channel_named(const writer *w, const char *name, int *number)
{
    for (*number = 0; *number < w->count; ++*number)
        if (strcmp(w->channels[*number].name, name) == 0)
            return &w->channels[*number];
    return NULL;
}

static void fill_rows(const writer *w, int number, int y, int lines)
{
    const firn_exr_channel *channel = &w->channels[number];
    for (size_t i = 0; i < (size_t)w->width * (size_t)lines; i++) {
        float value = channel->values[((size_t)y * (size_t)w->width + i) * (size_t)channel->stride];
        uint16_t half = firn_half_from_float(value);
        if (channel->half)
            memcpy(w->rows[number] + 2 * i, &half, sizeof half);
        else
            memcpy(w->rows[number] + 4 * i, &value, sizeof value);
    }
}

static exr_result_t write_chunk(const writer *w, exr_encode_pipeline_t *pipe, int y)
{
    exr_chunk_info_t chunk;
    exr_result_t code = exr_write_scanline_chunk_info(w->context, w->part, y, &chunk);
    if (code == EXR_ERR_SUCCESS)
        code = y == 0 ? exr_encoding_initialize(w->context, w->part, &chunk, pipe)
                      : exr_encoding_update(w->context, w->part, &chunk, pipe);
    if (code != EXR_ERR_SUCCESS)
        return code;
    for (int c = 0; c < pipe->channel_count; c++) {
        exr_coding_channel_info_t *info = &pipe->channels[c];
        int number, bytes;
        const firn_exr_channel *channel = channel_named(w, info->channel_name, &number);
        FIRN_ASSERT(channel != NULL);
        bytes = channel->half ? 2 : 4;
        fill_rows(w, number, y, chunk.height);
        info->user_bytes_per_element = (int16_t)bytes;
        info->user_data_type = channel->half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT;
        info->user_pixel_stride = bytes;
        info->user_line_stride = bytes * w->width;
        info->encode_from_ptr = w->rows[number];
    }
    if (y == 0)
        code = exr_encoding_choose_default_routines(w->context, w->part, pipe);
    return code == EXR_ERR_SUCCESS ? exr_encoding_run(w->context, w->part, pipe) : code;
}

static exr_result_t write_header(writer *w)
{
    exr_result_t code = exr_add_part(w->context, "picture", EXR_STORAGE_SCANLINE, &w->part);
    if (code == EXR_ERR_SUCCESS)
        code = exr_initialize_required_attr_simple(w->context, w->part, w->width, w->height,
                                                   EXR_COMPRESSION_ZIP);
    for (int c = 0; c < w->count && code == EXR_ERR_SUCCESS; c++)
        code = exr_add_channel(w->context, w->part, w->channels[c].name,
                               w->channels[c].half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT,
                               EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1);
    for (int i = 0; i < w->picture->fact_count && code == EXR_ERR_SUCCESS; i++) {
        const firn_exr_fact *fact = &w->picture->facts[i];
        code = fact->text != NULL
                   ? exr_attr_set_string(w->context, w->part, fact->name, fact->text)
                   : exr_attr_set_float(w->context, w->part, fact->name, fact->number);
    }
    return code == EXR_ERR_SUCCESS ? exr_write_header(w->context) : code;
}

static exr_result_t write_all(writer *w)
{
    int32_t lines = 1;
    exr_result_t code = write_header(w);
    if (code == EXR_ERR_SUCCESS)
        code = exr_get_scanlines_per_chunk(w->context, w->part, &lines);
    for (int c = 0; c < w->count && code == EXR_ERR_SUCCESS; c++) {
        w->rows[c] = firn_alloc((size_t)w->width * (size_t)lines * 4);
        code = w->rows[c] != NULL ? EXR_ERR_SUCCESS : EXR_ERR_OUT_OF_MEMORY;
    }
    exr_encode_pipeline_t pipe = EXR_ENCODE_PIPELINE_INITIALIZER;
    for (int y = 0; y < w->height && code == EXR_ERR_SUCCESS; y += lines)
        code = write_chunk(w, &pipe, y);
    exr_encoding_destroy(w->context, &pipe);
    for (int c = 0; c < w->count; c++)
        firn_free(w->rows[c]);
    return code;
}

firn_result firn_exr_write(const char *path, const firn_exr_picture *picture, firn_error *error)
{
    FIRN_ASSERT(picture->channel_count <= CHANNEL_MAX);
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    exr_context_initializer_t settings = start();
    settings.user_data = file;
    settings.write_fn = put;
    writer w = {.width = picture->width,
                .height = picture->height,
                .channels = picture->channels,
                .count = picture->channel_count,
                .picture = picture};
    exr_result_t code = exr_start_write(&w.context, path, EXR_WRITE_FILE_DIRECTLY, &settings);
    if (code == EXR_ERR_SUCCESS) {
        code = write_all(&w);
        exr_result_t closed = exr_finish(&w.context);
        code = code != EXR_ERR_SUCCESS ? code : closed;
    }
    if (code == EXR_ERR_SUCCESS)
        return firn_file_commit(file, error);
    firn_file_discard(file);
    return firn_fail(error, code == EXR_ERR_OUT_OF_MEMORY ? FIRN_ERR_MEMORY : FIRN_ERR_IO,
                     "cannot write '%s': %s", path, exr_get_default_error_message(code));
}

// --- Reading -------------------------------------------------------------------------------------

/// Where the values of a file go.
typedef struct reader {
    exr_context_t context;
    int width, height;
    int32_t first, lines; // the first line of the file, and how many a chunk has
    float *rgb;
    float *rest; // a chunk of whatever is not wanted: the library needs a place for it
} reader;

static exr_result_t place_channel(const reader *r, exr_coding_channel_info_t *info, int y)
{
    const char *place = strchr("RGB", info->channel_name[0]);
    bool wanted = place != NULL && info->channel_name[0] != '\0' && info->channel_name[1] == '\0';
    if (info->x_samples != 1 || info->y_samples != 1 || info->width > r->width ||
        info->height > r->lines)
        return EXR_ERR_FEATURE_NOT_IMPLEMENTED;
    if (wanted) {
        size_t first = 3 * (size_t)y * (size_t)r->width + (size_t)(place - "RGB");
        info->decode_to_ptr = (uint8_t *)(void *)(r->rgb + first);
        info->user_bytes_per_element = 4;
        info->user_data_type = EXR_PIXEL_FLOAT;
        info->user_pixel_stride = 12;
        info->user_line_stride = 12 * r->width;
    } else {
        info->decode_to_ptr = (uint8_t *)(void *)r->rest;
        info->user_bytes_per_element = info->bytes_per_element;
        info->user_data_type = info->data_type;
        info->user_pixel_stride = info->bytes_per_element;
        info->user_line_stride = info->bytes_per_element * r->width;
    }
    return EXR_ERR_SUCCESS;
}

static exr_result_t read_chunk(const reader *r, exr_decode_pipeline_t *pipe, int y)
{
    exr_chunk_info_t chunk;
    exr_result_t code = exr_read_scanline_chunk_info(r->context, 0, r->first + y, &chunk);
    if (code == EXR_ERR_SUCCESS && (chunk.start_y != r->first + y || chunk.height > r->height - y))
        code = EXR_ERR_BAD_CHUNK_LEADER;
    if (code == EXR_ERR_SUCCESS)
        code = y == 0 ? exr_decoding_initialize(r->context, 0, &chunk, pipe)
                      : exr_decoding_update(r->context, 0, &chunk, pipe);
    for (int c = 0; c < pipe->channel_count && code == EXR_ERR_SUCCESS; c++)
        code = place_channel(r, &pipe->channels[c], y);
    if (code == EXR_ERR_SUCCESS && y == 0)
        code = exr_decoding_choose_default_routines(r->context, 0, pipe);
    return code == EXR_ERR_SUCCESS ? exr_decoding_run(r->context, 0, pipe) : code;
}

static exr_result_t read_rows(exr_context_t context, int width, int height, float *rgb)
{
    reader r = {.context = context, .width = width, .height = height, .lines = 1, .rgb = rgb};
    exr_attr_box2i_t window;
    exr_result_t code = exr_get_data_window(context, 0, &window);
    if (code == EXR_ERR_SUCCESS)
        code = exr_get_scanlines_per_chunk(context, 0, &r.lines);
    if (code != EXR_ERR_SUCCESS)
        return code;
    r.first = window.min.y;
    r.rest = firn_alloc((size_t)width * (size_t)r.lines * sizeof *r.rest);
    if (r.rest == NULL)
        return EXR_ERR_OUT_OF_MEMORY;
    exr_decode_pipeline_t pipe = EXR_DECODE_PIPELINE_INITIALIZER;
    for (int y = 0; y < height && code == EXR_ERR_SUCCESS; y += r.lines)
        code = read_chunk(&r, &pipe, y);
    exr_decoding_destroy(context, &pipe);
    firn_free(r.rest);
    return code;
}

static firn_result fail_to_read(const char *path, exr_result_t code, firn_error *error)
{
    firn_result result = code == EXR_ERR_OUT_OF_MEMORY ? FIRN_ERR_MEMORY
                         : code == EXR_ERR_FILE_ACCESS ? FIRN_ERR_NOT_FOUND
                                                       : FIRN_ERR_FORMAT;
    return firn_fail(error, result, "cannot read '%s': %s", path,
                     exr_get_default_error_message(code));
}

static firn_result read_picture(exr_context_t context, const char *path, int *width, int *height,
                                float **rgb, firn_error *error)
{
    exr_attr_box2i_t window;
    exr_storage_t storage;
    exr_result_t code = exr_get_data_window(context, 0, &window);
    if (code == EXR_ERR_SUCCESS)
        code = exr_get_storage(context, 0, &storage);
    if (code != EXR_ERR_SUCCESS)
        return fail_to_read(path, code, error);
    if (storage != EXR_STORAGE_SCANLINE)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "'%s' has tiles or deep pixels; save it with scan lines", path);
    int64_t wide = (int64_t)window.max.x - window.min.x + 1,
            high = (int64_t)window.max.y - window.min.y + 1;
    if (wide < 1 || high < 1 || wide > EDGE_LIMIT || high > EDGE_LIMIT)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%s' has %lld x %lld pixels", path,
                         (long long)wide, (long long)high);
    *width = (int)wide;
    *height = (int)high;
    *rgb = firn_alloc_zero((size_t)wide * (size_t)high * 3 * sizeof **rgb);
    if (*rgb == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot hold '%s'", path);
    code = read_rows(context, *width, *height, *rgb);
    if (code == EXR_ERR_SUCCESS)
        return FIRN_OK;
    firn_free(*rgb);
    *rgb = NULL;
    return fail_to_read(path, code, error);
}

firn_result firn_exr_read(const char *path, int *width, int *height, float **rgb, firn_error *error)
{
    exr_context_initializer_t settings = start();
    exr_context_t context = NULL;
    exr_result_t code = exr_start_read(&context, path, &settings);
    if (code != EXR_ERR_SUCCESS) {
        exr_finish(&context);
        return fail_to_read(path, code, error);
    }
    firn_result result = read_picture(context, path, width, height, rgb, error);
    exr_finish(&context);
    return result;
}
