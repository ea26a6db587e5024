/// What `firn render` shows: the volume of a frame, its metadata, and the solids around it.
#ifndef FIRN_CLI_RENDER_SOURCE_H
#define FIRN_CLI_RENDER_SOURCE_H

#include "command.h"

#include "firn/cache.h"
#include "firn/render.h"
#include "firn/vdb.h"

enum { FIRN_SOLID_MAX = 64 };

typedef struct firn_render_source {
    firn_graph *files; // reads the volume and solids that the user named
    firn_graph *shot;  // of a cache, for its colliders; NULL: none
    firn_manifest *manifest;
    firn_vdb_reader *reader;
    const char *path; // what the user named: a file, numbered files, a cache
    bool is_cache;
    const char *particles; // files of grains that the user named; NULL: those of the cache

    // The frame that was loaded last.
    int frame;
    char volume[FIRN_PATH_SIZE]; // its file
    char grid[FIRN_TEXT_SIZE];   // name of the density grid, "": by itself
    bool relative;               // the file's density has no unit
    float fps;
    firn_collider_def solids[FIRN_SOLID_MAX];
    firn_vec3 colors[FIRN_SOLID_MAX];
    firn_grains grains;
    firn_render_scene scene;
} firn_render_source;

/// What the user named beside the volume: the density grid, a file of particles (both may be NULL),
/// files of level sets and meshes.
typedef struct firn_render_names {
    const char *grid, *particles;
    const firn_words *solids;
} firn_render_names;

/// Opens a .vdb file, numbered files or the folder of a cache.
firn_result firn_render_source_open(firn_render_source *source, const char *path,
                                    const firn_render_names *names, firn_error *error);
void firn_render_source_close(firn_render_source *source);

/// The frames that there are, for a cache; the frame in the metadata, for one file. False when only
/// the user can tell.
bool firn_render_source_frames(firn_render_source *source, int *first, int *last);

/// The first, the middle and the last frame of all that there are, whichever of them are to be
/// shown; their number. One file is its own.
size_t firn_render_source_landmarks(const firn_render_source *source, int frame, int landmarks[3]);

/// Reads the particles of the frame that was loaded, if there are any.
firn_result firn_render_source_load_grains(firn_render_source *source, firn_error *error);

/// Loads a frame; what its file says about light and material goes into the settings.
firn_result firn_render_source_load(firn_render_source *source, int frame, firn_render_def *def,
                                    firn_error *error);

/// Writes all that another renderer needs to know to make the same picture.
firn_result firn_render_setup_write(const char *path, const firn_render_source *source,
                                    const firn_render_def *def, const firn_render *render,
                                    firn_error *error);

#endif
