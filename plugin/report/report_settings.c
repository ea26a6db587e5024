#include "page.h"
#include "report_parts.h"

#include <string.h>

enum { KEYS_SHOWN = 8, VALUE_SIZE = FIRN_TEXT_SIZE + 256 };

/// A node beside one of its type and preset that nothing else was set in.
typedef struct compared {
    const firn_graph *graph;
    firn_graph *plain;
    const char *node;
    const firn_node_info *type;
} compared;

static void print_keys(const firn_param *param, const firn_key *keys, size_t count,
                       firn_interpolation interpolation, char *text, size_t size)
{
    static const char *const names[] = {"constant", "linear", "smooth"};
    int used = snprintf(text, size, "%s keys:", names[interpolation]);
    for (size_t k = 0; k < count && k < KEYS_SHOWN && used > 0 && (size_t)used < size; k++) {
        const double *v = keys[k].value;
        if (param->type == FIRN_VEC3)
            used += snprintf(text + used, size - (size_t)used, "%s frame %g: %g %g %g",
                             k > 0 ? "," : "", keys[k].frame, v[0], v[1], v[2]);
        else
            used += snprintf(text + used, size - (size_t)used, "%s frame %g: %g", k > 0 ? "," : "",
                             keys[k].frame, v[0]);
    }
    if (count > KEYS_SHOWN && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " and %zu more", count - KEYS_SHOWN);
}

// The value as text; true when it is not the default.
static bool value_of(const compared *c, const firn_param *param, char *text, size_t size)
{
    char plain[FIRN_TEXT_SIZE] = "";
    size_t count = 0;
    firn_interpolation interpolation;
    const firn_key *keys = firn_graph_keys(c->graph, c->node, param->name, &count, &interpolation);
    if (keys != NULL) {
        print_keys(param, keys, count, interpolation, text, size);
        return true;
    }
    text[0] = '\0';
    double first = firn_graph_shot(c->graph)->first;
    firn_graph_get_text(c->graph, c->node, param->name, first, text, size, NULL);
    double choice[3] = {0.0};
    if (strcmp(param->name, "preset") == 0)
        return firn_graph_get(c->graph, c->node, "preset", first, choice, NULL) == FIRN_OK &&
               choice[0] != param->initial[0];
    firn_graph_get_text(c->plain, "plain", param->name, first, plain, sizeof plain, NULL);
    return strcmp(text, plain) != 0;
}

static firn_result make_plain(compared *c, firn_error *error)
{
    char preset[FIRN_TEXT_SIZE];
    FIRN_TRY(firn_graph_create(&c->plain, error));
    FIRN_TRY(firn_graph_add(c->plain, c->type->name, "plain", error));
    if (firn_params_find(c->type->params, "preset") == NULL)
        return FIRN_OK;
    FIRN_TRY(firn_graph_get_text(c->graph, c->node, "preset", 0.0, preset, sizeof preset, error));
    return firn_graph_set_param(c->plain, "plain", "preset", preset, FIRN_LAYER_ALWAYS, error);
}

static size_t print_rows(FILE *page, const compared *c, bool all)
{
    char text[VALUE_SIZE];
    size_t count = 0;
    for (size_t i = 0; i < c->type->params.count; i++) {
        const firn_param *param = &c->type->params.params[i];
        bool changed = value_of(c, param, text, sizeof text);
        if (!all && !changed)
            continue;
        fputs(count++ == 0 ? "<table>\n<tr><td>" : "<tr><td>", page);
        fputs(changed && all ? "<b>" : "", page);
        firn_page_text(page, param->name);
        fputs(changed && all ? "</b></td><td>" : "</td><td>", page);
        firn_page_text(page, text[0] != '\0' ? text : "(empty)");
        if (param->unit != NULL && param->unit[0] != '\0') {
            fputc(' ', page);
            firn_page_text(page, param->unit);
        }
        fputs("</td><td class=\"help\">", page);
        firn_page_text(page, param->help != NULL ? param->help : "");
        fputs("</td></tr>\n", page);
    }
    fputs(count > 0 ? "</table>\n" : "<p>All values are the defaults.</p>\n", page);
    return count;
}

static void print_inputs(FILE *page, const compared *c)
{
    const char *between = ", from ";
    for (size_t k = 0; k < c->type->input_count; k++)
        for (size_t n = 0;; n++) {
            const char *from = firn_graph_input(c->graph, c->node, c->type->inputs[k].name, n);
            if (from == NULL)
                break;
            fputs(between, page);
            firn_page_text(page, from);
            between = ", ";
        }
}

static void print_node(FILE *page, const firn_graph *graph, const char *node)
{
    firn_error error;
    compared c = {.graph = graph, .node = node, .type = firn_graph_node_type(graph, node)};
    fputs("<details open><summary><b>", page);
    firn_page_text(page, node);
    fputs("</b> ", page);
    firn_page_text(page, c.type->label);
    print_inputs(page, &c);
    fputs("</summary>\n<div class=\"wide\">", page);
    if (make_plain(&c, &error) == FIRN_OK) {
        print_rows(page, &c, false);
        fputs("</div><details><summary>all parameters</summary><div class=\"wide\">", page);
        print_rows(page, &c, true);
        fputs("</div></details>", page);
    } else {
        firn_page_text(page, error.message);
        fputs("</div>", page);
    }
    fputs("</details>\n", page);
    firn_graph_destroy(c.plain);
}

static void print_shot(FILE *page, const firn_shot *shot)
{
    firn_param_table table = firn_shot_params();
    fputs("<details><summary><b>Shot</b></summary><div class=\"wide\"><table>\n", page);
    for (size_t i = 0; i < table.count; i++) {
        char text[FIRN_TEXT_SIZE];
        firn_param_print(&table.params[i], shot, text, sizeof text);
        fputs("<tr><td>", page);
        firn_page_text(page, table.params[i].name);
        fputs("</td><td>", page);
        firn_page_text(page, text);
        fputs("</td></tr>\n", page);
    }
    fputs("</table></div></details>\n", page);
}

void firn_report_settings(FILE *page, const firn_record *record)
{
    fputs("<h2>Settings</h2>\n", page);
    if (record->graph == NULL) {
        fputs("<p>The graph beside the cache cannot be read: ", page);
        firn_page_text(page, record->problem.message);
        fputs("</p>\n", page);
        return;
    }
    fputs("<p>What was cooked, with every override; shown are the values that differ from the "
          "defaults.</p>\n",
          page);
    print_shot(page, firn_graph_shot(record->graph));
    for (size_t i = 0; firn_graph_node(record->graph, i) != NULL; i++)
        print_node(page, record->graph, firn_graph_node(record->graph, i));
}
