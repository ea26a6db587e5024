/// Randomness as pure functions: the same arguments give the same bits in any order, on any thread.
#ifndef FIRN_NOISE_H
#define FIRN_NOISE_H

#include "firn/noise.h"

#include <stdint.h>

/// 64 well mixed bits for a point of an integer lattice.
uint64_t firn_lattice_hash(const int64_t index[3], uint64_t seed);

/// Three independent numbers, evenly spread in (-0.5, 0.5), from the bits of a hash.
void firn_hash_offsets(uint64_t hash, double offsets[3]);

/// A swirl: the curl of three of firn_noise, so that nothing gathers or thins out anywhere; eddies
/// of about unit size. Root mean square of its length 1, mean 0, first derivatives continuous.
/// drift is added to the place of each of the three noises along its own axis: the eddies change as
/// it grows.
void firn_noise_swirl(const double point[3], double drift, uint64_t seed, double swirl[3]);

/// Space in pieces: one point is scattered in every unit cube, and all that is nearest to it is its
/// piece (a Voronoi cell). Gives the distance to the border with the next piece and the name of
/// that border, the same from both sides.
double firn_piece_border(const double point[3], uint64_t seed, uint64_t *border);

#endif
