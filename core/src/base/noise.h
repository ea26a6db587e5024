/// Randomness as pure functions: the same arguments give the same bits in any order, on any thread.
#ifndef FIRN_NOISE_H
#define FIRN_NOISE_H

#include <stdint.h>

/// 64 well mixed bits for a point of an integer lattice.
uint64_t firn_lattice_hash(const int64_t index[3], uint64_t seed);

/// Three independent numbers, evenly spread in (-0.5, 0.5), from the bits of a hash.
void firn_hash_offsets(uint64_t hash, double offsets[3]);

/// Smooth noise with lumps of about unit size: between -1 and 1, mean 0, second derivatives
/// continuous.
double firn_noise(const double point[3], uint64_t seed);

/// Space in pieces: one point is scattered in every unit cube, and all that is nearest to it is its
/// piece (a Voronoi cell). Gives the distance to the border with the next piece and the name of
/// that border, the same from both sides.
double firn_piece_border(const double point[3], uint64_t seed, uint64_t *border);

#endif
