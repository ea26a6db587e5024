// Writes the points that check_bgeo.py knows by formula, in every format.
#include "firn/bgeo.h"

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 3000 };

int main(int argument_count, char **arguments)
{
    static float position[COUNT][3], velocity[COUNT][3], pscale[COUNT], mass[COUNT];
    static double jp[COUNT];
    static uint32_t id[COUNT];
    static int8_t state[COUNT];
    static uint16_t half[COUNT];
    static int32_t source[COUNT];
    const char *const sources[] = {"ball", "ground \"a\"\n"};
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 3; k++) {
            position[i][k] = 0.25f * (float)(i + k);
            velocity[i][k] = -0.5f * (float)(i * k);
        }
        pscale[i] = 0.125f;
        mass[i] = 1.0f / 8.0f * (float)(i % 5);
        jp[i] = 1.0 + i / 4096.0;
        id[i] = (uint32_t)i * 1400000u;
        state[i] = (int8_t)(i % 200 - 100);
        half[i] = (uint16_t)(0x3C00 + i % 1024); // 1 + (i % 1024) / 1024
        source[i] = i % 3 - 1;
    }
    const firn_attribute attributes[] = {
        {"P", FIRN_STORAGE_FLOAT32, FIRN_TYPE_POINT, 3, position, NULL, 0},
        {"v", FIRN_STORAGE_FLOAT32, FIRN_TYPE_VECTOR, 3, velocity, NULL, 0},
        {"id", FIRN_STORAGE_UINT32, FIRN_TYPE_NONE, 1, id, NULL, 0},
        {"pscale", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, pscale, NULL, 0},
        {"mass", FIRN_STORAGE_FLOAT32, FIRN_TYPE_NONE, 1, mass, NULL, 0},
        {"Jp", FIRN_STORAGE_FLOAT64, FIRN_TYPE_NONE, 1, jp, NULL, 0},
        {"state", FIRN_STORAGE_INT8, FIRN_TYPE_INTEGER, 1, state, NULL, 0},
        {"half", FIRN_STORAGE_FLOAT16, FIRN_TYPE_NONE, 1, half, NULL, 0},
        {"sourcename", FIRN_STORAGE_STRING, FIRN_TYPE_NONE, 1, source, sources, 2}};
    const int32_t zero = 0, frame = 1001;
    const double dt = 1.0 / 24.0;
    const char *const version = "0.1.0";
    const firn_attribute details[] = {
        {"firn_version", FIRN_STORAGE_STRING, FIRN_TYPE_NONE, 1, &zero, &version, 1},
        {"frame", FIRN_STORAGE_INT32, FIRN_TYPE_NONE, 1, &frame, NULL, 0},
        {"dt", FIRN_STORAGE_FLOAT64, FIRN_TYPE_NONE, 1, &dt, NULL, 0}};
    const firn_points points = {COUNT, attributes, FIRN_COUNT(attributes), details,
                                FIRN_COUNT(details)};
    for (int i = 1; i < argument_count; i++) {
        firn_error error;
        firn_bgeo_def def = firn_bgeo_def_default();
        firn_points written = points;
        if (firn_bgeo_def_from_path(&def, arguments[i], &error) != FIRN_OK)
            return fprintf(stderr, "%s\n", error.message), EXIT_FAILURE;
        if (def.format == FIRN_BGEO_CLASSIC)
            written.count = 1000; // the ids of the others need 64 bits
        if (firn_bgeo_write(arguments[i], &written, &def, &error) != FIRN_OK)
            return fprintf(stderr, "%s\n", error.message), EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
