/// `firn measure`: what became of the snow of a cache, in numbers.
#include "command.h"
#include "json.h"
#include "report/followed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct request {
    const char *frame, *from, *piece, *dust, *json;
} request;

/// Bonds count as whole at two thresholds: what hangs on the first one is seen.
static const double tolerances[] = {0.25, 0.10};

// --- Pieces --------------------------------------------------------------------------------------

static void print_pieces(const firn_pieces *p, const firn_pieces_def *def)
{
    printf("Bonds whole within %g %%: %.3f of %zu", 100.0 * def->tolerance, p->whole, p->bonds);
    if (isfinite(p->strength))
        printf(", with %.2f of their strength left", p->strength);
    printf("\n  in %zu pieces above %g cm3  %.3f of the snow, the largest %.3f\n", p->piece_count,
           1e6 * def->piece, p->pieces, p->largest);
    if (p->piece_count > 0)
        printf("  sizes in cm3             %.0f  %.0f  %.0f (above them 10, 50, 90 %% of it)\n",
               1e6 * firn_pieces_quantile(p, 0.1), 1e6 * firn_pieces_quantile(p, 0.5),
               1e6 * firn_pieces_quantile(p, 0.9));
    printf("  in crumbs                %.3f\n  in dust below %g cm3      %.3f\n", p->crumbs,
           1e6 * def->dust, p->dust);
}

static void print_pieces_json(const firn_pieces *p, const firn_pieces_def *def, int *count)
{
    int members = 0;
    char name[32];
    snprintf(name, sizeof name, "within_%g", def->tolerance);
    firn_print_key(stdout, count, name);
    printf("{");
    firn_print_member_number(stdout, &members, "bonds", (double)p->bonds);
    firn_print_member_number(stdout, &members, "whole", p->whole);
    firn_print_member_number(stdout, &members, "strength", p->strength);
    firn_print_member_number(stdout, &members, "pieces", p->pieces);
    firn_print_member_number(stdout, &members, "crumbs", p->crumbs);
    firn_print_member_number(stdout, &members, "dust", p->dust);
    firn_print_member_number(stdout, &members, "largest", p->largest);
    firn_print_key(stdout, &members, "sizes_m3");
    printf("[");
    for (size_t i = 0; i < p->piece_count; i++) {
        printf(i > 0 ? ", " : "");
        firn_print_json_number(stdout, p->sizes[i]);
    }
    printf("]}");
}

static firn_result measure_pieces(const firn_followed *f, firn_pieces_def def, bool json,
                                  int *count, firn_error *error)
{
    firn_pieces_input input = firn_followed_pieces(f);
    for (size_t i = 0; i < FIRN_COUNT(tolerances); i++) {
        firn_pieces pieces;
        def.tolerance = tolerances[i];
        FIRN_TRY(firn_pieces_find(&input, &def, &pieces, error));
        if (json)
            print_pieces_json(&pieces, &def, count);
        else
            print_pieces(&pieces, &def);
        firn_pieces_free(&pieces);
    }
    return FIRN_OK;
}

// --- Packing -------------------------------------------------------------------------------------

static firn_result measure_packing(const firn_followed *f, bool json, int *count, firn_error *error)
{
    firn_packing p;
    firn_packing_input input = firn_followed_packing(f);
    FIRN_TRY(firn_packing_find(&input, &p, error));
    const struct {
        const char *name, *label, *unit;
        double scale, value;
    } rows[] = {
        {"height_before_m", "height before", "cm", 1e2, p.height_before},
        {"height_after_m", "height after", "cm", 1e2, p.height_after},
        {"imprint_m3", "imprint", "cm3", 1e6, p.imprint},
        {"depth_m", "its depth", "cm", 1e2, p.depth},
        {"rim_m3", "rim above the old surface", "cm3", 1e6, p.rim},
        {"rim_share", "rim per imprint", "", 1.0, p.imprint > 0.0 ? p.rim / p.imprint : 0.0},
        {"density_before", "density before", "kg/m3", 1.0, p.density_before},
        {"density_after", "density after", "kg/m3", 1.0, p.density_after},
        {"density_below", "density below the imprint", "kg/m3", 1.0, p.density_below},
    };
    for (size_t i = 0; i < FIRN_COUNT(rows); i++) {
        if (json)
            firn_print_member_number(stdout, count, rows[i].name, rows[i].value);
        else if (isfinite(rows[i].value))
            printf("%-26s %.4g %s\n", rows[i].label, rows[i].scale * rows[i].value, rows[i].unit);
    }
    return FIRN_OK;
}

// --- The command ---------------------------------------------------------------------------------

static bool read_size(const char *text, double *size)
{
    double value = 0.0;
    if (text == NULL)
        return true;
    if (!firn_read_number(text, &value) || value < 0.0)
        return false;
    *size = 1e-6 * value;
    return true;
}

static firn_result measure(const char *what, const char *cache, int from, int to,
                           const firn_pieces_def *def, bool json, firn_error *error)
{
    firn_followed f;
    firn_result result = firn_followed_read(cache, from, to, &f, error);
    int count = 0;
    if (result == FIRN_OK && json) {
        printf("{");
        firn_print_member_number(stdout, &count, "from", f.from);
        firn_print_member_number(stdout, &count, "frame", f.to);
        firn_print_member_number(stdout, &count, "particles", (double)f.count);
        firn_print_member_number(stdout, &count, "lost", (double)f.lost);
    } else if (result == FIRN_OK) {
        printf("%s: frame %d against frame %d, %zu particles", cache, f.to, f.from, f.count);
        printf(f.lost > 0 ? ", %zu are gone\n" : "\n", f.lost);
    }
    if (result == FIRN_OK)
        result = strcmp(what, "pieces") == 0 ? measure_pieces(&f, *def, json, &count, error)
                                             : measure_packing(&f, json, &count, error);
    if (result == FIRN_OK && json)
        printf("}\n");
    firn_followed_free(&f);
    return result;
}

static int run(const void *memory, const firn_words *words)
{
    const request *r = memory;
    const char *what = words->words[0];
    int from = FIRN_FOLLOW_END, to = FIRN_FOLLOW_END;
    firn_pieces_def def = firn_pieces_def_default();
    if (strcmp(what, "pieces") != 0 && strcmp(what, "packing") != 0)
        return firn_usage("measure", "it measures pieces or packing, not '%s'", what);
    if ((r->frame != NULL && !firn_read_int(r->frame, -1000000, 1000000, &to)) ||
        (r->from != NULL && !firn_read_int(r->from, -1000000, 1000000, &from)))
        return firn_usage("measure", "--frame and --from must be whole numbers");
    if (!read_size(r->piece, &def.piece) || !read_size(r->dust, &def.dust) || def.dust > def.piece)
        return firn_usage("measure", "--piece and --dust must be sizes in cm3, dust the smaller");
    firn_error error;
    firn_result result = measure(what, words->words[1], from, to, &def, r->json != NULL, &error);
    return firn_exit_of(result, &error);
}

static const firn_option rows[] = {
    {"--frame", "N", "the frame to measure; the last one unless given", offsetof(request, frame)},
    {"--from", "N", "the frame that it is compared with; the first one unless given",
     offsetof(request, from)},
    {"--piece", "CM3", "what is larger is a piece; 20 unless given", offsetof(request, piece)},
    {"--dust", "CM3", "what is smaller is dust; 5 unless given", offsetof(request, dust)},
    {"--json", NULL, "one JSON object, in SI units", offsetof(request, json)},
};

const firn_command firn_command_measure = {
    .name = "measure",
    .summary = "measures what broke, or what was packed",
    .usage = "pieces|packing CACHE [OPTIONS]",
    .about =
        "pieces: what stayed together. Particles that were neighbors in the first frame have\n"
        "a bond, which is whole while its length has changed by less than a quarter (and,\n"
        "stricter, a tenth). Pieces are what whole bonds hold together, with the volume that\n"
        "they had at first; snow that only lies in one heap is not one piece.\n\n"
        "packing: how far the surface sank and rose, column by column, and how dense the snow\n"
        "became.\n",
    .example = "  firn measure pieces cache/snowball_smash/v1\n"
               "  firn measure packing cache/walking_character/v1 --frame 48 --json\n",
    .own = {rows, FIRN_COUNT(rows)},
    .request_size = sizeof(request),
    .least = 2,
    .most = 2,
    .run = run,
};
