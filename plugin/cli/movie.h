/// Films through ffmpeg, fed picture by picture.
#ifndef FIRN_CLI_MOVIE_H
#define FIRN_CLI_MOVIE_H

#include "firn/base.h"

#include <sys/types.h>

/// All zero is no movie.
typedef struct firn_movie {
    pid_t process;
    int pipe;
    const char *path;
    char partial[4200]; // name while it is written
} firn_movie;

/// True for .mp4, .gif and their like.
bool firn_movie_is(const char *path);

/// FIRN_ERR_NOT_FOUND with advice when ffmpeg is not installed.
firn_result firn_movie_check(firn_error *error);

firn_result firn_movie_open(firn_movie *movie, const char *path, int width, int height, float fps,
                            firn_error *error);
firn_result firn_movie_add(firn_movie *movie, const uint8_t *rgb, size_t size, firn_error *error);

/// Completes the file, or removes it when `keep` is false. Accepts one that was never opened.
firn_result firn_movie_close(firn_movie *movie, bool keep, firn_error *error);

#endif
