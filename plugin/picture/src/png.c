#include "firn/png.h"

#include "firn/file.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_error(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void flush(png_structp png) { (void)png; }

static bool write_rows(png_structp png, png_infop info, int width, int height, const uint8_t *rgb)
{
    if (setjmp(png_jmpbuf(png)) != 0)
        return false;
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < height; y++)
        png_write_row(png, rgb + (size_t)y * (size_t)width * 3);
    png_write_end(png, info);
    return true;
}

static bool pack(png_rw_ptr put, void *target, int width, int height, const uint8_t *rgb)
{
    FIRN_ASSERT(width > 0 && height > 0 && rgb != NULL);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    bool fine = info != NULL;
    if (fine) {
        png_set_write_fn(png, target, put, flush);
        fine = write_rows(png, info, width, height, rgb);
    }
    png_destroy_write_struct(&png, &info);
    return fine;
}

static void put_in_file(png_structp png, png_bytep bytes, size_t size)
{
    firn_file_write(png_get_io_ptr(png), bytes, size);
}

firn_result firn_png_write(const char *path, int width, int height, const uint8_t *rgb,
                           firn_error *error)
{
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    if (pack(put_in_file, file, width, height, rgb))
        return firn_file_commit(file, error);
    firn_file_discard(file);
    return firn_fail(error, FIRN_ERR_MEMORY, "cannot pack the picture '%s'", path);
}

typedef struct buffer {
    uint8_t *bytes;
    size_t size, capacity;
} buffer;

static void put_in_memory(png_structp png, png_bytep bytes, size_t size)
{
    buffer *own = png_get_io_ptr(png);
    if (own->capacity - own->size < size) {
        size_t capacity = 2 * (own->size + size);
        uint8_t *larger = firn_alloc(capacity);
        if (larger == NULL)
            png_error(png, "out of memory");
        if (own->size > 0)
            memcpy(larger, own->bytes, own->size);
        firn_free(own->bytes);
        own->bytes = larger;
        own->capacity = capacity;
    }
    memcpy(own->bytes + own->size, bytes, size);
    own->size += size;
}

firn_result firn_png_pack(int width, int height, const uint8_t *rgb, void **bytes, size_t *size,
                          firn_error *error)
{
    buffer own = {0};
    bool fine = pack(put_in_memory, &own, width, height, rgb);
    *bytes = fine ? own.bytes : NULL;
    *size = fine ? own.size : 0;
    if (fine)
        return FIRN_OK;
    firn_free(own.bytes);
    return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot pack a picture");
}
