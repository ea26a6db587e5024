/// What `firn report` tells about a cache, and the parts of its page.
#ifndef FIRN_REPORT_PARTS_H
#define FIRN_REPORT_PARTS_H

#include "firn/cache.h"

#include <stdio.h>

/// A cache as it is on disk now, which may be in the middle of a cook.
typedef struct firn_record {
    char folder[FIRN_PATH_SIZE];
    firn_manifest *manifest;
    firn_manifest_view view;
    firn_graph *graph; // as it was cooked; NULL: it cannot be read, and problem says why
    firn_error problem;
    int first, last;  // frames of the shot
    size_t missing;   // of them, that are not in the cache
    char writer[256]; // host and process that write it, "": nobody
} firn_record;

firn_result firn_record_open(const char *folder, firn_record *record, firn_error *error);
void firn_record_close(firn_record *record);

/// "complete", "being written", "incomplete".
const char *firn_record_state(const firn_record *record);

/// A number of a frame, NAN when the manifest does not have it.
double firn_record_stat(const firn_record *record, size_t frame, const char *name);

/// Its sum or its largest value over all frames; `at` (may be NULL) is the frame of the largest.
double firn_record_sum(const firn_record *record, const char *name);
double firn_record_peak(const firn_record *record, const char *name, int *at);
double firn_record_bytes(const firn_record *record); // of all files

/// The parts of the page; each is empty where there is nothing to show.
void firn_report_tiles(FILE *page, const firn_record *record);
firn_result firn_report_plots(FILE *page, const firn_record *record, firn_error *error);
/// What `firn measure` finds between the first frame and the last.
void firn_report_measures(FILE *page, const firn_record *record);
void firn_report_frames(FILE *page, const firn_record *record);
void firn_report_settings(FILE *page, const firn_record *record);

/// Pictures of `count` frames, evenly spread, drawn from one place.
firn_result firn_report_pictures(FILE *page, const firn_record *record, size_t count,
                                 firn_error *error);

/// The page of the variants under the folder of a wedge.
firn_result firn_report_wedge(FILE *page, const char *folder, firn_error *error);

/// Tiles, plots, pictures, settings and numbers of one cache.
firn_result firn_report_cache(FILE *page, const firn_record *record, size_t pictures,
                              firn_error *error);

#endif
