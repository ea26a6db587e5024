#include "firn/png.h"

#include "firn/file.h"

#include <png.h>
#include <setjmp.h>

static void keep_quiet(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void put(png_structp png, png_bytep bytes, size_t size)
{
    firn_file_write(png_get_io_ptr(png), bytes, size);
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

firn_result firn_png_write(const char *path, int width, int height, const uint8_t *rgb,
                           firn_error *error)
{
    FIRN_ASSERT(width > 0 && height > 0 && rgb != NULL);
    firn_file_writer *file = NULL;
    FIRN_TRY(firn_file_create(path, &file, error));
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, keep_quiet, keep_quiet);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    bool fine = info != NULL;
    if (fine) {
        png_set_write_fn(png, file, put, flush);
        fine = write_rows(png, info, width, height, rgb);
    }
    png_destroy_write_struct(&png, &info);
    if (!fine) {
        firn_file_discard(file);
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot pack the picture '%s'", path);
    }
    return firn_file_commit(file, error);
}
