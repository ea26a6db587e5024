#include "firn/wedge.h"

#include "wedge_table.h"

#include <stdio.h>
#include <string.h>

// --- What to vary --------------------------------------------------------------------------------

static bool add_value(firn_axis *a, const char *value, size_t length, size_t *used)
{
    if (a->count == FIRN_AXIS_VALUES || *used + length + 1 > sizeof a->text || length == 0)
        return false;
    memcpy(a->text + *used, value, length);
    a->text[*used + length] = '\0';
    a->values[a->count++] = a->text + *used;
    *used += length + 1;
    return true;
}

static bool is_range(const char *text)
{
    double from, to;
    return sscanf(text, "%lf:%lf", &from, &to) == 2;
}

// "from:to:count", both ends included; false when it is not of that form.
static bool read_range(firn_axis *a, const char *text)
{
    double from, to;
    int count, length = 0;
    if (sscanf(text, "%lf:%lf:%d%n", &from, &to, &count, &length) != 3 || text[length] != '\0' ||
        count < 1 || count > FIRN_AXIS_VALUES)
        return false;
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        char value[64];
        double share = count > 1 ? (double)i / (count - 1) : 0.0;
        int size = snprintf(value, sizeof value, "%.7g", from + share * (to - from));
        if (!add_value(a, value, (size_t)size, &used))
            return false;
    }
    return true;
}

static bool read_axis(firn_axis *a, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof a->name)
        return false;
    memcpy(a->name, text, (size_t)(equals - text));
    if (is_range(equals + 1))
        return read_range(a, equals + 1);
    size_t used = 0;
    for (const char *at = equals + 1;; at++) {
        size_t length = strcspn(at, ",");
        if (!add_value(a, at, length, &used))
            return false;
        at += length;
        if (*at == '\0')
            return true;
    }
}

// Settings of the shot that the folders of variants are made of.
static bool is_place(const char *name)
{
    static const char *const places[] = {"name", "base", "version", "wedge"};
    for (size_t i = 0; i < FIRN_COUNT(places); i++)
        if (strcmp(places[i], name) == 0)
            return true;
    return false;
}

static firn_result read_plan(firn_wedge *wedge, const char *const *vary, size_t count,
                             firn_error *error)
{
    wedge->variant_count = 1;
    for (size_t i = 0; i < count; i++) {
        firn_axis *axis = &wedge->axes[wedge->axis_count++];
        if (!read_axis(axis, vary[i]))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "--vary takes node.param=a,b,c or node.param=from:to:count, not "
                             "'%.600s'",
                             vary[i]);
        if (is_place(axis->name))
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "%s cannot be varied: it says where the variants go", axis->name);
        wedge->variant_count *= axis->count;
        if (wedge->variant_count > FIRN_VARIANT_MAX)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "that makes more than %d variants",
                             FIRN_VARIANT_MAX);
    }
    return FIRN_OK;
}

firn_result firn_wedge_create(const firn_graph *graph, const char *const *vary, size_t count,
                              firn_wedge **wedge, firn_error *error)
{
    const char *listed[FIRN_AXIS_MAX + 1];
    *wedge = NULL;
    if (count == 0 && graph != NULL) {
        while (count <= FIRN_AXIS_MAX && (listed[count] = firn_graph_vary(graph, count)) != NULL)
            count++;
        vary = listed;
    }
    if (count == 0 || count > FIRN_AXIS_MAX)
        return firn_fail(error, FIRN_ERR_ARGUMENT,
                         "--vary is needed, 1 to %d times, or \"vary\" in the scene",
                         FIRN_AXIS_MAX);
    firn_wedge *made = firn_alloc_zero(sizeof *made);
    if (made == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot plan the wedge");
    firn_result result = read_plan(made, vary, count, error);
    if (result == FIRN_OK)
        *wedge = made;
    else
        firn_free(made);
    return result;
}

void firn_wedge_destroy(firn_wedge *wedge) { firn_free(wedge); }

size_t firn_wedge_count(const firn_wedge *wedge) { return wedge->variant_count; }

size_t firn_wedge_axis_count(const firn_wedge *wedge) { return wedge->axis_count; }

const char *firn_wedge_axis(const firn_wedge *wedge, size_t axis) { return wedge->axes[axis].name; }

const char *firn_wedge_value(const firn_wedge *wedge, size_t variant, size_t axis)
{
    for (size_t i = wedge->axis_count - 1; i > axis; i--)
        variant /= wedge->axes[i].count;
    return wedge->axes[axis].values[variant % wedge->axes[axis].count];
}

// --- The variants --------------------------------------------------------------------------------

static firn_result check_variant(const firn_wedge *wedge, size_t variant, firn_error *error)
{
    if (variant < wedge->variant_count)
        return FIRN_OK;
    return firn_fail(error, FIRN_ERR_ARGUMENT, "the wedge has %zu variants and no number %zu",
                     wedge->variant_count, variant);
}

firn_result firn_wedge_apply(const firn_wedge *wedge, size_t variant, firn_graph *graph,
                             firn_error *error)
{
    char text[FIRN_AXIS_NAME + FIRN_TEXT_SIZE + 2];
    const double number[3] = {(double)variant};
    FIRN_TRY(check_variant(wedge, variant, error));
    FIRN_TRY(firn_graph_set(graph, NULL, "wedge", number, error));
    for (size_t i = 0; i < wedge->axis_count; i++) {
        firn_error cause;
        snprintf(text, sizeof text, "%s=%s", wedge->axes[i].name,
                 firn_wedge_value(wedge, variant, i));
        firn_result result = firn_graph_set_text(graph, text, &cause);
        if (result != FIRN_OK)
            return firn_fail(error, result, "--vary %.300s: %.600s", text, cause.message);
    }
    return FIRN_OK;
}

firn_result firn_wedge_home(const firn_graph *graph, char folder[FIRN_PATH_SIZE], firn_error *error)
{
    FIRN_TRY(firn_graph_cache_folder(graph, folder, FIRN_PATH_SIZE, error));
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
    return FIRN_OK;
}

firn_result firn_wedge_bake(const firn_wedge *wedge, size_t variant, firn_graph *graph,
                            const firn_bake_def *def, firn_error *error)
{
    const firn_bake_def whole = firn_bake_def_default();
    firn_wedge_mark mark;
    firn_error late;
    def = def != NULL ? def : &whole;
    FIRN_TRY(firn_wedge_apply(wedge, variant, graph, error));
    FIRN_TRY(firn_wedge_begin(wedge, graph, variant, def->overwrite, &mark, error));
    firn_result result = firn_graph_bake(graph, def, error);
    bool refused =
        result == FIRN_ERR_EXISTS || result == FIRN_ERR_STALE || result == FIRN_ERR_LOCKED;
    if (!refused || mark.state[0] == '\0') {
        const char *state = result == FIRN_OK              ? "done"
                            : result == FIRN_ERR_CANCELLED ? "stopped"
                                                           : "failed";
        mark.code = result == FIRN_OK ? 0 : -1;
        snprintf(mark.state, sizeof mark.state, "%s", state);
    }
    firn_result noted = firn_wedge_note(wedge, graph, variant, mark.state, mark.code, &late);
    if (result == FIRN_OK && noted != FIRN_OK)
        return firn_fail(error, noted, "%s", late.message);
    return result;
}
