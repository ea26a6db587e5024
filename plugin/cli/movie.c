#define _POSIX_C_SOURCE 200809L
#include "movie.h"

#include "firn/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *ending_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot : "";
}

bool firn_movie_is(const char *path)
{
    return strcmp(ending_of(path), ".mp4") == 0 || strcmp(ending_of(path), ".gif") == 0;
}

firn_result firn_movie_check(firn_error *error)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ":");
        char path[FIRN_PATH_SIZE];
        snprintf(path, sizeof path, "%.*s/ffmpeg", (int)(length < 4000 ? length : 4000), at);
        if (access(path, X_OK) == 0)
            return FIRN_OK;
        at += length + (at[length] == ':');
    }
    return firn_fail(error, FIRN_ERR_NOT_FOUND,
                     "ffmpeg is not installed, and .mp4 and .gif need it; install it (Debian: apt "
                     "install ffmpeg) or write pictures with -o name.$F4.png");
}

static void run_ffmpeg(const firn_movie *movie, int input, int width, int height, float fps)
{
    char size[64], rate[32];
    snprintf(size, sizeof size, "%dx%d", width, height);
    snprintf(rate, sizeof rate, "%.6g", (double)fps);
    bool gif = strcmp(ending_of(movie->path), ".gif") == 0;
    const char *filter = gif ? "split[a][b];[a]palettegen[p];[b][p]paletteuse"
                             : "pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p";
    const char *arguments[] = {"ffmpeg",       "-y",    "-v",  "error", "-f", "rawvideo",
                               "-pix_fmt",     "rgb24", "-s",  size,    "-r", rate,
                               "-i",           "-",     "-vf", filter,  "-f", gif ? "gif" : "mp4",
                               movie->partial, NULL};
    dup2(input, STDIN_FILENO);
    close(input);
    execvp("ffmpeg", (char *const *)(void *)arguments);
    _exit(127);
}

firn_result firn_movie_open(firn_movie *movie, const char *path, int width, int height, float fps,
                            firn_error *error)
{
    int ends[2];
    FIRN_TRY(firn_movie_check(error));
    movie->path = path;
    snprintf(movie->partial, sizeof movie->partial, "%.4096s.partial", path);
    if (pipe(ends) != 0)
        return firn_fail_errno(error, errno, "feed ffmpeg for", path);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    fflush(NULL);
    signal(SIGPIPE, SIG_IGN); // a write to a process that died is an error, not the end
    movie->process = fork();
    if (movie->process == 0) {
        close(ends[1]);
        run_ffmpeg(movie, ends[0], width, height, fps);
    }
    close(ends[0]);
    movie->pipe = ends[1];
    if (movie->process > 0)
        return FIRN_OK;
    close(ends[1]);
    movie->process = 0;
    return firn_fail_errno(error, errno, "start ffmpeg for", path);
}

firn_result firn_movie_add(firn_movie *movie, const uint8_t *rgb, size_t size, firn_error *error)
{
    while (size > 0) {
        ssize_t written = write(movie->pipe, rgb, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return firn_fail_errno(error, errno, "feed ffmpeg for", movie->path);
        rgb += written;
        size -= (size_t)written;
    }
    return FIRN_OK;
}

firn_result firn_movie_close(firn_movie *movie, bool keep, firn_error *error)
{
    if (movie->process <= 0)
        return FIRN_OK;
    int status = 0;
    close(movie->pipe);
    while (waitpid(movie->process, &status, 0) < 0 && errno == EINTR)
        continue;
    movie->process = 0;
    bool fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (keep && fine && rename(movie->partial, movie->path) == 0)
        return FIRN_OK;
    int reason = errno;
    remove(movie->partial);
    if (!keep)
        return FIRN_OK;
    if (!fine)
        return firn_fail(error, FIRN_ERR_IO, "ffmpeg could not write '%s'", movie->path);
    return firn_fail_errno(error, reason, "write", movie->path);
}
