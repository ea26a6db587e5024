/// `firn bench formats`: Houdini geometry and OBJ.
#include "bench.h"

#include "firn/bgeo.h"
#include "firn/file.h"
#include "firn/obj.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

enum { COUNT = 1000000 };

static size_t file_size(const char *path)
{
    firn_error error;
    struct stat info;
    if (stat(path, &info) != 0)
        firn_bench_check(firn_fail(&error, FIRN_ERR_IO, "cannot look at '%s'", path), &error);
    return (size_t)info.st_size;
}

static void bench_points(const char *folder, const char *name, const firn_points *points)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/%s", folder, name);
    firn_error error;
    double write = INFINITY, read = INFINITY;
    for (int round = 0; round < FIRN_BENCH_ROUNDS; round++) {
        firn_bgeo_def def = firn_bgeo_def_default();
        firn_bench_check(firn_bgeo_def_from_path(&def, path, &error), &error);
        double start = firn_seconds();
        firn_bench_check(firn_bgeo_write(path, points, &def, &error), &error);
        write = fmin(write, firn_seconds() - start);
        firn_bgeo *geometry = NULL;
        start = firn_seconds();
        firn_bench_check(firn_bgeo_read(path, NULL, &geometry, &error), &error);
        read = fmin(read, firn_seconds() - start);
        firn_bgeo_destroy(geometry);
    }
    size_t size = file_size(path);
    void *bytes = firn_bench_take(size);
    firn_bench_plain plain = firn_bench_measure_plain(path, bytes, size);
    firn_free(bytes);
    double megabytes = 1e-6 * (double)size;
    printf("%s,%.1f,%.0f,%.2f,%.0f,%.2f\n", name, megabytes, megabytes / write, plain.write / write,
           megabytes / read, plain.read / read);
}

static void bench_obj(const char *folder)
{
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/firn_bench.obj", folder);
    firn_error error;
    FILE *file = fopen(path, "w");
    if (file == NULL)
        firn_bench_check(firn_fail(&error, FIRN_ERR_IO, "cannot write '%s'", path), &error);
    for (int i = 0; i < COUNT; i++)
        fprintf(file, "v %.6f %.6f %.6f\n", 0.001 * i, 1.0 / (1 + i), -0.37 * i);
    for (int i = 0; i < 2 * (COUNT - 3); i++)
        fprintf(file, "f %d %d %d\n", i / 2 + 1, i / 2 + 2, i / 2 + 3);
    fclose(file);
    double read = INFINITY;
    for (int round = 0; round < FIRN_BENCH_ROUNDS; round++) {
        firn_obj *obj = NULL;
        double start = firn_seconds();
        firn_bench_check(firn_obj_read(path, &obj, &error), &error);
        read = fmin(read, firn_seconds() - start);
        firn_obj_destroy(obj);
    }
    double megabytes = 1e-6 * (double)file_size(path);
    printf("firn_bench.obj,%.1f,,,%.0f,\n", megabytes, megabytes / read);
    remove(path);
}

void firn_bench_formats(const char *folder)
{
    float *floats = firn_bench_take(8 * COUNT * sizeof *floats);
    uint32_t *id = firn_bench_take(COUNT * sizeof *id);
    for (uint32_t i = 0; i < 8 * COUNT; i++)
        floats[i] = (float)(i * 2654435761u >> 8) * 1e-6f;
    for (uint32_t i = 0; i < COUNT; i++)
        id[i] = i;
    const firn_attribute attributes[] = {
        {"P", FIRN_STORAGE_FLOAT32, FIRN_TYPE_POINT, 3, floats, NULL, 0},
        {"v", FIRN_STORAGE_FLOAT32, FIRN_TYPE_VECTOR, 3, floats + 3 * COUNT, NULL, 0},
        {"id", FIRN_STORAGE_INT32, FIRN_TYPE_NONE, 1, id, NULL, 0},
        {"pscale", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, floats + 6 * COUNT, NULL, 0},
        {"Jp", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, floats + 7 * COUNT, NULL, 0}};
    const firn_points points = {COUNT, attributes, FIRN_COUNT(attributes), NULL, 0};
    printf("file,MB,write MB/s,speed against plain,read MB/s,speed against plain\n");
    bench_points(folder, "firn_bench.bgeo", &points);
    bench_points(folder, "firn_bench.bhclassic", &points);
    bench_points(folder, "firn_bench.bgeo.gz", &points);
    bench_points(folder, "firn_bench.geo", &points);
    bench_obj(folder);
    firn_free(floats);
    firn_free(id);
}
