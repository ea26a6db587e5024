/// Spreading particles over sparse voxels: what firn_field is made with.
///
/// Lists are claimed first (lay_out), then weights are found (normalize), then leaves are filled;
/// only the first can fail. A leaf is filled by one thread, from its particles in their order, so
/// that the result has the same bits for any number of threads.
#ifndef FIRN_RASTER_H
#define FIRN_RASTER_H

#include "base/coord_table.h"

#include "firn/field.h"

/// The kernel of one particle: an ellipsoid around it.
typedef struct firn_footprint {
    float
        to_unit[6];  // xx xy xz yy yz zz of the symmetric matrix from voxels to units of the kernel
    float extent[3]; // voxels from the particle to the end of its kernel, by axis
} firn_footprint;

typedef struct firn_raster {
    const firn_field_points *points;
    double per_voxel; // voxels per m
    double width;     // voxels in one unit of the kernel
    bool cubic;
    int thread_count;
    firn_footprint *footprint; // one for each particle; NULL: all are round
    firn_coord_table leaves;   // in their order
    uint32_t *members;         // particles by leaf, in order
    size_t *next;              // behind the last member of each leaf
    float *share;              // kg/m^3 of each particle where its weight is 1
    float *coverage;           // how much of each voxel may hold snow, 0 to 1; NULL: 1 everywhere
    float *loose;              // how far coverage is disregarded for a particle; with coverage
} firn_raster;

enum { FIRN_RASTER_ITEMS = 4 };

/// One component of what the particles have, and where its mean goes, both with a stride in floats.
typedef struct firn_raster_item {
    const float *from;
    float *to;
    int stride;
    bool inverse; // 1 / value is meant
} firn_raster_item;

/// What the leaves are filled with: density, and means weighted by mass.
typedef struct firn_raster_job {
    float *density_out; // kg/m^3
    int item_count;
    firn_raster_item item[FIRN_RASTER_ITEMS];
} firn_raster_job;

/// Memory, or the sentence that says how much is missing.
firn_result firn_raster_claim(size_t count, size_t element, void *memory, firn_error *error);

/// Radius of the kernel in units: the splines end there. An ellipsoid has its own function, with
/// the second moment of the spline, which ends a little farther out.
double firn_raster_radius(const firn_raster *raster);

/// Lists the leaves in their order and the particles that reach each.
firn_result firn_raster_lay_out(firn_raster *raster, firn_error *error);

/// The sum over voxels of weight times value, before the share; NULL: the sum of weights.
double firn_raster_gather(const firn_raster *raster, size_t particle, const float *values);

/// Finds the shares, so that each particle gives exactly its mass.
void firn_raster_normalize(firn_raster *raster);

void firn_raster_fill(const firn_raster *raster, const firn_raster_job *job);

/// Everything but the points.
void firn_raster_free(firn_raster *raster);

/// Ellipsoids from the neighbors of each particle: flat at a surface, round within and alone. Axes
/// differ by at most this ratio, are at most one unit of the kernel and at least one voxel.
firn_result firn_raster_anisotropy(firn_raster *raster, float ratio, firn_error *error);

/// Coverage from where the density falls to zero: a boundary this many voxels wide.
firn_result firn_raster_sharpen(firn_raster *raster, float edge, firn_error *error);

/// Coverage times the inside of a level set, with a boundary this many voxels wide.
firn_result firn_raster_mask(firn_raster *raster, const firn_level_set *surface, float edge,
                             firn_error *error);

#endif
