/// What `firn preview` draws of a frame: colliders and sources, and arrows for how they move.
#ifndef FIRN_CLI_PREVIEW_H
#define FIRN_CLI_PREVIEW_H

#include "firn/data.h"
#include "firn/picture.h"

enum { FIRN_PREVIEW_THINGS = 64, FIRN_PREVIEW_ARROWS = 4096 };

/// Something that a node brings in.
typedef struct firn_preview_thing {
    const char *node;       // as the graph names it
    firn_kind kind;         // collider or source
    firn_vec3 lower, upper; // m; lower.x > upper.x: without bounds, as a plane
    float speed;            // m/s, of its fastest point
    bool plain;             // a collider made of numbers, not of a file
    bool thin;              // flakes in the air around all the rest
} firn_preview_thing;

typedef struct firn_preview_arrow {
    firn_vec3 from;     // m
    firn_vec3 velocity; // m/s
} firn_preview_arrow;

/// A frame; arrays are owned.
typedef struct firn_preview_frame {
    int frame;
    size_t thing_count;
    firn_preview_thing things[FIRN_PREVIEW_THINGS];
    firn_picture_cloud clouds[FIRN_PREVIEW_THINGS + 1]; // the last: arrows
    size_t cloud_count;
    firn_collider_def solids[FIRN_PREVIEW_THINGS];
    size_t solid_count;
    firn_preview_arrow arrows[FIRN_PREVIEW_ARROWS];
    size_t arrow_count;
} firn_preview_frame;

/// Adds the output of a node; fps turns frames of keys into seconds.
firn_result firn_preview_add(firn_preview_frame *frame, const char *node, const firn_data *data,
                             float fps, firn_error *error);

/// Turns the arrows into a cloud; seconds is how far they reach along their motion.
firn_result firn_preview_draw_arrows(firn_preview_frame *frame, float seconds, float thickness,
                                     firn_error *error);

void firn_preview_free(firn_preview_frame *frame);

#endif
