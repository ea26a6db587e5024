#include "firn/params.h"

#include "firn/vec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 64, NAME_SIZE = 64 };

// The functions of <ctype.h> follow the host's locale; names and numbers do not.
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static char to_upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

static int count_choices(const firn_param *param)
{
    int count = 1;
    for (const char *at = param->choices; *at != '\0'; at++)
        count += *at == '|';
    return count;
}

static double lowest(const firn_param *param)
{
    return param->type == FIRN_BOOL || param->type == FIRN_CHOICE ? 0.0 : param->min;
}

static double highest(const firn_param *param)
{
    if (param->type == FIRN_BOOL)
        return 1.0;
    return param->type == FIRN_CHOICE ? count_choices(param) - 1 : param->max;
}

static bool holds_floats(const firn_param *param)
{
    return param->type == FIRN_FLOAT || param->type == FIRN_VEC3;
}

/// The bound as the field can store it: a float of 1e-4 is a little less than the double.
static double as_stored(const firn_param *param, double value)
{
    return holds_floats(param) && fabs(value) <= FLT_MAX ? (double)(float)value : value;
}

/// What the host's locale puts between 0 and 5 in one half; not always a point.
static void decimal_point(char *text, size_t size)
{
    char half[16];
    snprintf(half, sizeof half, "%.1f", 0.5);
    size_t length = strlen(half);
    snprintf(text, size, "%.*s", (int)(length - 2), half + 1);
}

/// Reads digits[.digits][e[+-]digits] with an optional sign, whatever the locale says. Returns
/// where the number ends, or NULL when there is none.
static const char *read_number(const char *text, double *value)
{
    const char *at = text;
    size_t digits = 0;
    at += *at == '+' || *at == '-';
    for (; is_digit(*at); at++)
        digits++;
    const char *point = *at == '.' ? at++ : NULL;
    for (; point != NULL && is_digit(*at); at++)
        digits++;
    if (digits == 0)
        return NULL;
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1;
        exponent += *exponent == '+' || *exponent == '-';
        if (!is_digit(*exponent))
            return NULL;
        for (at = exponent; is_digit(*at);)
            at++;
    }
    char local[NUMBER_SIZE + 16], separator[8];
    if (at - text > NUMBER_SIZE)
        return NULL;
    decimal_point(separator, sizeof separator);
    if (point == NULL)
        snprintf(local, sizeof local, "%.*s", (int)(at - text), text);
    else
        snprintf(local, sizeof local, "%.*s%s%.*s", (int)(point - text), text, separator,
                 (int)(at - point - 1), point + 1);
    *value = strtod(local, NULL);
    return at;
}

/// The shortest text that reads back to the same value.
static void print_number(double value, bool is_float, char *text, size_t size)
{
    char local[NUMBER_SIZE], separator[8];
    decimal_point(separator, sizeof separator);
    double back = 0.0;
    for (int digits = is_float ? 6 : 15; digits <= (is_float ? 9 : 17); digits++) {
        snprintf(local, sizeof local, "%.*g", digits, value);
        back = strtod(local, NULL);
        if (is_float ? (float)back == (float)value : back == value)
            break;
    }
    const char *point = strstr(local, separator);
    if (point == NULL)
        snprintf(text, size, "%s", local);
    else
        snprintf(text, size, "%.*s.%s", (int)(point - local), local, point + strlen(separator));
}

bool firn_param_is_text(const firn_param *param)
{
    return param->type == FIRN_STRING || param->type == FIRN_PATH;
}

const char *firn_param_type_name(firn_param_type type)
{
    static const char *const names[] = {
        [FIRN_BOOL] = "bool",     [FIRN_INT] = "int",   [FIRN_FLOAT] = "float",
        [FIRN_DOUBLE] = "double", [FIRN_VEC3] = "vec3", [FIRN_CHOICE] = "choice",
        [FIRN_STRING] = "string", [FIRN_PATH] = "path",
    };
    return (size_t)type < FIRN_COUNT(names) ? names[type] : "unknown";
}

int firn_param_components(const firn_param *param) { return param->type == FIRN_VEC3 ? 3 : 1; }

void firn_param_get(const firn_param *param, const void *settings, double values[3])
{
    const char *field = (const char *)settings + param->offset;
    values[0] = values[1] = values[2] = 0.0;
    switch (param->type) {
    case FIRN_BOOL: { // a byte: memory that was never set may hold something else than 0 or 1
        unsigned char byte;
        memcpy(&byte, field, sizeof byte);
        values[0] = byte;
        return;
    }
    case FIRN_INT:
    case FIRN_CHOICE:
        values[0] = *(const int *)(const void *)field;
        return;
    case FIRN_FLOAT:
        values[0] = (double)*(const float *)(const void *)field;
        return;
    case FIRN_DOUBLE:
        values[0] = *(const double *)(const void *)field;
        return;
    case FIRN_VEC3: {
        const firn_vec3 *v = (const firn_vec3 *)(const void *)field;
        values[0] = (double)v->x;
        values[1] = (double)v->y;
        values[2] = (double)v->z;
        return;
    }
    case FIRN_STRING:
    case FIRN_PATH:
        return;
    }
}

static void store(const firn_param *param, void *settings, const double values[3])
{
    char *field = (char *)settings + param->offset;
    switch (param->type) {
    case FIRN_BOOL:
        *(bool *)(void *)field = values[0] != 0.0;
        return;
    case FIRN_INT:
    case FIRN_CHOICE:
        *(int *)(void *)field = (int)values[0];
        return;
    case FIRN_FLOAT:
        *(float *)(void *)field = (float)values[0];
        return;
    case FIRN_DOUBLE:
        *(double *)(void *)field = values[0];
        return;
    case FIRN_VEC3:
        *(firn_vec3 *)(void *)field =
            firn_vec((float)values[0], (float)values[1], (float)values[2]);
        return;
    case FIRN_STRING:
    case FIRN_PATH:
        memset(field, 0, FIRN_TEXT_SIZE);
        snprintf(field, FIRN_TEXT_SIZE, "%s", param->text != NULL ? param->text : "");
        return;
    }
}

/// Says which values a parameter takes: "between 0.0001 and 1 m", "quadratic or cubic".
static void describe_range(const firn_param *param, char *text, size_t size)
{
    if (param->type == FIRN_BOOL) {
        snprintf(text, size, "true or false");
    } else if (firn_param_is_text(param)) {
        snprintf(text, size, "a text of at most %d bytes", FIRN_TEXT_SIZE - 1);
    } else if (param->type == FIRN_CHOICE) {
        size_t length = 0;
        int count = count_choices(param);
        for (int i = 0; i < count && length < size; i++) {
            char choice[NAME_SIZE];
            firn_param_choice(param, i, choice, sizeof choice);
            const char *joint = i == 0 ? "" : i + 1 < count ? ", " : " or ";
            length += (size_t)snprintf(text + length, size - length, "%s%s", joint, choice);
        }
    } else {
        char low[NUMBER_SIZE], high[NUMBER_SIZE];
        print_number(param->min, holds_floats(param), low, sizeof low);
        print_number(param->max, holds_floats(param), high, sizeof high);
        snprintf(text, size, "%sbetween %s and %s%s%s",
                 param->type == FIRN_INT ? "a whole number " : "", low, high,
                 param->unit[0] != '\0' ? " " : "", param->unit);
    }
}

static firn_result refuse(const firn_param *param, const char *what, const char *value,
                          firn_error *error)
{
    char range[300];
    describe_range(param, range, sizeof range);
    return firn_fail(error, FIRN_ERR_ARGUMENT, "%s%s%s is %.200s; it must be %s",
                     what != NULL ? what : "", what != NULL ? "." : "", param->name, value, range);
}

static firn_result check_values(const firn_param *param, const double values[3], const char *what,
                                firn_error *error)
{
    bool whole = param->type == FIRN_BOOL || param->type == FIRN_INT || param->type == FIRN_CHOICE;
    int count = firn_param_components(param);
    bool fine = true;
    char text[3 * NUMBER_SIZE + 32] = "";
    for (int i = 0; i < count; i++) {
        double value = as_stored(param, values[i]);
        fine = fine && isfinite(value) && value >= as_stored(param, lowest(param)) &&
               value <= as_stored(param, highest(param)) && (!whole || floor(value) == value);
        char number[NUMBER_SIZE];
        print_number(values[i], holds_floats(param), number, sizeof number);
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s%s%s", i > 0 ? ", " : "", number,
                 param->unit[0] != '\0' && i + 1 == count ? " " : "",
                 i + 1 == count ? param->unit : "");
    }
    return fine ? FIRN_OK : refuse(param, what, text, error);
}

firn_result firn_param_set(const firn_param *param, void *settings, const double values[3],
                           firn_error *error)
{
    if (firn_param_is_text(param))
        return refuse(param, NULL, "a number", error);
    FIRN_TRY(check_values(param, values, NULL, error));
    store(param, settings, values);
    return FIRN_OK;
}

void firn_params_reset(firn_param_table table, void *settings)
{
    for (size_t i = 0; i < table.count; i++)
        store(&table.params[i], settings, table.params[i].initial);
}

firn_result firn_params_check(firn_param_table table, const void *settings, const char *what,
                              firn_error *error)
{
    for (size_t i = 0; i < table.count; i++) {
        if (firn_param_is_text(&table.params[i])) {
            const char *field = (const char *)settings + table.params[i].offset;
            if (memchr(field, '\0', FIRN_TEXT_SIZE) == NULL)
                return refuse(&table.params[i], what, "a text without an end", error);
            continue;
        }
        double values[3];
        firn_param_get(&table.params[i], settings, values);
        FIRN_TRY(check_values(&table.params[i], values, what, error));
    }
    return FIRN_OK;
}

const firn_param *firn_params_find(firn_param_table table, const char *name)
{
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(table.params[i].name, name) == 0)
            return &table.params[i];
    return NULL;
}

/// Case does not count, and names are also written with other separators than '_'.
static char folded(char c) { return c == '-' || c == ' ' || c == '.' ? '_' : to_lower(c); }

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/// Insertions, removals, changes and swaps of neighbors that turn a into b.
static int edit_distance(const char *a, int a_length, const char *b, int b_length)
{
    int rows[3][NAME_SIZE + 1];
    for (int j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            char x = folded(a[i - 1]), y = folded(b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            bool swapped = i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y;
            if (swapped && second[j - 2] + 1 < row[j])
                row[j] = second[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

/// More slips than that make another word.
static int most_slips(const char *name) { return 2 + (int)strlen(name) / 4; }

/// Whether a misspelled name has fewer slips from this one than the least so far, which follows.
static bool is_nearer(const char *name, const char *candidate, int *least)
{
    size_t length = strlen(name), other = strlen(candidate);
    if (length == 0 || length > NAME_SIZE || other > NAME_SIZE)
        return false;
    int distance = edit_distance(name, (int)length, candidate, (int)other);
    // A short name would match any other short one by changing all of it.
    if (distance >= *least || (size_t)distance >= length || (size_t)distance >= other)
        return false;
    *least = distance;
    return true;
}

const char *firn_params_suggest(firn_param_table table, const char *name)
{
    const char *nearest = NULL;
    int least = most_slips(name);
    for (size_t i = 0; i < table.count; i++)
        if (is_nearer(name, table.params[i].name, &least))
            nearest = table.params[i].name;
    return nearest;
}

/// " (did you mean granular?)", or nothing.
static void suggest_choice(const firn_param *param, const char *name, char *text, size_t size)
{
    int least = most_slips(name);
    char choice[NAME_SIZE];
    text[0] = '\0';
    for (int i = 0; firn_param_choice(param, i, choice, sizeof choice); i++)
        if (is_nearer(name, choice, &least))
            snprintf(text, size, " (did you mean %s?)", choice);
}

static bool parse_bool(const char *text, double *value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"true", 1.0}, {"false", 0.0}, {"1", 1.0},   {"0", 0.0},
                 {"on", 1.0},   {"off", 0.0},   {"yes", 1.0}, {"no", 0.0}};
    for (size_t i = 0; i < FIRN_COUNT(words); i++) {
        if (strcmp(text, words[i].word) == 0) {
            *value = words[i].value;
            return true;
        }
    }
    return false;
}

static bool parse_choice(const firn_param *param, const char *text, double *value)
{
    char choice[NAME_SIZE];
    for (int i = 0; firn_param_choice(param, i, choice, sizeof choice); i++) {
        if (strcmp(text, choice) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static const char *skip_space(const char *at)
{
    while (is_space(*at))
        at++;
    return at;
}

/// Exactly count numbers, with spaces or one comma between them, bare or in brackets as scene
/// files have them.
static bool parse_numbers(const char *text, int count, double values[3])
{
    const char *at = skip_space(text);
    const bool brackets = count > 1 && *at == '[';
    if (brackets)
        at = skip_space(at + 1);
    for (int i = 0; i < count; i++) {
        const char *end = read_number(at, &values[i]);
        if (end == NULL)
            return false;
        at = skip_space(end);
        if (i + 1 < count && *at == ',')
            at = skip_space(at + 1);
        else if (i + 1 < count && at == end)
            return false;
    }
    if (brackets)
        return *at == ']' && *skip_space(at + 1) == '\0';
    return *at == '\0';
}

static firn_result store_text(const firn_param *param, void *settings, const char *text,
                              firn_error *error)
{
    char *field = (char *)settings + param->offset;
    size_t length = strlen(text);
    char size[64];
    snprintf(size, sizeof size, "%zu bytes long", length);
    if (length >= FIRN_TEXT_SIZE)
        return refuse(param, NULL, size, error);
    // Without leftovers, so that equal settings are equal bytes; the text may be the field itself.
    memmove(field, text, length);
    memset(field + length, 0, FIRN_TEXT_SIZE - length);
    return FIRN_OK;
}

firn_result firn_param_parse(const firn_param *param, void *settings, const char *text,
                             firn_error *error)
{
    double values[3] = {0.0, 0.0, 0.0};
    bool understood;
    if (firn_param_is_text(param))
        return store_text(param, settings, text, error);
    if (param->type == FIRN_BOOL)
        understood = parse_bool(text, values);
    else if (param->type == FIRN_CHOICE)
        understood = parse_choice(param, text, values);
    else
        understood = parse_numbers(text, firn_param_components(param), values);
    if (understood)
        return firn_param_set(param, settings, values, error);
    char quoted[300], hint[NAME_SIZE + 32] = "";
    if (param->type == FIRN_CHOICE)
        suggest_choice(param, text, hint, sizeof hint);
    else if (param->type == FIRN_VEC3)
        snprintf(hint, sizeof hint, ", not three numbers such as 0,1,0");
    snprintf(quoted, sizeof quoted, "'%.100s'%s", text, hint);
    return refuse(param, NULL, quoted, error);
}

void firn_param_print(const firn_param *param, const void *settings, char *text, size_t size)
{
    double values[3];
    firn_param_get(param, settings, values);
    if (size > 0)
        text[0] = '\0';
    if (param->type == FIRN_BOOL) {
        snprintf(text, size, "%s", values[0] != 0.0 ? "true" : "false");
    } else if (firn_param_is_text(param)) {
        snprintf(text, size, "%.*s", FIRN_TEXT_SIZE, (const char *)settings + param->offset);
    } else if (param->type == FIRN_CHOICE) {
        firn_param_choice(param, (int)values[0], text, size);
    } else {
        size_t length = 0;
        for (int i = 0; i < firn_param_components(param) && length < size; i++) {
            char number[NUMBER_SIZE];
            print_number(values[i], holds_floats(param), number, sizeof number);
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s", i > 0 ? " " : "", number);
        }
    }
}

bool firn_param_choice(const firn_param *param, int index, char *text, size_t size)
{
    const char *at = param->choices;
    if (at == NULL || index < 0)
        return false;
    for (; index > 0; index--) {
        at = strchr(at, '|');
        if (at == NULL)
            return false;
        at++;
    }
    snprintf(text, size, "%.*s", (int)strcspn(at, "|"), at);
    return true;
}

void firn_param_label(const firn_param *param, char *text, size_t size)
{
    snprintf(text, size, "%s", param->label != NULL ? param->label : param->name);
    if (param->label != NULL || size == 0)
        return;
    for (char *at = text; *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
    text[0] = to_upper(text[0]);
}
