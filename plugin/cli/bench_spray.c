/// `firn bench --spray`: grains that have flown apart, hardly two in a block of the grid, beside a
/// ball of as many.
#include "bench.h"
#include "command.h"

#include <math.h>
#include <stdio.h>

#define BLOCK_SHARE 0.2  // grains for each block of the space they fly in
#define SPRAY_SPEED 5.0f // m/s, of the fastest

// Equal for equal numbers, from 0 to 1.
static double random_share(uint64_t number)
{
    return (double)(firn_hash64(&number, sizeof number, 1) >> 11) * 0x1p-53;
}

// A cube of grains that all come from its middle.
static firn_result make_spray(const firn_bench_request *request, firn_sim **sim, firn_error *error)
{
    size_t count = (size_t)request->particles;
    double blocks = request->particles / BLOCK_SHARE;
    float edge = 4.0f * request->def.cell_size * (float)cbrt(blocks);
    firn_vec3 *points = firn_bench_take(count * sizeof *points);
    firn_vec3 *velocity = firn_bench_take(count * sizeof *velocity);
    for (size_t i = 0; i < count; i++) {
        firn_vec3 place = {(float)random_share(3 * i) - 0.5f, (float)random_share(3 * i + 1) - 0.5f,
                           (float)random_share(3 * i + 2) - 0.5f};
        points[i] = firn_scale(edge, place);
        velocity[i] = firn_scale(2.0f * SPRAY_SPEED, place);
    }
    firn_source_def spray = firn_source_def_points(points, count);
    const firn_source_value value = {"v", .points = &velocity[0].x};
    spray.values = &value;
    spray.value_count = 1;
    firn_sim_def def = request->def;
    def.free_flight = FIRN_FLIGHT_ALL;
    firn_result result = firn_sim_create(&def, sim, error);
    if (result == FIRN_OK)
        result = firn_sim_add_source(*sim, &spray, NULL, error);
    firn_free(points);
    firn_free(velocity);
    return result;
}

typedef struct side {
    firn_bench_cost cost;
    firn_step_stats stats;
} side;

static firn_result measure(const firn_bench_request *request, firn_sim *spray,
                           firn_bench_scene *ball, side sides[2], firn_error *error)
{
    FIRN_TRY(firn_bench_scene_hit(ball, error));
    firn_sim *sims[2] = {spray, ball->sim};
    for (int round = 0; round < request->rounds; round++)
        for (int i = 0; i < 2; i++)
            FIRN_TRY(firn_bench_round(sims[i], request->steps, &sides[i].cost, error));
    for (int i = 0; i < 2; i++)
        sides[i].stats = firn_sim_stats(sims[i]);
    return FIRN_OK;
}

static void print_json(const side sides[2])
{
    printf("{\"particles\": %zu, \"blocks\": %zu, \"ns_per_particle_step\": %.1f, \"stages\": {",
           sides[0].stats.particles, sides[0].stats.blocks, sides[0].cost.ns);
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf("%s\"%s\": %.2f", s > 0 ? ", " : "", firn_stage_name(s), sides[0].cost.stages[s]);
    printf("}, \"bytes_per_particle\": %.1f, \"ball_ns_per_particle_step\": %.2f, \"ratio\": "
           "%.2f}\n",
           (double)sides[0].stats.bytes / (double)sides[0].stats.particles, sides[1].cost.ns,
           sides[0].cost.ns / sides[1].cost.ns);
}

static void print_table(const firn_bench_request *request, const side sides[2])
{
    static const char *const names[2] = {"spray", "ball"};
    printf("%zu grains, %d threads; ns per particle and substep, best of %d rounds of %d\n\n%8s "
           "%8s",
           sides[0].stats.particles, request->def.thread_count, request->rounds, request->steps, "",
           "ns");
    for (int s = 0; firn_stage_name(s) != NULL; s++)
        printf(" %7s", firn_stage_name(s));
    printf(" %8s %8s\n", "blocks", "bytes");
    for (int i = 0; i < 2; i++) {
        printf("%8s %8.1f", names[i], sides[i].cost.ns);
        for (int s = 0; firn_stage_name(s) != NULL; s++)
            printf(" %7.1f", sides[i].cost.stages[s]);
        printf(" %8zu %8.0f\n", sides[i].stats.blocks,
               (double)sides[i].stats.bytes / (double)sides[i].stats.particles);
    }
    printf("\na grain of spray costs %.1f times as much; blocks are those of the grid, bytes are "
           "for each particle\n",
           sides[0].cost.ns / sides[1].cost.ns);
}

int firn_bench_spray(const firn_bench_request *request)
{
    firn_error error;
    firn_sim *spray = NULL;
    firn_bench_scene ball = {0};
    side sides[2] = {{{0}}};
    firn_result result = make_spray(request, &spray, &error);
    if (result == FIRN_OK)
        result = firn_bench_scene_make(&request->def, request->particles, &ball, &error);
    if (result == FIRN_OK)
        result = measure(request, spray, &ball, sides, &error);
    firn_sim_destroy(spray);
    firn_bench_scene_free(&ball);
    if (result != FIRN_OK)
        return firn_exit_of(result, &error);
    if (request->json)
        print_json(sides);
    else
        print_table(request, sides);
    return FIRN_EXIT_OK;
}
