#include "air_file.h"

#include "shape_file.h"

#include "firn/vdb.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void firn_air_file_close(firn_air_file *air)
{
    firn_vdb_shape_destroy(air->shape);
    firn_free(air->values);
    memset(air, 0, sizeof *air);
}

static firn_result check_speed(const firn_air_input *input, const firn_velocity_grid *grid,
                               const char *path, firn_error *error)
{
    for (size_t i = 0; i < grid->leaf_count * FIRN_LEAF_VOXELS; i++) {
        float speed = firn_length(grid->values[i]);
        if (!(speed <= input->max_speed))
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "'%.300s' has air at %g m/s, beyond max_speed, %g m/s; it must be in "
                             "m/s",
                             path, (double)speed, (double)input->max_speed);
    }
    return FIRN_OK;
}

// Axes and units of the file: places and velocities turn and grow alike.
static firn_result place(firn_air_file *air, const firn_air_input *input, firn_error *error)
{
    const firn_velocity_grid *from = firn_vdb_shape_velocity(air->shape);
    firn_transform axes = firn_axes_transform(&input->axes);
    size_t count = from->leaf_count * FIRN_LEAF_VOXELS;
    firn_free(air->values);
    air->values = firn_alloc(count * sizeof *air->values);
    if (air->values == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot place an airflow");
    firn_transform turn = axes;
    turn.translation = firn_vec(0.0f, 0.0f, 0.0f);
    for (size_t i = 0; i < count; i++)
        air->values[i] = firn_transform_point(turn, from->values[i]);
    air->grid = *from;
    air->grid.values = air->values;
    air->grid.map = firn_transform_after(axes, from->map);
    return FIRN_OK;
}

static bool exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file != NULL)
        fclose(file);
    return file != NULL;
}

// The file of a frame; the last one before it that is there when gaps are held.
static firn_result find(const firn_cook *cook, const firn_air_input *input, bool numbered,
                        char path[FIRN_PATH_SIZE], firn_error *error)
{
    firn_clip clip = firn_clip_make(&input->clip, true, cook->start_frame, cook->fps);
    int first = 0, last = 0;
    if (numbered && !firn_clip_find_range(input->file, &first, &last))
        return firn_fail(error, FIRN_ERR_NOT_FOUND, "there is no file '%.300s' of the airflow",
                         input->file);
    clip.ranged = numbered;
    clip.first = first;
    clip.last = last;
    int frame = (int)floor(firn_clip_frame(&clip, cook->frame));
    FIRN_TRY(firn_path_of_frame(input->file, frame, path, FIRN_PATH_SIZE, error));
    if (!numbered || input->missing == FIRN_VDB_MISSING_ERROR)
        return FIRN_OK;
    while (!exists(path) && frame > first)
        FIRN_TRY(firn_path_of_frame(input->file, --frame, path, FIRN_PATH_SIZE, error));
    if (!exists(path)) // before the first file
        FIRN_TRY(firn_path_of_frame(input->file, first, path, FIRN_PATH_SIZE, error));
    return FIRN_OK;
}

firn_result firn_air_file_read(firn_air_file *air, const firn_cook *cook,
                               const firn_air_input *input, firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    bool numbered = firn_path_has_frame(input->file);
    FIRN_TRY(find(cook, input, numbered, path, error));
    air->moves = numbered;
    if (air->shape != NULL && strcmp(path, air->path) == 0)
        return FIRN_OK;
    if (!exists(path))
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "the airflow has no file '%.300s' for frame %d; make it, or set missing "
                         "to hold",
                         path, cook->frame);
    firn_vdb_reader_def settings = firn_vdb_reader_def_default();
    firn_vdb_reader *reader = NULL;
    FIRN_TRY(firn_vdb_reader_create(&settings, &reader, error));
    firn_vdb_stamp room;
    firn_vdb_shape_destroy(air->shape);
    air->shape = NULL;
    const char *name = input->object[0] != '\0' ? input->object : NULL;
    firn_result result =
        firn_vdb_read_velocity(reader, path, firn_stamp_of(path, &room), name, &air->shape, error);
    firn_vdb_reader_destroy(reader);
    FIRN_TRY(result);
    snprintf(air->path, sizeof air->path, "%s", path);
    FIRN_TRY(check_speed(input, firn_vdb_shape_velocity(air->shape), path, error));
    return place(air, input, error);
}
