/// Triangles of a polygon mesh, and whether it is closed. No OpenVDB.
#pragma once

#include "firn/vdb_surface.h"

#include <array>
#include <vector>

namespace firn_vdb
{

using triangle = std::array<int32_t, 3>;

/// Refuses, by number, points that are not finite, faces with fewer than three points and indices
/// out of range.
void check_mesh(const firn_vdb_mesh &mesh);

/// Cuts faces into triangles, concave ones too; the mesh has been checked.
std::vector<triangle> triangulate(const firn_vdb_mesh &mesh);

/// Edges that belong to an odd number of triangles. Points at the same place count as one, because
/// many files repeat the points along seams.
size_t count_open_edges(const firn_vdb_mesh &mesh, const std::vector<triangle> &triangles);

} // namespace firn_vdb
