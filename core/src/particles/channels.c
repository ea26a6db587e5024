#include "channels.h"

#include "firn/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A row and where the kernels look for it; channels that only some ask for have no place yet.
typedef struct table_row {
    firn_channel channel;
    int column;
} table_row;

// Hosts and files have the channels in this order. A new one goes to the end: it is this row and
// whoever computes its values, nothing else.
// clang-format off
static const table_row table[] = {
    {{"P", "Position", FIRN_CHANNEL_FLOAT, 3, FIRN_CHANNEL_POINT, "m", 0.0f, FIRN_NEED_ALWAYS,
      FIRN_CHANNEL_DERIVED | FIRN_CHANNEL_PUBLISHED, "the region of the source, or its points",
      NULL, 0.0f, "Where the particle is in the world"}, FIRN_COLUMN_NONE},
    {{"v", "Velocity", FIRN_CHANNEL_FLOAT, 3, FIRN_CHANNEL_VECTOR, "m/s", 0.0f, FIRN_NEED_ALWAYS,
      FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_MOTION |
      FIRN_CHANNEL_VOLUME,
      "`velocity` and `angular_velocity` of the source, to which that of the points is added",
      "vel", 0.0f, "How fast it moves"}, FIRN_V},
    {{"id", "Id", FIRN_CHANNEL_UINT32, 1, FIRN_CHANNEL_PLAIN, "", 0.0f, FIRN_NEED_ALWAYS,
      FIRN_CHANNEL_PUBLISHED, "a count", NULL, 0.0f,
      "Its number, unique and never used again"}, FIRN_ID},
    {{"pscale", "Radius", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "m", 0.0f, FIRN_NEED_ALWAYS,
      FIRN_CHANNEL_DERIVED | FIRN_CHANNEL_PUBLISHED, "`volume`", NULL, 0.0f,
      "Radius of a sphere with its initial volume"}, FIRN_COLUMN_NONE},
    {{"mass", "Mass", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "kg", 0.0f, FIRN_NEED_ALWAYS,
      FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_POSITIVE,
      "`density` of the material, `density_noise`, shell and crust; or the points", NULL, 0.0f,
      "Its mass, which never changes"}, FIRN_MASS},
    {{"Jp", "Plastic volume ratio", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "", 1.0f,
      FIRN_NEED_ALWAYS, FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_POSITIVE |
      FIRN_CHANNEL_VOLUME | FIRN_CHANNEL_INVERSE, "the points", "compaction", 1.0f,
      "Volume that plastic flow has left, 1 when fresh; the volume has its inverse"}, FIRN_JP},
    {{"density", "Density", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "kg/m^3", 0.0f,
      FIRN_NEED_ALWAYS, FIRN_CHANNEL_DERIVED | FIRN_CHANNEL_PUBLISHED,
      "`mass`, `volume`, `F` and `Jp`", NULL, 0.0f, "Mass over its current volume"},
      FIRN_COLUMN_NONE},
    {{"material", "Material", FIRN_CHANNEL_UINT8, 1, FIRN_CHANNEL_PLAIN, "", 0.0f,
      FIRN_NEED_ALWAYS, FIRN_CHANNEL_PUBLISHED, "the material of the source", NULL, 0.0f,
      "Number of its material in order of addition, 0: the default"}, FIRN_COLUMN_MATERIAL},
    {{"F", "Elastic deformation", FIRN_CHANNEL_FLOAT, 9, FIRN_CHANNEL_MATRIX, "", 1.0f,
      FIRN_NEED_ALWAYS, FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_ON_DEMAND, NULL, NULL, 0.0f,
      "Elastic deformation gradient F_E, row-major; published with `deformation` of the solver"},
      FIRN_F},
    {{"stiffness", "Stiffness", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "", 1.0f,
      FIRN_NEED_ALWAYS, FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_POSITIVE |
      FIRN_CHANNEL_VOLUME, "`stiffness_noise`, `strength_noise`, shell, crust; or the points", NULL,
      1.0f, "Factor on Young's modulus; of porous snow on its cohesion, less where that is worn"},
      FIRN_STIFFNESS},
    {{"volume", "Initial volume", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "m^3", 0.0f,
      FIRN_NEED_ALWAYS, FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED,
      "the lattice of the source, or the points; else from the grid", NULL, 0.0f,
      "Volume at rest; 0 until it is found from the grid"}, FIRN_VOLUME},
    {{"u", "Position in the block", FIRN_CHANNEL_FLOAT, 3, FIRN_CHANNEL_PLAIN, "cells", 0.0f,
      FIRN_NEED_ALWAYS, 0, "`P`", NULL, 0.0f,
      "What `P` is made from, relative to a block of the grid"}, FIRN_U},
    {{"C", "Affine velocity", FIRN_CHANNEL_FLOAT, 9, FIRN_CHANNEL_MATRIX, "1/s", 0.0f,
      FIRN_NEED_APIC, FIRN_CHANNEL_MOTION, NULL, NULL, 0.0f,
      "Gradient of the velocity around it, row-major"}, FIRN_C},
    {{"temperature", "Temperature", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "K", 273.15f, 0,
      FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_POSITIVE | FIRN_CHANNEL_VOLUME,
      "`channels` of the source, or the points", NULL, 273.15f,
      "Carried along; with `heat` of the solver it conducts, melts and freezes"}, FIRN_COLUMN_NONE},
    {{"Cd", "Color", FIRN_CHANNEL_FLOAT, 3, FIRN_CHANNEL_COLOR, "", 1.0f, 0,
      FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_VOLUME,
      "`channels` of the source, or the points", NULL, 1.0f,
      "Carried along, for shading: dirt, layers, footprints"}, FIRN_COLUMN_NONE},
    {{"sparkle", "Sparkle", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "", 0.0f, 0,
      FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED, "`fine_particles` and `debris`, or the points",
      NULL, 0.0f, "A random number from 0 to below 1 that stays with a grain, for glints"},
      FIRN_COLUMN_NONE},
    {{"liquid", "Liquid fraction", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "", 0.0f, 0,
      FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_VOLUME,
      "its model with `heat` of the solver, or the points", NULL, 0.0f,
      "Share that has melted, 0 to 1; with `heat` of the solver it follows the temperature"},
      FIRN_COLUMN_NONE},
    {{"heat", "Heat below rounding", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "J/kg", 0.0f, 0,
      0, NULL, NULL, 0.0f,
      "Enthalpy that `temperature` and `liquid` are too coarse to hold"}, FIRN_COLUMN_NONE},
    {{"age", "Age", FIRN_CHANNEL_FLOAT, 1, FIRN_CHANNEL_PLAIN, "s", 0.0f, 0,
      FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_VOLUME, "the points", NULL, 0.0f,
      "Time since it came, or since it last changed its material; counted with `freeze_after` of a "
      "material"}, FIRN_COLUMN_NONE},
};
// clang-format on
_Static_assert(FIRN_COUNT(table) == FIRN_TABLE_ROWS, "sets have room for every row");

int firn_channel_count(void) { return FIRN_TABLE_ROWS; }

const firn_channel *firn_channel_at(int index)
{
    return index >= 0 && index < FIRN_TABLE_ROWS ? &table[index].channel : NULL;
}

const firn_channel *firn_channel_find(const char *name)
{
    for (int i = 0; i < FIRN_TABLE_ROWS; i++)
        if (strcmp(table[i].channel.name, name) == 0)
            return &table[i].channel;
    return NULL;
}

const char *firn_channel_type_name(firn_channel_type type)
{
    static const char *const names[] = {"float", "uint32", "uint8"};
    return (size_t)type < FIRN_COUNT(names) ? names[type] : "?";
}

size_t firn_channel_type_size(firn_channel_type type)
{
    return type == FIRN_CHANNEL_UINT8 ? sizeof(uint8_t) : sizeof(uint32_t);
}

float firn_channel_initial(const firn_channel *channel, int k)
{
    bool diagonal = channel->components != 9 || k % 4 == 0;
    return diagonal ? channel->initial : 0.0f;
}

// Letters, digits and _, as all formats take them.
static bool is_name(const char *name)
{
    size_t length = 0;
    for (; length < FIRN_CHANNEL_NAME && name[length] != '\0'; length++) {
        char c = name[length];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(length > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return length > 0 && length < FIRN_CHANNEL_NAME;
}

// Volumes that are there anyway.
static bool is_volume(const char *name)
{
    for (int i = 0; i < FIRN_TABLE_ROWS; i++)
        if (table[i].channel.grid != NULL && strcmp(table[i].channel.grid, name) == 0)
            return true;
    return strcmp(name, "surface") == 0;
}

firn_result firn_channel_check(const firn_channel *channel, firn_error *error)
{
    if (!is_name(channel->name))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "'%.*s' is no name of a channel; use up to %d letters, digits and _, a "
                         "letter first",
                         FIRN_CHANNEL_NAME - 1, channel->name, FIRN_CHANNEL_NAME - 1);
    if (firn_channel_find(channel->name) == NULL && is_volume(channel->name))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "a channel cannot be called %s, which is the name of a volume",
                         channel->name);
    bool sound =
        (unsigned)channel->type <= FIRN_CHANNEL_UINT8 &&
        (channel->components == 1 || channel->components == 3 || channel->components == 9) &&
        isfinite(channel->initial) && isfinite(channel->background);
    return sound ? FIRN_OK
                 : firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the channel %s needs 1, 3 or 9 components of a known type, and "
                             "finite values",
                             channel->name);
}

bool firn_channel_next(const char **list, char *word, size_t size)
{
    *list += strspn(*list, " ,\t\n");
    size_t length = strcspn(*list, " ,\t\n");
    snprintf(word, size, "%.*s", (int)length, *list);
    *list += length;
    return length > 0;
}

// Rows as the only column of a parameter table that is read for a suggestion: their names.
firn_result firn_channel_set_refuse(const firn_channel_set *set, const char *name,
                                    firn_error *error)
{
    firn_param params[FIRN_ROW_LIMIT];
    char list[600] = "";
    size_t used = 0;
    for (int i = 0; i < set->row_count; i++) {
        const firn_channel *row = firn_channel_set_row(set, i);
        params[i] = (firn_param){.name = row->name};
        if (row->use != 0 && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, " %s", row->name);
    }
    const char *near =
        firn_params_suggest((firn_param_table){params, (size_t)set->row_count}, name);
    return firn_fail(error, FIRN_ERR_NOT_FOUND,
                     "there is no channel '%.*s'%s%s%s; there are%s, and %.*s:1 declares one of "
                     "your own",
                     FIRN_CHANNEL_NAME, name, near != NULL ? "; did you mean '" : "",
                     near != NULL ? near : "", near != NULL ? "'?" : "", list, FIRN_CHANNEL_NAME,
                     name);
}

firn_result firn_channel_parse(const char *word, firn_channel *channel, firn_error *error)
{
    const firn_channel *known = firn_channel_find(word);
    const char *colon = strchr(word, ':');
    if (known == NULL && colon == NULL) {
        const firn_channel_set all = {.row_count = FIRN_TABLE_ROWS};
        return firn_channel_set_refuse(&all, word, error);
    }
    if (known != NULL) {
        *channel = *known;
        return FIRN_OK;
    }
    char *end = NULL;
    long components = strtol(colon + 1, &end, 10);
    *channel = (firn_channel){
        .components = (int)components,
        .use = FIRN_CHANNEL_PUBLISHED | FIRN_CHANNEL_SEEDED | FIRN_CHANNEL_VOLUME,
    };
    size_t length = (size_t)(colon - word);
    bool fits = length < FIRN_CHANNEL_NAME && end > colon + 1 && *end == '\0' &&
                (components == 1 || components == 3);
    if (!fits)
        return firn_fail(
            error, FIRN_ERR_ARGUMENT,
            "'%.100s' declares no channel; write a name of at most %d letters and 1 or "
            "3 for its floats, as in dirt:1",
            word, FIRN_CHANNEL_NAME - 1);
    memcpy(channel->name, word, length);
    known = firn_channel_find(channel->name);
    if (known != NULL && known->components != channel->components)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the channel %s has %d components, not %d",
                         known->name, known->components, channel->components);
    if (known != NULL)
        *channel = *known;
    return firn_channel_check(channel, error);
}

// --- What one simulation has ---------------------------------------------------------------------

void firn_channel_set_reset(firn_channel_set *set, unsigned needs)
{
    memset(set, 0, sizeof *set);
    set->row_count = FIRN_TABLE_ROWS;
    for (int i = 0; i < FIRN_TABLE_ROWS; i++) {
        bool there = (table[i].channel.need & needs) != 0;
        int column = there ? table[i].column : FIRN_COLUMN_NONE;
        int end = column + table[i].channel.components;
        set->column[i] = (int16_t)column;
        if (column >= 0 && end > set->column_count)
            set->column_count = end;
    }
}

const firn_channel *firn_channel_set_row(const firn_channel_set *set, int row)
{
    return row < FIRN_TABLE_ROWS ? &table[row].channel : &set->added[row - FIRN_TABLE_ROWS];
}

int firn_channel_set_find(const firn_channel_set *set, const char *name)
{
    for (int i = 0; i < set->row_count; i++)
        if (strcmp(firn_channel_set_row(set, i)->name, name) == 0)
            return i;
    return -1;
}

firn_result firn_channel_set_add(firn_channel_set *set, const firn_channel *channel,
                                 firn_error *error)
{
    FIRN_TRY(firn_channel_check(channel, error));
    int row = firn_channel_set_find(set, channel->name);
    const firn_channel *known = row >= 0 ? firn_channel_set_row(set, row) : channel;
    if (known->type != channel->type || known->components != channel->components)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the channel %s is there with %d components of %s", known->name,
                         known->components, firn_channel_type_name(known->type));
    bool there = row >= FIRN_TABLE_ROWS || (row >= 0 && set->column[row] != FIRN_COLUMN_NONE);
    if (there || (known->use & FIRN_CHANNEL_DERIVED) != 0)
        return row >= 0
                   ? FIRN_OK
                   : firn_fail(error, FIRN_ERR_ARGUMENT,
                               "the channel %s is derived, but nothing derives it", channel->name);
    // A table's row of one part of the method has its place among the columns of the kernels.
    if (row >= 0 && known->need != 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the channel %s comes with a setting of the simulation, not by itself",
                         known->name);
    bool seeds = (channel->use & FIRN_CHANNEL_SEEDED) != 0;
    if (channel->type == FIRN_CHANNEL_UINT8 || (seeds && channel->type != FIRN_CHANNEL_FLOAT))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "the channel %s must be of floats, or of uint32 that no source gives",
                         channel->name);
    int end = set->column_count + channel->components;
    if (end > FIRN_CHANNEL_MAX || (row < 0 && set->row_count == FIRN_ROW_LIMIT))
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "no room for the channel %s: a simulation can be asked for %d, of %d "
                         "floats together",
                         channel->name, FIRN_ADDED_LIMIT, FIRN_ADDED_COLUMNS);
    if (row < 0) {
        row = set->row_count++;
        set->added[row - FIRN_TABLE_ROWS] = *channel;
    }
    set->column[row] = (int16_t)set->column_count;
    set->column_count = end;
    return FIRN_OK;
}

// --- What a checkpoint says of them --------------------------------------------------------------

static int row_at(const firn_channel_set *set, int column)
{
    for (int i = 0; i < set->row_count; i++)
        if (set->column[i] == column)
            return i;
    return -1;
}

int firn_channel_set_save(const firn_channel_set *set, firn_saved_channel saved[FIRN_ROW_LIMIT])
{
    int count = 0;
    for (int column = 0; column <= set->column_count;) {
        int row = row_at(set, column < set->column_count ? column : FIRN_COLUMN_MATERIAL);
        FIRN_ASSERT(row >= 0);
        const firn_channel *channel = firn_channel_set_row(set, row);
        firn_saved_channel one = {.type = channel->type,
                                  .components = (uint32_t)channel->components};
        memcpy(one.name, channel->name, sizeof one.name);
        saved[count++] = one;
        column += channel->components;
    }
    return count;
}

static bool is_in(const firn_saved_channel *one, const firn_saved_channel *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(one, &list[i], sizeof *one) == 0)
            return true;
    return false;
}

// The first channel of one list that the other does not have.
static const firn_saved_channel *first_missing(const firn_saved_channel *of, size_t of_count,
                                               const firn_saved_channel *in, size_t in_count)
{
    for (size_t i = 0; i < of_count; i++)
        if (!is_in(&of[i], in, in_count))
            return &of[i];
    return NULL;
}

firn_result firn_channel_set_match(const firn_channel_set *set, const firn_saved_channel *saved,
                                   size_t count, const char *file, firn_error *error)
{
    firn_saved_channel own[FIRN_ROW_LIMIT];
    size_t own_count = (size_t)firn_channel_set_save(set, own);
    if (count == own_count && memcmp(saved, own, count * sizeof *own) == 0)
        return FIRN_OK;
    const firn_saved_channel *more = first_missing(saved, count, own, own_count);
    if (more != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s has particles with the channel '%.*s' (%u components), which this "
                         "simulation does not have; add it before loading",
                         file, FIRN_CHANNEL_NAME - 1, more->name, more->components);
    const firn_saved_channel *less = first_missing(own, own_count, saved, count);
    if (less != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "%s has particles without the channel '%s' (%u components) of this "
                         "simulation; leave it out, or start again",
                         file, less->name, less->components);
    return firn_fail(error, FIRN_ERR_ARGUMENT,
                     "%s has the channels of its particles in another order or twice; add them in "
                     "the order of the first run",
                     file);
}
