/// The node types that come with Firn.
#ifndef FIRN_NODES_H
#define FIRN_NODES_H

#include "firn/node.h"

extern const firn_node_type firn_node_snow_source;
extern const firn_node_type firn_node_snowfall;
extern const firn_node_type firn_node_material;
extern const firn_node_type firn_node_collider;
extern const firn_node_type firn_node_body;
extern const firn_node_type firn_node_joint;
extern const firn_node_type firn_node_snow_cover;
extern const firn_node_type firn_node_wind;
extern const firn_node_type firn_node_solver;
extern const firn_node_type firn_node_fine_particles;
extern const firn_node_type firn_node_rasterize;
extern const firn_node_type firn_node_write_particles;
extern const firn_node_type firn_node_write_bodies;
extern const firn_node_type firn_node_write_height;
extern const firn_node_type firn_node_write_surface;
extern const firn_node_type firn_node_write_volume;
extern const firn_node_type firn_node_read_particles;
extern const firn_node_type firn_node_read_volume;
extern const firn_node_type firn_node_render;

#endif
