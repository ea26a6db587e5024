/// Which channels a simulation has, and in which columns of the particles they lie.
///
/// A channel of n components lies in n columns, one after the other. The columns of the rows that
/// kernels read are fixed (firn_column); those of channels that somebody asked for stand behind.
#ifndef FIRN_CHANNELS_H
#define FIRN_CHANNELS_H

#include "firn/channel.h"

/// Arrays of 4-byte values, so that sorting and checkpoints treat them alike.
typedef enum firn_column {
    FIRN_U = 0,     // 3: position in the block, cells
    FIRN_V = 3,     // 3: velocity, m/s
    FIRN_F = 6,     // 9: elastic deformation gradient, row-major
    FIRN_JP = 15,   // plastic volume ratio
    FIRN_MASS,      // kg
    FIRN_VOLUME,    // m^3, initial; 0 until it is found from the grid
    FIRN_STIFFNESS, // factor on Young's modulus
    FIRN_ID,        // uint32
    FIRN_C,         // 9: affine velocity, 1/s; with APIC only
    FIRN_KERNEL_COLUMNS = FIRN_C + 9,
    // 3: position before the last move. It has the place of C while C itself is put off, from a
    // cycle to firn_transfer_recover; firn_sim.affine tells which of the two is there. Whoever
    // reads, sorts, saves or clears C has it recovered first.
    FIRN_FROM = FIRN_C,
} firn_column;

enum {
    FIRN_ADDED_LIMIT = 32, // channels that one simulation is asked for
    FIRN_ADDED_COLUMNS = 64,
    FIRN_CHANNEL_MAX = FIRN_KERNEL_COLUMNS + FIRN_ADDED_COLUMNS, // columns
    FIRN_TABLE_ROWS = 19,
    FIRN_ROW_LIMIT = FIRN_TABLE_ROWS + FIRN_ADDED_LIMIT,

    // In place of a column.
    FIRN_COLUMN_NONE = -1,     // derived, or the simulation does not have the channel
    FIRN_COLUMN_MATERIAL = -2, // uint8, in an array of its own
};

/// The table's rows, then those that only this simulation has.
typedef struct firn_channel_set {
    int row_count;
    int column_count;               // in use
    int16_t column[FIRN_ROW_LIMIT]; // the first of each row
    firn_channel added[FIRN_ADDED_LIMIT];
} firn_channel_set;

/// The rows that somebody in the mask needs.
void firn_channel_set_reset(firn_channel_set *set, unsigned needs);

/// Gives a row its columns; one of the table by its name, or another one. A row that is there stays
/// as it is when the new one is the same.
firn_result firn_channel_set_add(firn_channel_set *set, const firn_channel *channel,
                                 firn_error *error);

const firn_channel *firn_channel_set_row(const firn_channel_set *set, int row);

/// The number of a row, or -1.
int firn_channel_set_find(const firn_channel_set *set, const char *name);

/// The sentence that refuses a name, with what there is.
firn_result firn_channel_set_refuse(const firn_channel_set *set, const char *name,
                                    firn_error *error);

/// The initial value of component k of a channel.
float firn_channel_initial(const firn_channel *channel, int k);

/// A channel as a checkpoint names it.
typedef struct firn_saved_channel {
    char name[FIRN_CHANNEL_NAME]; // padded with zeros
    uint32_t type, components;
} firn_saved_channel;

/// The channels with memory in the order of their columns, the materials last. Returns how many.
int firn_channel_set_save(const firn_channel_set *set, firn_saved_channel saved[FIRN_ROW_LIMIT]);

/// Refuses channels that are not those of the set, and says which; file names the checkpoint.
firn_result firn_channel_set_match(const firn_channel_set *set, const firn_saved_channel *saved,
                                   size_t count, const char *file, firn_error *error);

#endif
