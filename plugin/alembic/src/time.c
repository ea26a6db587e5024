#include "archive.h"

#include "firn/abc_scene.h"

#include <math.h>
#include <string.h>

// A sample time this little ahead counts as reached (s): frame times rarely are exact.
static const double time_tolerance = 1e-5;

static bool read_sampling(ogawa_cursor *cursor, firn_abc_time_sampling *sampling, double *times)
{
    const unsigned char *stored;
    if (!firn_ogawa_u32(cursor, &sampling->max_samples) ||
        !firn_ogawa_f64(cursor, &sampling->time_per_cycle) ||
        !firn_ogawa_u32(cursor, &sampling->time_count) || sampling->time_count == 0 ||
        !firn_ogawa_take(cursor, sampling->time_count * sizeof(double), &stored))
        return false;
    memcpy(times, stored, sampling->time_count * sizeof(double));
    sampling->times = times;
    return true;
}

static bool classify(firn_abc_time_sampling *sampling)
{
    const double *times = sampling->times;
    uint32_t last = sampling->time_count - 1;
    for (uint32_t i = 0; i <= last; i++)
        if (!isfinite(times[i]) || (i > 0 && !(times[i] > times[i - 1])))
            return false;
    double cycle = sampling->time_per_cycle;
    if (!(cycle > 0.0 && cycle <= OGAWA_ACYCLIC))
        return false;
    if (cycle == OGAWA_ACYCLIC)
        sampling->kind = FIRN_ABC_TIME_ACYCLIC;
    else
        sampling->kind = last == 0 ? FIRN_ABC_TIME_UNIFORM : FIRN_ABC_TIME_CYCLIC;
    return sampling->kind != FIRN_ABC_TIME_CYCLIC ||
           times[last] - times[0] <= cycle * (1.0 + 1e-9) + 1e-9;
}

firn_result firn_abc_load_samplings(firn_abc *archive, const firn_abc_place *place, uint64_t word)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    FIRN_TRY(firn_abc_data_load(place, word, &bytes, &size));
    // A record has at least 24 bytes, 8 of them a time.
    archive->samplings = firn_abc_alloc_array(size / 24 + 1, sizeof *archive->samplings);
    archive->times = firn_abc_alloc_array(size / 8 + 1, sizeof *archive->times);
    firn_result result = FIRN_OK;
    if (archive->samplings == NULL || archive->times == NULL)
        result = firn_abc_fail_memory(place, size);
    ogawa_cursor cursor = {bytes, bytes != NULL ? bytes + size : bytes};
    double *times = archive->times;
    while (result == FIRN_OK && cursor.at < cursor.end) {
        firn_abc_time_sampling sampling = {0};
        if (!read_sampling(&cursor, &sampling, times) || !classify(&sampling)) {
            result = firn_abc_fail(place, FIRN_ERR_FORMAT, "its time sampling %d is damaged",
                                   archive->sampling_count);
        } else {
            times += sampling.time_count;
            archive->samplings[archive->sampling_count++] = sampling;
        }
    }
    firn_free(bytes);
    if (result == FIRN_OK && archive->sampling_count == 0)
        return firn_abc_fail(place, FIRN_ERR_FORMAT, "it has no time sampling");
    return result;
}

int firn_abc_time_sampling_count(const firn_abc *archive) { return archive->sampling_count; }

const firn_abc_time_sampling *firn_abc_time_sampling_at(const firn_abc *archive, int index)
{
    FIRN_ASSERT(index >= 0 && index < archive->sampling_count);
    return &archive->samplings[index];
}

double firn_abc_sample_time(const firn_abc_time_sampling *sampling, uint32_t index)
{
    uint32_t last = sampling->time_count - 1;
    switch (sampling->kind) {
    case FIRN_ABC_TIME_UNIFORM:
        return sampling->times[0] + sampling->time_per_cycle * (double)index;
    case FIRN_ABC_TIME_CYCLIC:
        return sampling->times[index % sampling->time_count] +
               sampling->time_per_cycle * (double)(index / sampling->time_count);
    default:
        return sampling->times[index < last ? index : last];
    }
}

uint32_t firn_abc_sample_before(const firn_abc_time_sampling *sampling, uint32_t count, double time)
{
    uint32_t low = 0, beyond = count; // sample `low` is not after time, or low is 0
    while (low + 1 < beyond) {
        uint32_t middle = low + (beyond - low) / 2;
        if (firn_abc_sample_time(sampling, middle) <= time + time_tolerance)
            low = middle;
        else
            beyond = middle;
    }
    return low;
}

uint32_t firn_abc_index_at(const firn_abc *archive, int property, double time)
{
    const firn_abc_property *info = &archive->properties[property].info;
    return firn_abc_sample_before(&archive->samplings[info->time_sampling], info->sample_count,
                                  time);
}

firn_abc_bracket firn_abc_bracket_at(const firn_abc *archive, int property, double time)
{
    const firn_abc_property *info = &archive->properties[property].info;
    const firn_abc_time_sampling *sampling = &archive->samplings[info->time_sampling];
    firn_abc_bracket bracket = {0};
    bracket.before = firn_abc_sample_before(sampling, info->sample_count, time);
    bool is_last = info->sample_count - bracket.before <= 1;
    bracket.after = is_last ? bracket.before : bracket.before + 1;
    bracket.before_time = firn_abc_sample_time(sampling, bracket.before);
    bracket.after_time = firn_abc_sample_time(sampling, bracket.after);
    double elapsed = time - bracket.before_time;
    bool ahead = elapsed > time_tolerance;
    bracket.inside = info->sample_count > 1 && elapsed >= -time_tolerance && !(is_last && ahead);
    double interval = bracket.after_time - bracket.before_time;
    if (bracket.inside && ahead && isfinite(interval) && interval > 0.0) {
        bracket.elapsed = elapsed;
        bracket.mix = elapsed < interval ? elapsed / interval : 1.0;
    }
    return bracket;
}

bool firn_abc_time_range(const firn_abc *archive, double *first, double *last)
{
    bool animated = false;
    for (int i = 0; i < archive->property_count; i++) {
        const firn_abc_property *info = &archive->properties[i].info;
        if (info->kind == FIRN_ABC_PROPERTY_COMPOUND || info->sample_count < 2 || info->constant)
            continue;
        const firn_abc_time_sampling *sampling = &archive->samplings[info->time_sampling];
        double start = firn_abc_sample_time(sampling, 0);
        double end = firn_abc_sample_time(sampling, info->sample_count - 1);
        *first = animated && *first < start ? *first : start;
        *last = animated && *last > end ? *last : end;
        animated = true;
    }
    return animated;
}
