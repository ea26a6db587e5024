/// Spreading particles over sparse voxels: what firn_field is made with.
///
/// Lists are claimed first (lay_out), then passes go over the particles; only the first can fail.
/// A pass takes the particles of a leaf, in their order, to a *tile* around it, and the tile is
/// added to the leaves that it touches. Tiles that are filled at the same time touch no voxel
/// together (their leaves have one color), and colors follow each other: that order makes the bits,
/// the same for any number of threads.
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

/// Voxels that particles reach, or leaves.
typedef struct firn_raster_box {
    int32_t lower[3], upper[3]; // both included
} firn_raster_box;

typedef struct firn_raster {
    const firn_field_points *points;
    double per_voxel; // voxels per m
    double width;     // voxels in one unit of the kernel
    double extent;    // voxels from a particle to the end of a round kernel
    float per_unit;   // 1 / width
    bool cubic;
    int thread_count;
    firn_footprint *footprint; // one for each particle; NULL: all are round
    firn_coord_table leaves;   // that particles reach, in their order; count: of their members
    uint32_t *members;         // particles by the leaf that they are in, in order
    size_t *next;              // behind the last member of each leaf
    firn_raster_box *reached;  // voxels that the members of a leaf reach
    uint32_t *by_color;        // leaves with members
    size_t *color_end;         // behind the last leaf of each color
    int color_count;
    float *tiles;    // of each thread
    size_t row;      // floats of a row of a tile, at most
    float *share;    // kg/m^3 of each particle where its weight is 1
    float *coverage; // how much of each voxel may hold snow, 0 to 1; NULL: 1 everywhere
    float *loose;    // how far coverage is disregarded for a particle; with coverage
    float *seen;     // kg/m^3, density that a particle sees around it; NULL: nobody asked
    float *density;  // kg/m^3, of each voxel before there is coverage; with seen
    float *expected; // (kg/m^3)^2, of each voxel: density times what is seen in the mean
    float *body;     // share of a particle that is packed snow; NULL: no layers
} firn_raster;

enum { FIRN_RASTER_ITEMS = 5 };

/// One component of what the particles have, and where its mean goes, both with a stride in floats.
typedef struct firn_raster_item {
    const float *from;
    float *to;
    int stride;
    bool inverse; // 1 / value is meant
} firn_raster_item;

/// What a pass does with each particle, in this order.
typedef struct firn_raster_pass {
    bool normalize;      // finds its share, so that it gives exactly its mass, also with coverage
    const float *gather; // density (kg/m^3) that the particle sees; NULL: none
    float *seen;         // goes here
    float *density_out;  // kg/m^3; NULL: items are not means, but sums of kg/m^3 times value
    int item_count;
    firn_raster_item item[FIRN_RASTER_ITEMS];
} firn_raster_pass;

/// Memory, or the sentence that says how much is missing.
firn_result firn_raster_claim(size_t count, size_t element, void *memory, firn_error *error);

/// Radius of the kernel in units: the splines end there. An ellipsoid has its own function, with
/// the second moment of the spline, which ends a little farther out.
double firn_raster_radius(const firn_raster *raster);

/// Lists the leaves in their order and the particles in each, and claims what passes need.
firn_result firn_raster_lay_out(firn_raster *raster, firn_error *error);

void firn_raster_run(const firn_raster *raster, const firn_raster_pass *pass);

/// Everything but the points.
void firn_raster_free(firn_raster *raster);

/// Ellipsoids from the neighbors of each particle: flat at a surface, round within and alone. Axes
/// differ by at most this ratio, are at most one unit of the kernel and at least one voxel.
firn_result firn_raster_anisotropy(firn_raster *raster, float ratio, firn_error *error);

/// Finds the density that each particle sees; also what sharpening needs.
firn_result firn_raster_see(firn_raster *raster, bool sharpens, firn_error *error);

/// Parts the particles, which have been seen, into packed snow and powder, to which coverage does
/// not apply: those with less than this density (kg/m^3) around them, all below half of it.
firn_result firn_raster_part(firn_raster *raster, float powder_density, firn_error *error);

/// Coverage from where the density that was seen falls to zero: a boundary this many voxels wide.
firn_result firn_raster_sharpen(firn_raster *raster, float edge, firn_error *error);

/// Coverage times the inside of a level set, with a boundary this many voxels wide.
firn_result firn_raster_mask(firn_raster *raster, const firn_level_set *surface, float edge,
                             firn_error *error);

// --- Between the files of the raster -------------------------------------------------------------

// floor() of a number whose floor fits; the baseline instruction set has none and would call libm.
static inline int32_t firn_floor_of(double value)
{
    int32_t whole = (int32_t)value;
    return whole - (value < (double)whole);
}

/// Position of a particle in voxels, with voxel centers at whole numbers, and what it reaches.
static inline firn_raster_box firn_raster_reach(const firn_raster *r, size_t particle,
                                                double position[3])
{
    firn_raster_box box;
    firn_vec3 x = r->points->position[particle];
    position[0] = (double)x.x * r->per_voxel - 0.5;
    position[1] = (double)x.y * r->per_voxel - 0.5;
    position[2] = (double)x.z * r->per_voxel - 0.5;
    const firn_footprint *own = r->footprint != NULL ? &r->footprint[particle] : NULL;
    for (int axis = 0; axis < 3; axis++) {
        double extent = own != NULL ? (double)own->extent[axis] : r->extent;
        box.lower[axis] = -firn_floor_of(extent - position[axis]);
        box.upper[axis] = firn_floor_of(position[axis] + extent);
    }
    return box;
}

enum { FIRN_TILE_CHANNELS = 1 + FIRN_RASTER_ITEMS };

/// Floats of a tile of all channels and what it gathers.
size_t firn_raster_tile_size(const firn_raster *raster);

#endif
