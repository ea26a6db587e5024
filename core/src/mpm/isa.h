/// Names of the kernels of the instruction set that a file is being compiled for.
#ifndef FIRN_ISA_H
#define FIRN_ISA_H

#include "kernels.h"

#define FIRN_JOIN(a, b) a##b
#define FIRN_NAME(stem, isa) FIRN_JOIN(firn_##stem##_, isa)
#define FIRN_KERNEL(stem) FIRN_NAME(stem, FIRN_ISA)

// The same for an instruction set and a model, and a model's own functions.
#define FIRN_JOIN_ALL(a, b, c) firn_##a##_##b##_##c
#define FIRN_MODEL_NAME(stem, model, isa) FIRN_JOIN_ALL(model, stem, isa)
#define FIRN_MODEL_KERNEL(stem, model) FIRN_MODEL_NAME(stem, model, FIRN_ISA)
#define FIRN_JOIN_BOTH(a, b) firn_##a##_##b
#define FIRN_OF_MODEL(stem, model) FIRN_JOIN_BOTH(model, stem)
#define MODEL(stem) FIRN_OF_MODEL(stem, FIRN_MODEL)

void FIRN_KERNEL(to_grid)(const firn_pass *pass, const firn_block *block,
                          const firn_block *following, firn_block_sums *sums);
void FIRN_KERNEL(to_particles)(const firn_pass *pass, const firn_block *block,
                               const firn_block *following, firn_block_limits *limits);
void FIRN_KERNEL(cycle)(const firn_pass *pass, const firn_pass *next, const firn_block *block,
                        const firn_block *following, firn_block_limits *limits,
                        firn_block_sums *sums);
void FIRN_KERNEL(recover)(const firn_pass *pass, const firn_block *block);
void FIRN_KERNEL(measure)(const firn_pass *pass, const firn_block *block,
                          firn_block_limits *limits);
void FIRN_KERNEL(find_volumes)(const firn_pass *pass, const firn_block *block);
void FIRN_KERNEL(prepare_hessian)(const firn_pass *pass, const firn_block *block);
void FIRN_KERNEL(apply_hessian)(const firn_pass *pass, const firn_block *block);
void FIRN_KERNEL(diagonal_hessian)(const firn_pass *pass, const firn_block *block);
void FIRN_KERNEL(heat_to_grid)(const firn_heat_pass *heat, const firn_block *block);
void FIRN_KERNEL(heat_flow)(const firn_heat_pass *heat, const firn_block *block);
bool FIRN_KERNEL(heat_to_particles)(const firn_heat_pass *heat, const firn_block *block);

extern const firn_kernels FIRN_KERNEL(kernels);

#endif
