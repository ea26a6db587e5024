/// An HTML page that needs no other file: style, script, pictures and plots are in it. Light and
/// dark follow the reader's system.
///
/// Whatever comes from a scene or a file name goes through firn_page_text.
#ifndef FIRN_PAGE_H
#define FIRN_PAGE_H

#include "firn/base.h"

#include <stdio.h>

/// Head and style of a page, up to its body; and its end, with the script.
void firn_page_begin(FILE *page, const char *title);
void firn_page_end(FILE *page);

/// A text in which nothing is markup, for content and for quoted attributes.
void firn_page_text(FILE *page, const char *text);

/// Seconds, bytes and counts as people write them: "3 min 20 s", "12.4 MB", "1.2 M".
const char *firn_page_time(double seconds, char text[32]);
const char *firn_page_bytes(double bytes, char text[32]);
const char *firn_page_count(double count, char text[32]);

/// A picture of RGB pixels, inside the page.
firn_result firn_page_image(FILE *page, int width, int height, const uint8_t *rgb,
                            const char *description, firn_error *error);

enum { FIRN_PLOT_SERIES = 4 };

/// Lines over frames. Values that are not finite are left out, and the line has a gap there.
typedef struct firn_plot {
    const char *title, *finding; // what is drawn, and what there is to see in it
    const char *unit;            // of the values, "": counts
    bool from_zero;              // else the axis begins near the smallest value
    int first, last;             // of the frame axis; frames that are not there yet are shaded
    size_t count;
    const int *frames; // in rising order
    size_t series_count;
    struct {
        const char *label;
        const double *values;
    } series[FIRN_PLOT_SERIES];
} firn_plot;

void firn_page_plot(FILE *page, const firn_plot *plot);

/// The distance of round axis marks (1, 2 or 5 times a power of ten) with at most `count` of them
/// between two values; at least `least`.
double firn_plot_step(double lower, double upper, int count, double least);

/// A mark of an axis with the decimals that the distance of the marks asks for.
const char *firn_plot_mark(double value, double step, char text[32]);

#endif
