#include "report_parts.h"

#include <math.h>
#include <string.h>

static void count_missing(firn_record *record)
{
    const firn_manifest_view *view = &record->view;
    record->first = view->frame_count > 0 ? view->frames[0].frame : 1;
    record->last = view->frame_count > 0 ? view->frames[view->frame_count - 1].frame : 1;
    if (record->graph == NULL)
        return;
    const firn_shot *shot = firn_graph_shot(record->graph);
    size_t inside = 0;
    for (size_t i = 0; i < view->frame_count; i++)
        inside += view->frames[i].frame >= shot->first && view->frames[i].frame <= shot->last;
    record->missing = (size_t)(shot->last - shot->first + 1) - inside;
    bool none = view->frame_count == 0;
    record->first = none || shot->first < record->first ? shot->first : record->first;
    record->last = none || shot->last > record->last ? shot->last : record->last;
}

firn_result firn_record_open(const char *folder, firn_record *record, firn_error *error)
{
    memset(record, 0, sizeof *record);
    snprintf(record->folder, sizeof record->folder, "%s", folder);
    FIRN_TRY(firn_manifest_read(folder, &record->manifest, error));
    record->view = firn_manifest_look(record->manifest);
    char path[FIRN_PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/resolved.firn", folder);
    if (firn_graph_load(path, &record->graph, &record->problem) != FIRN_OK)
        record->graph = NULL;
    firn_cache_writer(folder, record->writer, sizeof record->writer);
    count_missing(record);
    return FIRN_OK;
}

void firn_record_close(firn_record *record)
{
    firn_graph_destroy(record->graph);
    firn_manifest_destroy(record->manifest);
}

const char *firn_record_state(const firn_record *record)
{
    if (record->writer[0] != '\0')
        return "being written";
    return record->missing > 0 || record->view.frame_count == 0 ? "incomplete" : "complete";
}

double firn_record_stat(const firn_record *record, size_t frame, const char *name)
{
    const firn_cache_frame *at = &record->view.frames[frame];
    for (size_t i = 0; i < at->stat_count; i++)
        if (strcmp(at->stats[i].name, name) == 0)
            return at->stats[i].value;
    return NAN;
}

double firn_record_sum(const firn_record *record, const char *name)
{
    double sum = 0.0;
    for (size_t i = 0; i < record->view.frame_count; i++) {
        double value = firn_record_stat(record, i, name);
        sum += isfinite(value) ? value : 0.0;
    }
    return sum;
}

double firn_record_peak(const firn_record *record, const char *name, int *at)
{
    double peak = NAN;
    for (size_t i = 0; i < record->view.frame_count; i++) {
        double value = firn_record_stat(record, i, name);
        if (!isfinite(value) || value <= peak)
            continue;
        peak = value;
        if (at != NULL)
            *at = record->view.frames[i].frame;
    }
    return peak;
}

double firn_record_bytes(const firn_record *record)
{
    double bytes = 0.0;
    for (size_t i = 0; i < record->view.file_count; i++)
        bytes += (double)record->view.files[i].size;
    for (size_t i = 0; i < record->view.frame_count; i++)
        for (size_t k = 0; k < record->view.frames[i].file_count; k++)
            bytes += (double)record->view.frames[i].files[k].size;
    return bytes;
}
