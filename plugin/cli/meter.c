#define _DEFAULT_SOURCE
#include "meter.h"

#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_PAUSE 0.1 // s between two drawings
#define LOG_PAUSE 1.0 // s between two progress events

enum { BAR_WIDTH = 24, CLOCK_SIZE = 32, LINE_SIZE = 240 };

bool firn_progress_is_known(const char *progress)
{
    return progress == NULL || strcmp(progress, "alf") == 0 || strcmp(progress, "openjd") == 0;
}

firn_voice firn_voice_choose(bool quiet, bool json, const char *progress)
{
    if (json)
        return FIRN_VOICE_JSON;
    if (quiet)
        return FIRN_VOICE_QUIET;
    if (progress != NULL)
        return strcmp(progress, "openjd") == 0 ? FIRN_VOICE_OPENJD : FIRN_VOICE_PLAIN;
    const char *terminal = getenv("TERM");
    bool draws = terminal == NULL || strcmp(terminal, "dumb") != 0; // one that moves its cursor
    return draws && isatty(STDOUT_FILENO) ? FIRN_VOICE_BAR : FIRN_VOICE_PLAIN;
}

// Columns of the terminal as it is now; 80 when it does not tell.
static int columns_of_terminal(void)
{
    struct winsize size = {0};
    bool told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return told ? size.ws_col : 80;
}

static double stat_of(const firn_stat *stats, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(stats[i].name, name) == 0)
            return stats[i].value;
    return NAN;
}

static double fraction_of(const firn_meter *meter)
{
    double share = meter->done / (meter->last - meter->first + 1);
    return share < 1.0 ? share : 1.0;
}

// Seconds until the end, at the pace of this run; NAN when it is too early to tell.
static double seconds_left(const firn_meter *meter)
{
    double made = meter->done - meter->done_first;
    double missing = meter->last - meter->first + 1 - meter->done;
    return made > 1e-3 ? (firn_seconds() - meter->begun) * missing / made : (double)NAN;
}

static const char *clock_text(double seconds, char *text)
{
    if (!(seconds >= 0.0 && seconds < 1e8)) {
        snprintf(text, CLOCK_SIZE, "-:--:--");
        return text;
    }
    long whole = (long)(seconds + 0.5);
    snprintf(text, CLOCK_SIZE, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

// A line that is longer than the terminal would leave a trail of lines: what matters comes first,
// and the rest is cut.
static void draw_bar(const firn_meter *meter, const firn_report *report)
{
    char bar[BAR_WIDTH + 1], left[CLOCK_SIZE], line[LINE_SIZE];
    double share = fraction_of(meter);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < (int)(share * BAR_WIDTH) ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    double particles = stat_of(report->stats, report->stat_count, "particles");
    double substeps = stat_of(report->stats, report->stat_count, "substeps");
    int columns = columns_of_terminal();
    int length =
        snprintf(line, sizeof line, "[%s] %3.0f%%  frame %d of %d  ETA %s", bar, 100.0 * share,
                 report->frame, meter->last, clock_text(seconds_left(meter), left));
    if (!isnan(substeps))
        length +=
            snprintf(line + length, sizeof line - (size_t)length, "  %.0f substeps", substeps);
    if (!isnan(particles))
        snprintf(line + length, sizeof line - (size_t)length, "  %.0f particles", particles);
    printf("\r%.*s\033[K", columns > 1 ? columns - 1 : 1, line);
    fflush(stdout);
}

static void erase_bar(const firn_meter *meter)
{
    if (meter->voice == FIRN_VOICE_BAR)
        printf("\r\033[K");
}

static void tell_percent(firn_meter *meter)
{
    int parts = meter->parts > 0 ? meter->parts : 1;
    int percent = (int)(100.0 * (meter->part + fraction_of(meter)) / parts);
    bool openjd = meter->voice == FIRN_VOICE_OPENJD;
    if ((meter->voice != FIRN_VOICE_PLAIN && !openjd) || percent <= meter->percent)
        return;
    meter->percent = percent;
    printf(openjd ? "openjd_progress: %d\n" : "ALF_PROGRESS %d%%\n", percent);
    fflush(stdout);
}

static void begin_event(const char *event, int *members)
{
    *members = 0;
    fputc('{', stdout);
    firn_print_member_text(stdout, members, "event", event);
}

static void end_event(void)
{
    fputs("}\n", stdout);
    fflush(stdout);
}

static void print_stats(int *members, const firn_stat *stats, size_t count)
{
    for (size_t i = 0; i < count; i++)
        firn_print_member_number(stdout, members, stats[i].name, stats[i].value);
}

static void log_progress(const firn_meter *meter, const firn_report *report)
{
    int members;
    begin_event("progress", &members);
    firn_print_member_text(stdout, &members, "node", report->node);
    firn_print_member_number(stdout, &members, "frame", report->frame);
    firn_print_member_number(stdout, &members, "fraction", fraction_of(meter));
    firn_print_member_number(stdout, &members, "seconds_left", seconds_left(meter));
    firn_print_key(stdout, &members, "stats");
    fputc('{', stdout);
    int inner = 0;
    print_stats(&inner, report->stats, report->stat_count);
    fputc('}', stdout);
    end_event();
}

void firn_meter_start(firn_meter *meter, const char *name, const char *folder)
{
    meter->begun = firn_seconds();
    meter->done = 0.0;
    meter->done_first = -1.0;
    meter->spoken = meter->voice == FIRN_VOICE_BAR ? -BAR_PAUSE : meter->begun;
    meter->percent = -1;
    meter->written = 0;
    if (meter->voice == FIRN_VOICE_JSON) {
        int members;
        begin_event("start", &members);
        firn_print_member_text(stdout, &members, "program", "firn " FIRN_VERSION);
        firn_print_member_text(stdout, &members, "name", name);
        firn_print_member_text(stdout, &members, "folder", folder);
        firn_print_member_number(stdout, &members, "first", meter->first);
        firn_print_member_number(stdout, &members, "last", meter->last);
        end_event();
    } else if (meter->voice != FIRN_VOICE_QUIET) {
        printf("%s: frames %d to %d into %s\n", name, meter->first, meter->last, folder);
        fflush(stdout);
    }
    tell_percent(meter);
}

void firn_meter_report(firn_meter *meter, const firn_report *report, bool whole)
{
    double done = report->frame - meter->first + (whole ? report->fraction : 0.0);
    if (meter->done_first < 0.0)
        meter->done_first = floor(done);
    meter->done = done > meter->done ? done : meter->done;
    tell_percent(meter);
    double now = firn_seconds();
    if (meter->voice == FIRN_VOICE_BAR && now - meter->spoken >= BAR_PAUSE) {
        draw_bar(meter, report);
        meter->spoken = now;
    } else if (meter->voice == FIRN_VOICE_JSON && now - meter->spoken >= LOG_PAUSE) {
        log_progress(meter, report);
        meter->spoken = now;
    }
}

static void print_frame(const firn_meter *meter, int frame, const firn_stat *stats, size_t count)
{
    char left[CLOCK_SIZE];
    double particles = stat_of(stats, count, "particles");
    double substeps = stat_of(stats, count, "substeps");
    double seconds = stat_of(stats, count, "seconds");
    printf(meter->voice == FIRN_VOICE_OPENJD ? "openjd_status: frame %d" : "frame %d", frame);
    if (!isnan(particles))
        printf("  %.0f particles", particles);
    if (!isnan(substeps))
        printf("  %.0f substeps", substeps);
    if (!isnan(seconds))
        printf("  %.2f s", seconds);
    printf("  ETA %s\n", clock_text(seconds_left(meter), left));
}

void firn_meter_frame(firn_meter *meter, int frame, bool skipped, const firn_stat *stats,
                      size_t count)
{
    double done = frame - meter->first + 1;
    if (meter->done_first < 0.0 || (skipped && meter->written == 0))
        meter->done_first = skipped ? done : done - 1.0;
    meter->done = done > meter->done ? done : meter->done;
    meter->written += !skipped;
    if (meter->voice == FIRN_VOICE_JSON) {
        int members;
        begin_event("frame", &members);
        firn_print_member_number(stdout, &members, "frame", frame);
        firn_print_key(stdout, &members, "skipped");
        fputs(skipped ? "true" : "false", stdout);
        firn_print_member_number(stdout, &members, "fraction", fraction_of(meter));
        print_stats(&members, stats, count);
        end_event();
    } else if (meter->voice != FIRN_VOICE_QUIET && !skipped) {
        erase_bar(meter);
        print_frame(meter, frame, stats, count);
        fflush(stdout);
        meter->spoken = -BAR_PAUSE; // the bar comes back with the next report
    }
    tell_percent(meter);
}

void firn_meter_log(firn_meter *meter, firn_level level, const char *node, const char *message)
{
    static const char *const levels[] = {"info", "warning", "error"};
    if (meter->voice == FIRN_VOICE_JSON) {
        int members;
        begin_event("log", &members);
        firn_print_member_text(stdout, &members, "level", levels[level]);
        firn_print_member_text(stdout, &members, "node", node != NULL ? node : "");
        firn_print_member_text(stdout, &members, "message", message);
        end_event();
        return;
    }
    if (meter->voice == FIRN_VOICE_QUIET && level == FIRN_LEVEL_INFO)
        return;
    erase_bar(meter);
    FILE *file = level == FIRN_LEVEL_INFO ? stdout : stderr;
    fprintf(file, "%s: %s%s%s\n", levels[level], node != NULL ? node : "",
            node != NULL && node[0] != '\0' ? ": " : "", message);
    fflush(file);
}

void firn_meter_refuse(firn_voice voice, int code, const char *message)
{
    if (voice == FIRN_VOICE_OPENJD)
        printf("openjd_fail: %s\n", message);
    if (voice != FIRN_VOICE_JSON)
        return;
    int members;
    begin_event("failed", &members);
    firn_print_member_number(stdout, &members, "exit", code);
    firn_print_member_number(stdout, &members, "frames", 0.0);
    firn_print_member_text(stdout, &members, "message", message);
    end_event();
}

void firn_meter_finish(firn_meter *meter, int code, const char *node, const char *message)
{
    double seconds = firn_seconds() - meter->begun;
    erase_bar(meter);
    if (message == NULL) {
        meter->done = meter->last - meter->first + 1;
        tell_percent(meter);
    }
    if (meter->voice == FIRN_VOICE_JSON) {
        int members;
        begin_event(message == NULL ? "done" : "failed", &members);
        firn_print_member_number(stdout, &members, "exit", code);
        firn_print_member_number(stdout, &members, "frames", meter->written);
        firn_print_member_number(stdout, &members, "seconds", seconds);
        if (message != NULL) {
            firn_print_member_text(stdout, &members, "node", node);
            firn_print_member_text(stdout, &members, "message", message);
        }
        end_event();
    } else if (meter->voice != FIRN_VOICE_QUIET && message == NULL) {
        char text[CLOCK_SIZE];
        printf("%d frame%s written in %s\n", meter->written, meter->written == 1 ? "" : "s",
               clock_text(seconds, text));
    }
    if (meter->voice == FIRN_VOICE_OPENJD && message != NULL)
        printf("openjd_fail: %s\n", message);
    fflush(stdout);
    if (message != NULL)
        fprintf(stderr, "firn: %s\n", message);
}
