#include "foresight.h"

#include <math.h>

void firn_foresight_reset(firn_foresight *f) { f->extremes = (firn_block_limits){.speed2 = 0.0f}; }

void firn_foresight_void(firn_foresight *f) { f->dt = 0.0; }

void firn_foresight_fill(firn_foresight *f, double dt) { f->dt = dt; }

bool firn_foresight_in_reach(const firn_foresight *f)
{
    return f->extremes.low >= 0.0f && f->extremes.high < 0.0f;
}

void firn_foresight_measure(firn_foresight *f, firn_owners *owners, const firn_block_limits *limits,
                            size_t count, float cell_size)
{
    firn_block_limits all = {.low = INFINITY, .high = -INFINITY};
    float stay2 = INFINITY; // in cells per m/s, squared
    for (size_t b = 0; b < count; b++) {
        float reach = limits[b].low < -limits[b].high ? limits[b].low : -limits[b].high;
        float stay = reach * reach / limits[b].speed2; // or no number, of snow at rest
        stay2 = stay < stay2 ? stay : stay2;
        all.speed2 = limits[b].speed2 > all.speed2 ? limits[b].speed2 : all.speed2;
        all.wave2 = limits[b].wave2 > all.wave2 ? limits[b].wave2 : all.wave2;
        all.low = limits[b].low < all.low ? limits[b].low : all.low;
        all.high = limits[b].high > all.high ? limits[b].high : all.high;
    }
    double most[] = {(double)all.speed2, (double)all.wave2, -(double)all.low, (double)all.high,
                     -(double)stay2};
    firn_owners_largest(owners, most, FIRN_COUNT(most));
    f->extremes =
        (firn_block_limits){(float)most[0], (float)most[1], -(float)most[2], (float)most[3]};
    f->stay = (double)cell_size * sqrt(-most[4]);
}
