/// `firn bench formats`: Houdini geometry and OBJ.
#include "bench.h"

#include "firn/bgeo.h"
#include "firn/file.h"
#include "firn/obj.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1000000, ROUNDS = 5 };

static size_t file_size(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        exit(EXIT_FAILURE);
    long size = ftell(file);
    fclose(file);
    return (size_t)size;
}

static void bench_points(const char *path, const firn_points *points, void *bytes)
{
    double times[4] = {1e9, 1e9, 1e9, 1e9};
    size_t size = 0;
    firn_error error;
    for (int round = 0; round < ROUNDS; round++) {
        firn_bgeo_def def = firn_bgeo_def_default();
        check(firn_bgeo_def_from_path(&def, path, &error), &error);
        double start = firn_seconds();
        check(firn_bgeo_write(path, points, &def, &error), &error);
        times[0] = least(times[0], firn_seconds() - start);
        firn_bgeo *geometry = NULL;
        start = firn_seconds();
        check(firn_bgeo_read(path, NULL, &geometry, &error), &error);
        times[1] = least(times[1], firn_seconds() - start);
        firn_bgeo_destroy(geometry);
        size = file_size(path);
        unlink(path);
        plain("bench_plain.bin", bytes, size, &times[2], &times[3]);
    }
    printf("%s,%.1f,%.0f,%.2f,%.0f,%.2f\n", path, (double)size / 1e6, (double)size / 1e6 / times[0],
           times[2] / times[0], (double)size / 1e6 / times[1], times[3] / times[1]);
}

static void bench_obj(void)
{
    FILE *file = fopen("bench.obj", "w");
    firn_error error;
    if (file == NULL)
        exit(EXIT_FAILURE);
    for (int i = 0; i < COUNT; i++)
        fprintf(file, "v %.6f %.6f %.6f\n", 0.001 * i, 1.0 / (1 + i), -0.37 * i);
    for (int i = 0; i < 2 * (COUNT - 3); i++)
        fprintf(file, "f %d %d %d\n", i / 2 + 1, i / 2 + 2, i / 2 + 3);
    fclose(file);
    double time = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        firn_obj *obj = NULL;
        double start = firn_seconds();
        check(firn_obj_read("bench.obj", &obj, &error), &error);
        time = least(time, firn_seconds() - start);
        firn_obj_destroy(obj);
    }
    double megabytes = (double)file_size("bench.obj") / 1e6;
    printf("bench.obj,%.1f,,,%.0f,\n1M vertices and 2M triangles in %.3f s\n", megabytes,
           megabytes / time, time);
    unlink("bench.obj");
}

int main(void)
{
    float *floats = malloc(8 * COUNT * sizeof *floats);
    uint32_t *id = malloc(COUNT * sizeof *id);
    unsigned char *bytes = calloc(1, (size_t)600 * COUNT);
    if (floats == NULL || id == NULL || bytes == NULL)
        return EXIT_FAILURE;
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
    printf("file,MB,write MB/s,ratio to plain,read MB/s,ratio to plain\n");
    bench_points("bench.bgeo", &points, bytes);
    bench_points("bench.bhclassic", &points, bytes);
    bench_points("bench.bgeo.gz", &points, bytes);
    bench_points("bench.geo", &points, bytes);
    bench_obj();
    free(floats);
    free(id);
    free(bytes);
    return EXIT_SUCCESS;
}
