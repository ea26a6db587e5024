#include "scene.h"

#include <math.h>
#include <string.h>

firn_usd_attribute_view firn_usd_find_attribute(const firn_usd_scene *scene, int prim,
                                                const char *name)
{
    for (int o = scene->prims[prim].first_opinion; o >= 0; o = scene->opinions[o].next) {
        const firn_usd_opinion *from = &scene->opinions[o];
        firn_usd_doc *doc = scene->docs[from->doc];
        const firn_usd_property *found = firn_usd_doc_property(doc, from->spec, name);
        if (found != NULL && (found->sample_count > 0 || found->value.given))
            return (firn_usd_attribute_view){doc, found, from->offset, from->scale};
    }
    return (firn_usd_attribute_view){0};
}

firn_usd_bracket firn_usd_bracket_at(const firn_usd_attribute_view *view, double code)
{
    const firn_usd_property *p = view->property;
    if (p == NULL || p->sample_count == 0)
        return p != NULL ? (firn_usd_bracket){p->value, p->value, 0.0, 0.0} : (firn_usd_bracket){0};
    const firn_usd_sample *sample = view->doc->samples + p->first_sample;
    double at = view->scale != 0.0 ? (code - view->offset) / view->scale : 0.0;
    // A hair before a sample is that sample: times were divided and multiplied on their way.
    at += 1e-9 * fmax(1.0, fabs(at));
    size_t low = 0, high = p->sample_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(sample[middle].time <= at ? &low : &high) = middle;
    }
    firn_usd_bracket bracket = {sample[low].value, sample[low].value, 0.0, 0.0};
    double begin = sample[low].time, end = high < p->sample_count ? sample[high].time : begin;
    if (at > begin && end > begin) {
        double share = (at - begin) / (end - begin);
        bracket.since = (at - begin) * view->scale;
        if (share > 1e-7) {
            bracket.upper = sample[high].value;
            bracket.share = share;
        }
    }
    return bracket;
}

static void mix(firn_usd_numbers *a, const firn_usd_numbers *b, double share)
{
    size_t count = a->count * (size_t)a->tuple;
    for (size_t i = 0; i < count && a->kind == FIRN_USD_F32; i++) {
        float *x = (float *)a->data + i;
        *x += (float)share * (((const float *)b->data)[i] - *x);
    }
    for (size_t i = 0; i < count && a->kind == FIRN_USD_F64; i++) {
        double *x = (double *)a->data + i;
        *x += share * (((const double *)b->data)[i] - *x);
    }
}

firn_result firn_usd_numbers_at(const firn_usd_scene *scene, int prim, const char *name,
                                double code, firn_usd_number_kind kind, firn_usd_numbers *numbers,
                                firn_error *error)
{
    *numbers = (firn_usd_numbers){.kind = kind, .tuple = 1};
    firn_usd_attribute_view view = firn_usd_find_attribute(scene, prim, name);
    firn_usd_bracket bracket = firn_usd_bracket_at(&view, code);
    if (view.doc == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_usd_doc_numbers(view.doc, bracket.lower, kind, numbers, error));
    bool whole = kind == FIRN_USD_I32 || kind == FIRN_USD_I64;
    if (bracket.share == 0.0 || whole)
        return FIRN_OK;
    firn_usd_numbers after;
    firn_result result = firn_usd_doc_numbers(view.doc, bracket.upper, kind, &after, error);
    if (result == FIRN_OK && after.count == numbers->count && after.tuple == numbers->tuple)
        mix(numbers, &after, bracket.share);
    firn_free(after.data);
    if (result != FIRN_OK) {
        firn_free(numbers->data);
        *numbers = (firn_usd_numbers){.kind = kind, .tuple = 1};
    }
    return result;
}

const char *firn_usd_word_at(const firn_usd_scene *scene, int prim, const char *name, double code)
{
    firn_usd_attribute_view view = firn_usd_find_attribute(scene, prim, name);
    firn_usd_bracket bracket = firn_usd_bracket_at(&view, code);
    const char **words = NULL;
    size_t count = 0;
    if (view.doc == NULL ||
        firn_usd_doc_words(view.doc, bracket.lower, &words, &count, NULL) != FIRN_OK)
        return "";
    const char *first = count > 0 ? words[0] : "";
    firn_free((void *)words);
    return first;
}

bool firn_usd_add_range(const firn_usd_scene *scene, int prim, const char *name, double *first,
                        double *last, bool *any)
{
    firn_usd_attribute_view view = firn_usd_find_attribute(scene, prim, name);
    if (view.doc == NULL || view.property->sample_count < 2)
        return false;
    const firn_usd_sample *sample = view.doc->samples + view.property->first_sample;
    double from = view.offset + view.scale * sample[0].time;
    double to = view.offset + view.scale * sample[view.property->sample_count - 1].time;
    if (!isfinite(from) || !isfinite(to))
        return false;
    *first = *any ? fmin(*first, fmin(from, to)) : fmin(from, to);
    *last = *any ? fmax(*last, fmax(from, to)) : fmax(from, to);
    *any = true;
    return true;
}
