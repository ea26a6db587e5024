/// One table describes every parameter: defaults, ranges, units, help. C defaults, files, flags,
/// panels and manual pages are all read from it.
///
///     static const firn_param sim_params[] = {
///         {FIRN_PARAM(firn_sim_def, cell_size), FIRN_FLOAT, {0.02}, 1e-4, 1.0, "m",
///          "Edge of a cell"},
///     };
#ifndef FIRN_PARAMS_H
#define FIRN_PARAMS_H

#include "firn/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FIRN_TEXT_SIZE = 1024 }; // bytes of a text, with its terminating zero

typedef enum firn_param_type {
    FIRN_BOOL,   // bool
    FIRN_INT,    // int
    FIRN_FLOAT,  // float
    FIRN_DOUBLE, // double
    FIRN_VEC3,   // firn_vec3
    FIRN_CHOICE, // int, an index into choices
    FIRN_STRING, // char[FIRN_TEXT_SIZE]
    FIRN_PATH,   // char[FIRN_TEXT_SIZE], the name of a file, perhaps with a frame number
} firn_param_type;

typedef struct firn_param {
    const char *name;
    size_t offset; // of the field in its struct
    firn_param_type type;
    double initial[3];
    double min, max; // per component, both allowed
    const char *unit;
    const char *help;
    const char *choices;      // "quadratic|cubic" for FIRN_CHOICE, else NULL
    const char *label;        // NULL: made from the name
    const char *visible_when; // "shape==box"; NULL: always
    const char *text;         // default of a string or path; NULL: empty
    bool added; // later than its table: at its default it leaves the hash of a scene as it was
} firn_param;

/// A table and its length; def structs publish theirs.
typedef struct firn_param_table {
    const firn_param *params;
    size_t count;
} firn_param_table;

#define FIRN_PARAM(type, field) #field, offsetof(type, field)

/// Writes every default into the struct at settings.
FIRN_API void firn_params_reset(firn_param_table table, void *settings);

/// Refuses values that are not finite or out of range; what names the owner in the message.
FIRN_API firn_result firn_params_check(firn_param_table table, const void *settings,
                                       const char *what, firn_error *error);

/// The row with this name, or NULL.
FIRN_API const firn_param *firn_params_find(firn_param_table table, const char *name);

/// The name in the table that is most like a misspelled one, or NULL when nothing is near.
FIRN_API const char *firn_params_suggest(firn_param_table table, const char *name);

/// "float", "choice", ...
FIRN_API const char *firn_param_type_name(firn_param_type type);

/// Number of components of a parameter: 3 for a vector, else 1.
FIRN_API int firn_param_components(const firn_param *param);

/// True for strings and paths, which have no numbers.
FIRN_API bool firn_param_is_text(const firn_param *param);

/// Reads or writes a field as numbers (a choice as its index); set checks the range. A text reads
/// as zeros and is not set by numbers.
FIRN_API void firn_param_get(const firn_param *param, const void *settings, double values[3]);
FIRN_API firn_result firn_param_set(const firn_param *param, void *settings, const double values[3],
                                    firn_error *error);

/// Sets a field from text: "0.02", "0 -9.81 0", "true", the name of a choice, or the text itself.
FIRN_API firn_result firn_param_parse(const firn_param *param, void *settings, const char *text,
                                      firn_error *error);

/// Writes the field as text that firn_param_parse reads back to the same bits.
FIRN_API void firn_param_print(const firn_param *param, const void *settings, char *text,
                               size_t size);

/// Copies the name of choice number index to text; false when there is none.
FIRN_API bool firn_param_choice(const firn_param *param, int index, char *text, size_t size);

/// "Cell size" for cell_size.
FIRN_API void firn_param_label(const firn_param *param, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
