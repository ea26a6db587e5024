#include "page.h"
#include "report_parts.h"

#include <math.h>
#include <string.h>

/// What the sentence of a plot says about its first series.
typedef enum finding {
    FINDING_TOTAL, // the sum, and the largest
    FINDING_PEAK,  // the largest
    FINDING_END,   // the last, and where it began
    FINDING_NONE,  // nothing; the lines are the point
} finding;

// clang-format off
static const struct {
    const char *title, *unit;
    double scale;   // from the manifest's unit
    bool from_zero;
    bool stepped;   // known after a substep only
    finding finding;
    struct { const char *stat, *label; } series[FIRN_PLOT_SERIES];
} rows[] = {
    {"Wall time of a frame", "s", 1.0, true, false, FINDING_TOTAL, {{"seconds", "wall time"}}},
    {"Substeps of a frame", "", 1.0, true, false, FINDING_TOTAL,
     {{"substeps", "done"}, {"rejected", "rejected"}}},
    {"Length of the last substep", "ms", 1e3, true, true, FINDING_END, {{"dt", "substep"}}},
    {"Iterations of the implicit solve, per frame", "", 1.0, true, false, FINDING_TOTAL,
     {{"iterations", "iterations"}}},
    {"Energy of the snow", "J", 1.0, true, true, FINDING_NONE,
     {{"kinetic", "kinetic"}, {"elastic", "elastic"}, {"potential", "potential, from height 0"}}},
    {"Highest speed", "m/s", 1.0, true, true, FINDING_PEAK, {{"max_speed", "highest speed"}}},
    {"Particles", "", 1.0, true, false, FINDING_END, {{"particles", "particles"}}},
    {"Plastic volume ratio: below 1 packed, above 1 loosened", "", 1.0, false, true, FINDING_END,
     {{"mean_jp", "mean J_P"}, {"min_jp", "smallest J_P"}}},
    {"Memory of the simulation", "MB", 1e-6, true, true, FINDING_PEAK, {{"bytes", "memory"}}},
    {"Work of the ranks, per frame", "s", 1.0, true, false, FINDING_NONE,
     {{"rank_seconds", "mean rank"}, {"rank_seconds_most", "busiest"}, {"rank_waited", "waits"}}},
    {"Sent between ranks, per frame", "MB", 1e-6, true, false, FINDING_TOTAL,
     {{"rank_sent", "sent"}}},
    {"Files of a frame", "MB", 1e-6, true, false, FINDING_TOTAL, {{"file_bytes", "files"}}},
};
// clang-format on

static double value_of(const firn_record *record, size_t frame, const char *name)
{
    if (strcmp(name, "file_bytes") != 0)
        return firn_record_stat(record, frame, name);
    const firn_cache_frame *at = &record->view.frames[frame];
    double bytes = 0.0;
    for (size_t k = 0; k < at->file_count; k++)
        bytes += (double)at->files[k].size;
    return bytes;
}

// Fills the values of a series; false when no frame has one.
static bool fill(const firn_record *record, size_t row, const char *stat, double *values)
{
    bool any = false;
    for (size_t i = 0; i < record->view.frame_count; i++) {
        bool known = !rows[row].stepped || firn_record_stat(record, i, "substeps") > 0.0;
        values[i] = known ? rows[row].scale * value_of(record, i, stat) : NAN;
        any = any || isfinite(values[i]);
    }
    return any;
}

static const char *number(double value, const char *unit, char text[48])
{
    char digits[32];
    if (unit[0] == '\0' && fabs(value) >= 100.0)
        snprintf(text, 48, "%s", firn_page_count(value, digits));
    else if (strcmp(unit, "s") == 0)
        snprintf(text, 48, "%s", firn_page_time(value, digits));
    else
        snprintf(text, 48, "%.3g%s%s", value, unit[0] != '\0' ? " " : "", unit);
    return text;
}

static void find(const firn_plot *plot, finding kind, char *text, size_t size)
{
    double sum = 0.0, peak = -HUGE_VAL, first = NAN, last = NAN;
    int at = 0;
    char a[48], b[48];
    const double *values = plot->series[0].values;
    for (size_t i = 0; i < plot->count; i++) {
        if (!isfinite(values[i]))
            continue;
        sum += values[i];
        first = isfinite(first) ? first : values[i];
        last = values[i];
        if (values[i] > peak) {
            peak = values[i];
            at = plot->frames[i];
        }
    }
    if (kind == FINDING_TOTAL && sum == 0.0)
        snprintf(text, size, "None in %zu frames", plot->count);
    else if (kind == FINDING_TOTAL)
        snprintf(text, size, "%s in all; the most, %s, in frame %d", number(sum, plot->unit, a),
                 number(peak, plot->unit, b), at);
    else if (kind == FINDING_PEAK)
        snprintf(text, size, "At most %s, in frame %d", number(peak, plot->unit, a), at);
    else if (kind == FINDING_END && first == last)
        snprintf(text, size, "%s from first to last", number(last, plot->unit, a));
    else if (kind == FINDING_END)
        snprintf(text, size, "%s at the end, %s at the start", number(last, plot->unit, a),
                 number(first, plot->unit, b));
    else
        snprintf(text, size, "Kinetic energy is at most %s, in frame %d",
                 number(peak, plot->unit, a), at);
}

static void print_row(FILE *page, const firn_record *record, size_t row, const int *frames,
                      double *values)
{
    size_t count = record->view.frame_count;
    firn_plot plot = {.title = rows[row].title,
                      .unit = rows[row].unit,
                      .from_zero = rows[row].from_zero,
                      .first = record->first,
                      .last = record->last,
                      .count = count,
                      .frames = frames};
    for (size_t s = 0; s < FIRN_PLOT_SERIES && rows[row].series[s].stat != NULL; s++) {
        double *own = values + s * count;
        bool any = fill(record, row, rows[row].series[s].stat, own);
        bool worth = s == 0 || strcmp(rows[row].series[s].stat, "rejected") != 0 ||
                     firn_record_sum(record, "rejected") > 0.0;
        if (!any || !worth)
            continue;
        plot.series[plot.series_count].label = rows[row].series[s].label;
        plot.series[plot.series_count++].values = own;
    }
    if (plot.series_count == 0)
        return;
    char text[160];
    find(&plot, rows[row].finding, text, sizeof text);
    plot.finding = text;
    firn_page_plot(page, &plot);
}

// The force and the torque of the snow on a collider, which is known by the name of its node.
enum { NAME_SIZE = 256 }; // of a collider; those of nodes are shorter
static const struct {
    const char *what, *about, *unit, *stats[FIRN_PLOT_SERIES], *labels[FIRN_PLOT_SERIES];
} contacts[] = {
    {"Force",
     "",
     "N",
     {"force_x", "force_y", "force_z", "force_peak"},
     {"x", "y", "z", "peak of a substep"}},
    {"Torque", ", about its pivot", "N m", {"torque_x", "torque_y", "torque_z"}, {"x", "y", "z"}},
};

// Draws a plot of a collider, unless nothing ever touched it.
static void print_contact(FILE *page, const firn_record *record, size_t row, const char *collider,
                          const int *frames, double *values)
{
    size_t count = record->view.frame_count;
    char title[NAME_SIZE + 64], text[NAME_SIZE + 64], name[NAME_SIZE + 32];
    snprintf(title, sizeof title, "%s of the snow on %s%s", contacts[row].what, collider,
             contacts[row].about);
    firn_plot plot = {.title = title,
                      .unit = contacts[row].unit,
                      .from_zero = true,
                      .first = record->first,
                      .last = record->last,
                      .count = count,
                      .frames = frames};
    double most = 0.0;
    int at = 0;
    for (size_t s = 0; s < FIRN_PLOT_SERIES && contacts[row].stats[s] != NULL; s++) {
        double *own = values + s * count;
        snprintf(name, sizeof name, "%s.%s", collider, contacts[row].stats[s]);
        for (size_t i = 0; i < count; i++) {
            own[i] = firn_record_stat(record, i, name);
            if (fabs(own[i]) > most) {
                most = fabs(own[i]);
                at = frames[i];
            }
        }
        plot.series[plot.series_count].label = contacts[row].labels[s];
        plot.series[plot.series_count++].values = own;
    }
    if (!(most > 0.0))
        return;
    char digits[48];
    snprintf(text, sizeof text, "At most %s, in frame %d", number(most, plot.unit, digits), at);
    plot.finding = text;
    firn_page_plot(page, &plot);
}

// Colliders are those that the last frame has forces of.
static void print_contacts(FILE *page, const firn_record *record, const int *frames, double *values)
{
    static const char ending[] = ".force_x";
    const firn_cache_frame *last = &record->view.frames[record->view.frame_count - 1];
    for (size_t k = 0; k < last->stat_count; k++) {
        const char *stat = last->stats[k].name;
        size_t length = strlen(stat), size = sizeof ending - 1;
        char collider[NAME_SIZE];
        if (length <= size || length - size >= sizeof collider ||
            strcmp(stat + length - size, ending) != 0)
            continue;
        snprintf(collider, sizeof collider, "%.*s", (int)(length - size), stat);
        for (size_t row = 0; row < FIRN_COUNT(contacts); row++)
            print_contact(page, record, row, collider, frames, values);
    }
}

firn_result firn_report_plots(FILE *page, const firn_record *record, firn_error *error)
{
    size_t count = record->view.frame_count;
    if (count == 0)
        return FIRN_OK;
    int *frames = firn_alloc(count * sizeof *frames);
    double *values = firn_alloc(FIRN_PLOT_SERIES * count * sizeof *values);
    if (frames != NULL && values != NULL) {
        for (size_t i = 0; i < count; i++)
            frames[i] = record->view.frames[i].frame;
        fputs("<div class=\"plots\">\n", page);
        for (size_t row = 0; row < FIRN_COUNT(rows); row++)
            print_row(page, record, row, frames, values);
        print_contacts(page, record, frames, values);
        fputs("</div>\n", page);
    }
    bool fine = frames != NULL && values != NULL;
    firn_free(frames);
    firn_free(values);
    return fine ? FIRN_OK
                : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot draw the plots");
}
