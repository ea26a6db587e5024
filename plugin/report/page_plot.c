#include "page.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 480,
    HEIGHT = 210,
    LEFT = 58,
    RIGHT = 468,
    TOP = 20,
    BOTTOM = 172,
    DOTS_MAX = 40,
};

typedef struct axis {
    double lower, upper, step;
} axis;

double firn_plot_step(double lower, double upper, int count, double least)
{
    static const double factors[] = {1.0, 2.0, 5.0, 10.0};
    double rough = (upper - lower) / count;
    if (!(rough > least))
        return least > 0.0 ? least : 1.0;
    double power = pow(10.0, floor(log10(rough)));
    for (size_t i = 0; i < FIRN_COUNT(factors); i++)
        if (factors[i] * power >= rough * (1.0 - 1e-9))
            return fmax(factors[i] * power, least);
    return 10.0 * power;
}

const char *firn_plot_mark(double value, double step, char text[32])
{
    static const struct {
        double size;
        const char *unit;
    } scales[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1.0, ""}};
    size_t s = 0;
    // Thousands are shortened where the marks have five digits or more.
    while (s + 1 < FIRN_COUNT(scales) &&
           fmax(fabs(value), 10.0 * step) < (s == 2 ? 1e4 : scales[s].size))
        s++;
    double size = fabs(value) < 0.5 * step ? 1.0 : scales[s].size;
    if (step < 1e-4 && size == 1.0 && fabs(value) >= 0.5 * step) {
        snprintf(text, 32, "%.3g", value);
        return text;
    }
    double exponent = floor(log10(step / size) + 1e-9);
    int decimals = exponent < 0.0 && fabs(value) >= 0.5 * step ? (int)-exponent : 0;
    snprintf(text, 32, "%.*f%s", decimals, value / size + 0.0, size > 1.0 ? scales[s].unit : "");
    return text;
}

static axis value_axis(const firn_plot *plot)
{
    double lower = HUGE_VAL, upper = -HUGE_VAL;
    for (size_t s = 0; s < plot->series_count; s++)
        for (size_t i = 0; i < plot->count; i++) {
            double value = plot->series[s].values[i];
            if (isfinite(value)) {
                lower = fmin(lower, value);
                upper = fmax(upper, value);
            }
        }
    if (lower > upper)
        lower = upper = 0.0;
    if (plot->from_zero) {
        lower = fmin(lower, 0.0);
        upper = fmax(upper, 0.0);
    }
    if (upper - lower < 1e-9 * fmax(fabs(lower), fabs(upper)) || upper == lower) {
        double room = upper != 0.0 ? 0.1 * fabs(upper) : 1.0;
        upper += room;
        lower -= plot->from_zero ? 0.0 : room;
    }
    axis y = {lower, upper, firn_plot_step(lower, upper, 4, 0.0)};
    y.lower = y.step * floor(lower / y.step + 1e-9);
    y.upper = y.step * ceil(upper / y.step - 1e-9);
    return y;
}

static double place_x(const firn_plot *plot, double frame)
{
    if (plot->last <= plot->first)
        return 0.5 * (LEFT + RIGHT);
    return LEFT + (RIGHT - LEFT) * (frame - plot->first) / (plot->last - plot->first);
}

static double place_y(const axis *y, double value)
{
    return BOTTOM - (BOTTOM - TOP) * (value - y->lower) / (y->upper - y->lower);
}

static void print_axes(FILE *page, const firn_plot *plot, const axis *y)
{
    char text[32];
    for (int i = 0; i <= (int)lround((y->upper - y->lower) / y->step); i++) {
        double value = y->lower + i * y->step, at = place_y(y, value);
        fprintf(page,
                "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                fabs(value) < 0.5 * y->step ? "axis" : "grid", LEFT, RIGHT, at, at, LEFT - 6,
                at + 4.0, firn_plot_mark(value, y->step, text));
    }
    fprintf(page, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT, RIGHT,
            BOTTOM, BOTTOM);
    double step = firn_plot_step(plot->first, plot->last, 8, 1.0);
    for (double frame = step * ceil(plot->first / step); frame <= plot->last; frame += step)
        fprintf(page,
                "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                place_x(plot, frame), place_x(plot, frame), BOTTOM, BOTTOM + 4,
                place_x(plot, frame), BOTTOM + 17, frame);
    fprintf(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">frame</text>\n", RIGHT, HEIGHT - 6);
    if (plot->unit[0] != '\0') {
        fprintf(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6, TOP - 9);
        firn_page_text(page, plot->unit);
        fputs("</text>\n", page);
    }
}

// Frames of the shot that are not in the cache, before the first and after the last one that is.
static void print_waiting(FILE *page, const firn_plot *plot)
{
    const double ends[2][2] = {
        {plot->first, plot->count > 0 ? plot->frames[0] : plot->last},
        {plot->count > 0 ? plot->frames[plot->count - 1] : plot->last, plot->last}};
    for (int i = 0; i < 2; i++)
        if (ends[i][1] > ends[i][0])
            fprintf(page,
                    "<rect class=\"wait\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">"
                    "<title>not cooked</title></rect>\n",
                    place_x(plot, ends[i][0]), TOP,
                    place_x(plot, ends[i][1]) - place_x(plot, ends[i][0]), BOTTOM - TOP);
}

static void print_line(FILE *page, const firn_plot *plot, const axis *y, size_t series)
{
    const double *values = plot->series[series].values;
    bool drawing = false;
    fprintf(page, "<path class=\"line\" style=\"stroke:var(--s%zu)\" d=\"", series);
    for (size_t i = 0; i < plot->count; i++) {
        if (isfinite(values[i]))
            fprintf(page, "%c%.1f %.1f", drawing ? 'L' : 'M', place_x(plot, plot->frames[i]),
                    place_y(y, values[i]));
        drawing = isfinite(values[i]);
    }
    fputs("\"/>\n", page);
    for (size_t i = 0; plot->count <= DOTS_MAX && i < plot->count; i++)
        if (isfinite(values[i]))
            fprintf(page, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" style=\"fill:var(--s%zu)\"/>",
                    place_x(plot, plot->frames[i]), place_y(y, values[i]), series);
}

// What the script shows under the pointer.
static void print_values(FILE *page, const firn_plot *plot)
{
    fprintf(page,
            "{&quot;width&quot;:%d,&quot;left&quot;:%d,&quot;right&quot;:%d,&quot;first&quot;:%d,"
            "&quot;last&quot;:%d,&quot;unit&quot;:&quot;",
            WIDTH, LEFT, RIGHT, plot->first, plot->last);
    firn_page_text(page, plot->unit);
    fputs("&quot;,&quot;frames&quot;:[", page);
    for (size_t i = 0; i < plot->count; i++)
        fprintf(page, "%s%d", i > 0 ? "," : "", plot->frames[i]);
    fputs("],&quot;series&quot;:[", page);
    for (size_t s = 0; s < plot->series_count; s++) {
        fprintf(page, "%s{&quot;label&quot;:&quot;", s > 0 ? "," : "");
        firn_page_text(page, plot->series[s].label);
        fputs("&quot;,&quot;values&quot;:[", page);
        for (size_t i = 0; i < plot->count; i++) {
            double value = plot->series[s].values[i];
            fputs(i > 0 ? "," : "", page);
            if (isfinite(value))
                fprintf(page, "%.5g", value);
            else
                fputs("null", page);
        }
        fputs("]}", page);
    }
    fputs("]}", page);
}

void firn_page_plot(FILE *page, const firn_plot *plot)
{
    axis y = value_axis(plot);
    fputs("<figure data-values=\"", page);
    print_values(page, plot);
    fputs("\"><figcaption><b>", page);
    firn_page_text(page, plot->title);
    fputs("</b><span>", page);
    firn_page_text(page, plot->finding);
    fputs("</span>", page);
    for (size_t s = 0; plot->series_count > 1 && s < plot->series_count; s++) {
        fprintf(page, "%s<span><i style=\"background:var(--s%zu)\"></i>",
                s == 0 ? "<div class=\"key\">" : "", s);
        firn_page_text(page, plot->series[s].label);
        fprintf(page, "</span>%s", s + 1 == plot->series_count ? "</div>" : "");
    }
    fprintf(page, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH,
            HEIGHT);
    firn_page_text(page, plot->title);
    fputs("\">\n", page);
    print_waiting(page, plot);
    print_axes(page, plot, &y);
    for (size_t s = 0; s < plot->series_count; s++)
        print_line(page, plot, &y, s);
    fprintf(page,
            "<line class=\"cross\" x1=\"0\" x2=\"0\" y1=\"%d\" y2=\"%d\"/>\n"
            "<rect x=\"0\" y=\"0\" width=\"%d\" height=\"%d\" fill=\"transparent\"/></svg>"
            "<div class=\"tip\"></div></figure>\n",
            TOP, BOTTOM, WIDTH, HEIGHT);
}
