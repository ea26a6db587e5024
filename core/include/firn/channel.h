/// What a particle carries: one table with a row for every fact.
///
/// Storage, sorting, checkpoints, seeds, views, writers, volumes, Python and the docs read the
/// rows; none of them lists facts of its own. A simulation has the rows that it needs, and those
/// that somebody asks for:
///
///     firn_channel dirt = {.name = "dirt", .components = 1, .use = FIRN_CHANNEL_PUBLISHED};
///     FIRN_TRY(firn_sim_add_channel(sim, &dirt, error));                       // before any
///     source FIRN_TRY(firn_sim_add_channel(sim, firn_channel_find("temperature"), error));
///
/// A channel that nobody asks for takes no memory and no time.
#ifndef FIRN_CHANNEL_H
#define FIRN_CHANNEL_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FIRN_CHANNEL_NAME = 32,     // bytes of a name, with its terminating zero
    FIRN_CHANNEL_COMPONENTS = 9 // of a value, at most
};

/// How one component of a value lies in memory.
typedef enum firn_channel_type {
    FIRN_CHANNEL_FLOAT,
    FIRN_CHANNEL_UINT32,
    FIRN_CHANNEL_UINT8,
} firn_channel_type;

/// How a value moves when its geometry is transformed; Houdini's names.
typedef enum firn_channel_kind {
    FIRN_CHANNEL_PLAIN,
    FIRN_CHANNEL_POINT,
    FIRN_CHANNEL_VECTOR,
    FIRN_CHANNEL_COLOR,
    FIRN_CHANNEL_MATRIX,
} firn_channel_kind;

/// Who needs a channel. A simulation has those that it needs and those it was asked for.
enum {
    FIRN_NEED_ALWAYS = 1,
    FIRN_NEED_APIC = 2, // the affine transfer
};

/// What becomes of a channel.
enum {
    FIRN_CHANNEL_DERIVED = 1,   // computed from others when it is read; it takes no memory
    FIRN_CHANNEL_PUBLISHED = 2, // hosts and files get it
    FIRN_CHANNEL_ON_DEMAND = 4, // published only when the host asks, since it costs a copy
    FIRN_CHANNEL_SEEDED = 8,    // a source may give it, or the points of a cache
    FIRN_CHANNEL_POSITIVE = 16, // given values must be above 0
    FIRN_CHANNEL_MOTION = 32,   // zero while the particle sleeps
    FIRN_CHANNEL_VOLUME = 64,   // it can become a volume, a mean weighted by mass
    FIRN_CHANNEL_INVERSE = 128, // its volume has the mean of 1 / value
};

/// A row. Texts of a row that is added to a simulation must live as long as the simulation.
typedef struct firn_channel {
    char name[FIRN_CHANNEL_NAME]; // in files, Houdini's where it has one: "P", "v", "Jp"
    const char *label;            // "Plastic volume ratio"; NULL: made from the name
    firn_channel_type type;
    int components; // 1, 3 or 9
    firn_channel_kind kind;
    const char *unit; // NULL: none
    float initial;    // of new particles where nothing else says; of a matrix, its diagonal
    unsigned need;    // FIRN_NEED_..., 0: only who asks
    unsigned use;     // FIRN_CHANNEL_PUBLISHED and so on
    const char *seed; // where new particles get it from, for the docs; NULL: `initial`
    const char *grid; // name of its volume; NULL: that of the channel
    float background; // of that volume, where there is no snow
    const char *help;
} firn_channel;

/// Rows that programs name often; the others are found by name.
enum {
    FIRN_POSITION = 0,    // "P": 3 floats, m
    FIRN_VELOCITY = 1,    // "v": 3 floats, m/s
    FIRN_DENSITY = 6,     // "density": float, kg/m^3, mass over current volume
    FIRN_DEFORMATION = 8, // "F": 9 floats, elastic deformation gradient F_E
    FIRN_AFFINE = 12,     // "C": 9 floats, 1/s, zero unless APIC is used
};

/// The table.
FIRN_API int firn_channel_count(void);
FIRN_API const firn_channel *firn_channel_at(int index); // NULL past the last
FIRN_API const firn_channel *firn_channel_find(const char *name);

/// "float", "uint32", "uint8", and the bytes of one component.
FIRN_API const char *firn_channel_type_name(firn_channel_type type);
FIRN_API size_t firn_channel_type_size(firn_channel_type type);

/// Refuses a row that no simulation could have: its name, type or number of components.
FIRN_API firn_result firn_channel_check(const firn_channel *channel, firn_error *error);

/// The channel that a word in a list stands for: the name of a row, or "dirt:1", "tint:3" for one
/// that the table does not have, of so many floats. A word that is neither is refused with the
/// names that there are.
FIRN_API firn_result firn_channel_parse(const char *word, firn_channel *channel, firn_error *error);

/// Copies the next word of a list with spaces or commas between to word and moves *list behind it;
/// false at the end of the list.
FIRN_API bool firn_channel_next(const char **list, char *word, size_t size);

#ifdef __cplusplus
}
#endif

#endif
