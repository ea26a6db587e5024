/// Rays of the pixels, in voxel space.
#ifndef FIRN_RENDER_CAMERA_H
#define FIRN_RENDER_CAMERA_H

#include "firn/render.h"

typedef struct firn_lens {
    firn_vec3 eye, right, up, forward; // voxels, unit vectors
    float pixel;                       // tangent that a pixel covers
    float center[2];                   // pixels
    float radius, focus;               // voxels
} firn_lens;

/// A direction from azimuth and elevation in degrees: 0, 0 is +Z, 90, 0 is +X.
firn_vec3 firn_direction_of(float azimuth, float elevation);

/// The camera that shows the box from where the settings say, or stands where they say: sets
/// position, target, up and focus_distance of the setup, in meters. False when target and position
/// are the same or up leads along the view.
bool firn_lens_place(const firn_render_def *def, firn_vec3 lower, firn_vec3 upper,
                     firn_render_setup *setup);

/// The lens of a camera in a voxel space with this origin (m) and voxel size (m).
firn_lens firn_lens_of(const firn_render_def *def, const firn_render_setup *setup, firn_vec3 origin,
                       float voxel_size);

/// The ray through a point of the picture (pixels from the upper left corner) and one of the lens
/// (unit disk).
void firn_lens_ray(const firn_lens *lens, const float pixel[2], const float disk[2],
                   firn_vec3 *from, firn_vec3 *direction);

#endif
