/// `firn bench --mpi`: one simulation on all ranks of the launcher, measured; the network between
/// them, measured; and a model of both, which docs/scale.md explains, for more ranks.
#include "bench.h"
#include "command.h"
#include "ranks.h"

#include "firn/sim_ranks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PI 3.14159265358979
#define CELLS_PER_BLOCK 4.0
#define PARTICLES_PER_CELL 8.0 // of the scene

/// What a round of substeps cost: sums over ranks, but for what the slowest has.
typedef struct costs {
    double wall;                   // s, most of all ranks
    double busy, most_busy;        // s
    double waited, halo;           // s; of it for pieces of tiles
    double sent, halo_bytes;       // bytes
    double folds, maxima, parcels; // calls, the same on all ranks
    double particles, most_particles;
    double most_bytes; // memory of a rank
} costs;

/// Between two ranks.
typedef struct network {
    double latency;   // s, from a rank to the next
    double bandwidth; // bytes/s
} network;

typedef struct bench_ranks {
    const firn_bench_request *request;
    const firn_exchange *exchange;
    firn_bench_scene scene;
    costs best;
    network found;
} bench_ranks;

// --- Measuring -----------------------------------------------------------------------------------

static void add_costs(void *state, void *context)
{
    costs *all = state;
    const costs *own = context;
    all->wall = fmax(all->wall, own->wall);
    all->busy += own->busy;
    all->most_busy = fmax(all->most_busy, own->busy);
    all->waited += own->waited;
    all->halo += own->halo;
    all->sent += own->sent;
    all->halo_bytes += own->halo_bytes;
    all->folds = own->folds;
    all->maxima = own->maxima;
    all->parcels = own->parcels;
    all->particles += own->particles;
    all->most_particles = fmax(all->most_particles, own->particles);
    all->most_bytes = fmax(all->most_bytes, own->most_bytes);
}

static bool measure_round(bench_ranks *b, firn_result *result, firn_error *error)
{
    const firn_sim *sim = b->scene.sim;
    firn_rank_stats before = firn_sim_rank_stats(sim);
    double begun = firn_seconds();
    *result = firn_bench_until(b->scene.sim, 0.0, b->request->steps, error);
    double wall = firn_seconds() - begun;
    firn_rank_stats now = firn_sim_rank_stats(sim);
    costs all = {0};
    costs own = {.wall = wall,
                 .busy = wall - (now.waited - before.waited),
                 .waited = now.waited - before.waited,
                 .halo = now.halo_seconds - before.halo_seconds,
                 .sent = (double)(now.sent - before.sent),
                 .halo_bytes = (double)(now.halo - before.halo),
                 .folds = (double)(now.folds - before.folds),
                 .maxima = (double)(now.maxima - before.maxima),
                 .parcels = (double)(now.parcels - before.parcels),
                 .particles = (double)now.particles,
                 .most_bytes = (double)firn_sim_stats(sim).bytes};
    if (*result != FIRN_OK ||
        !b->exchange->fold(b->exchange->user, &all, sizeof all, add_costs, &own))
        return false;
    if (b->best.wall == 0.0 || all.wall < b->best.wall)
        b->best = all;
    return true;
}

static void pass_on(void *state, void *context) { (void)state, (void)context; }

// The network by itself: small states that go from rank to rank, and parcels to the next one.
static bool measure_network(bench_ranks *b, firn_result *result, firn_error *error)
{
    enum { FOLDS = 40, PARCELS = 8, BYTES = 1 << 20 };
    const firn_exchange *e = b->exchange;
    const size_t ranks = (size_t)e->rank_count;
    const int next = (e->rank + 1) % e->rank_count,
              last = (e->rank + e->rank_count - 1) % e->rank_count;
    firn_parcel *parcels = firn_alloc_zero(2 * ranks * sizeof *parcels);
    char *bytes = firn_alloc_zero((size_t)2 * BYTES);
    bool fine = parcels != NULL && bytes != NULL;
    double number = 0.0, fold = INFINITY, parcel = INFINITY;
    if (!fine)
        *result = firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot measure the network");
    for (int i = 0; fine && i < FOLDS; i++) {
        double begun = firn_seconds();
        fine = e->fold(e->user, &number, sizeof number, pass_on, NULL);
        fold = fmin(fold, firn_seconds() - begun);
    }
    for (int i = 0; fine && i < PARCELS; i++) {
        parcels[next] = (firn_parcel){bytes, BYTES};
        parcels[ranks + (size_t)last] = (firn_parcel){bytes + BYTES, BYTES};
        double begun = firn_seconds();
        fine = e->begin(e->user, parcels, parcels + ranks) && e->end(e->user);
        parcel = fmin(parcel, firn_seconds() - begun);
    }
    firn_free(parcels);
    firn_free(bytes);
    // On to the last rank, and back to all as a tree.
    b->found.latency = fold / ((double)(ranks - 1) + ceil(log2((double)ranks)));
    b->found.bandwidth = BYTES / fmax(1e-9, parcel - b->found.latency);
    double slowest[2] = {b->found.latency, -b->found.bandwidth};
    fine = fine && e->largest(e->user, slowest, 2);
    b->found = (network){slowest[0], -slowest[1]};
    return fine;
}

static firn_result measure(bench_ranks *b, firn_error *error)
{
    const firn_bench_request *r = b->request;
    firn_result result = FIRN_OK;
    FIRN_TRY(firn_bench_scene_share(&r->def, r->particles, b->exchange, &b->scene, error));
    FIRN_TRY(firn_bench_scene_hit(&b->scene, error));
    bool fine = true;
    for (int round = 0; fine && round < r->rounds; round++)
        fine = measure_round(b, &result, error);
    if (fine && b->exchange->rank_count > 1)
        fine = measure_network(b, &result, error);
    if (!fine && result == FIRN_OK)
        result = firn_fail(error, FIRN_ERR_IO, "a rank was lost");
    return result;
}

// --- The model -----------------------------------------------------------------------------------

/// A ball of snow in layers of blocks, and what was measured of a substep.
typedef struct model {
    double seconds;        // of work for a particle, on one rank
    double bytes_per_cell; // sent for a cell of the area of a cut
    double folds, maxima, parcels;
} model;

// The depth (in radii) at which a plane has cut off a share of a ball.
static double depth_of(double share)
{
    double low = 0.0, high = 2.0;
    for (int i = 0; i < 60; i++) {
        double t = 0.5 * (low + high);
        if (t * t * (3.0 - t) / 4.0 < share)
            low = t;
        else
            high = t;
    }
    return 0.5 * (low + high);
}

static double radius_of(double particles) // cells
{
    return cbrt(particles / PARTICLES_PER_CELL * 3.0 / (4.0 * PI));
}

// The area of all cuts (in cells) between ranks that own layers of a ball.
static double area_of_cuts(double particles, int ranks)
{
    double radius = radius_of(particles), area = 0.0;
    for (int r = 1; r < ranks; r++) {
        double t = depth_of((double)r / ranks);
        area += PI * radius * radius * t * (2.0 - t);
    }
    return area;
}

// The area (in cells) of the busiest rank. Ranks own layers; where there are more ranks than
// layers, strips of them.
static double area_of_rank(double particles, int ranks)
{
    double radius = radius_of(particles), layers = 2.0 * radius / CELLS_PER_BLOCK;
    double section = PI * radius * radius, sides = ranks > 2 ? 2.0 : ranks - 1.0;
    if (ranks <= layers)
        return sides * section;
    return 2.0 * section * layers / ranks + 2.0 * CELLS_PER_BLOCK * 2.0 * radius;
}

/// Seconds of a substep, and what of them is work.
typedef struct prediction {
    double whole, work, halo, latency;
} prediction;

static prediction predict(const model *m, const network *n, double particles, int ranks)
{
    prediction p = {.work = m->seconds * particles / ranks};
    double tree = ceil(log2((double)ranks));
    if (ranks > 1) {
        p.halo = m->bytes_per_cell * area_of_rank(particles, ranks) / n->bandwidth;
        p.latency = n->latency *
                    (m->folds * (ranks - 1 + tree) + m->maxima * 2.0 * tree + m->parcels * 2.0);
    }
    p.whole = p.work + p.halo + p.latency;
    return p;
}

static model model_of(const bench_ranks *b)
{
    const costs *c = &b->best;
    const double steps = b->request->steps;
    double area = area_of_cuts(c->particles, b->exchange->rank_count);
    // A cut has two sides: what was sent over all cuts is the share of both ranks.
    return (model){.seconds = c->busy / (steps * c->particles),
                   .bytes_per_cell = area > 0.0 ? 0.5 * c->halo_bytes / (steps * area) : 0.0,
                   .folds = c->folds / steps,
                   .maxima = c->maxima / steps,
                   .parcels = c->parcels / steps};
}

// --- Telling -------------------------------------------------------------------------------------

static void print_json(const bench_ranks *b)
{
    const costs *c = &b->best;
    const double ranks = b->exchange->rank_count, steps = b->request->steps;
    const model m = model_of(b);
    const prediction p = predict(&m, &b->found, c->particles, b->exchange->rank_count);
    printf("{\"particles\": %.0f, \"ranks\": %.0f, \"threads\": %d, ", c->particles, ranks,
           b->request->def.thread_count);
    firn_bench_print_choices(&b->request->def, true);
    printf(", \"ns_per_particle_step\": %.3f, \"busy_ns\": %.3f, \"imbalance\": %.4f, "
           "\"particle_imbalance\": %.4f, \"waited_share\": %.4f, \"halo_share\": %.4f, "
           "\"sent_per_step\": %.0f, \"halo_bytes_per_step\": %.0f, \"bytes_per_cut_cell\": %.3f, "
           "\"folds_per_step\": %.2f, \"maxima_per_step\": %.2f, \"parcels_per_step\": %.2f, "
           "\"rank_bytes_per_particle\": %.1f, \"latency\": %.3g, \"bandwidth\": %.4g, "
           "\"predicted_ns\": %.3f}\n",
           1e9 * c->wall / (steps * c->particles), 1e9 * m.seconds, c->most_busy * ranks / c->busy,
           c->most_particles * ranks / c->particles, c->waited / (ranks * c->wall),
           c->halo / (ranks * c->wall), c->sent / steps, c->halo_bytes / steps, m.bytes_per_cell,
           m.folds, m.maxima, m.parcels, c->most_bytes * ranks / c->particles, b->found.latency,
           b->found.bandwidth, 1e9 * p.whole / c->particles);
}

static void print_predictions(const model *m, const char *name, const network *n, double particles,
                              bool weak)
{
    static const int ranks[] = {1, 2, 4, 8, 16, 64, 256, 1024};
    printf("%-10s %-6s", name, weak ? "weak" : "strong");
    for (size_t i = 0; i < FIRN_COUNT(ranks); i++) {
        double all = weak ? particles * ranks[i] : particles;
        prediction p = predict(m, n, all, ranks[i]);
        printf(" %7.2f", m->seconds * all / (p.whole * ranks[i]));
    }
    printf("\n");
}

static void print_table(const bench_ranks *b)
{
    const costs *c = &b->best;
    const double ranks = b->exchange->rank_count, steps = b->request->steps;
    const model m = model_of(b);
    const prediction p = predict(&m, &b->found, c->particles, b->exchange->rank_count);
    printf("%.0f particles on %.0f ranks of %d threads, ", c->particles, ranks,
           b->request->def.thread_count);
    firn_bench_print_choices(&b->request->def, false);
    printf(", %s\n", firn_sim_isa(b->scene.sim));
    printf("%10.2f ns per particle and substep (best of %d rounds of %d)\n",
           1e9 * c->wall / (steps * c->particles), b->request->rounds, b->request->steps);
    printf("%10.2f of work, all ranks added\n", 1e9 * m.seconds);
    printf("%10.3f times the mean works the busiest rank; %.3f has the fullest\n",
           c->most_busy * ranks / c->busy, c->most_particles * ranks / c->particles);
    printf("%10.1f %% of the time waited for others, %.1f %% for the halo\n",
           100.0 * c->waited / (ranks * c->wall), 100.0 * c->halo / (ranks * c->wall));
    printf("%10.0f bytes sent in a substep, %.0f of them halo\n", c->sent / steps,
           c->halo_bytes / steps);
    printf("%10.1f bytes of halo for a cell of the cuts, either way\n", m.bytes_per_cell);
    printf("%10.1f sums from rank to rank, %.1f maxima, %.1f parcels in a substep\n", m.folds,
           m.maxima, m.parcels);
    printf("%10.1f bytes per particle of the largest rank\n", c->most_bytes * ranks / c->particles);
    if (b->exchange->rank_count < 2)
        return;
    printf("%10.1f us from rank to rank, %.0f MB/s\n", 1e6 * b->found.latency,
           1e-6 * b->found.bandwidth);
    printf("%10.2f ns by the model\n\n", 1e9 * p.whole / c->particles);
    printf("Predicted efficiency; strong: 100 million particles, weak: 4 million each\n"
           "ranks                   1       2       4       8      16      64     256    1024\n");
    const network ethernet = {15e-6, 1.1e9}, fabric = {2e-6, 11e9};
    print_predictions(&m, "10 Gbit", &ethernet, 1e8, false);
    print_predictions(&m, "100 Gbit", &fabric, 1e8, false);
    print_predictions(&m, "10 Gbit", &ethernet, 4e6, true);
    print_predictions(&m, "100 Gbit", &fabric, 4e6, true);
}

int firn_bench_mpi(const firn_bench_request *request)
{
    firn_error error;
    firn_ranks *ranks = NULL;
    int code = firn_ranks_join(&ranks);
    if (code != FIRN_EXIT_OK)
        return code;
    if (ranks == NULL)
        return firn_usage("bench", "--mpi needs a launcher: mpirun -n 2 firn bench --mpi");
    bench_ranks b = {.request = request, .exchange = firn_ranks_exchange(ranks)};
    firn_result result = measure(&b, &error);
    bool leads = b.exchange->rank == 0;
    if (result == FIRN_OK && leads && request->json)
        print_json(&b);
    else if (result == FIRN_OK && leads)
        print_table(&b);
    else if (result != FIRN_OK && leads)
        firn_exit_of(result, &error);
    firn_bench_scene_free(&b.scene);
    firn_ranks_close(ranks);
    return firn_exit_code(result);
}
