/// `firn describe`: node types and their parameters, from the tables that everything else reads.
#include "command.h"

#include "firn/channel.h"
#include "firn/graph.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 128, TYPE_MAX = 64 };

typedef struct request {
    const char *json, *markdown, *channels;
} request;

static bool has_range(const firn_param *param)
{
    return !firn_param_is_text(param) && param->type != FIRN_BOOL && param->type != FIRN_CHOICE;
}

// The default as it would be written in a file.
static const char *default_text(const firn_param *param, char *text, size_t size)
{
    if (firn_param_is_text(param))
        snprintf(text, size, "%s", param->text != NULL ? param->text : "");
    else if (param->type == FIRN_BOOL)
        snprintf(text, size, "%s", param->initial[0] != 0.0 ? "true" : "false");
    else if (param->type == FIRN_CHOICE)
        firn_param_choice(param, (int)param->initial[0], text, size);
    else if (param->type == FIRN_VEC3)
        snprintf(text, size, "%g %g %g", param->initial[0], param->initial[1], param->initial[2]);
    else
        snprintf(text, size, "%g", param->initial[0]);
    return text;
}

static const char *range_text(const firn_param *param, char *text, size_t size)
{
    text[0] = '\0';
    if (has_range(param))
        snprintf(text, size, "%g to %g", param->min, param->max);
    return text;
}

// --- Text ----------------------------------------------------------------------------------------

static void print_param(const firn_param *param)
{
    char value[FIRN_TEXT_SIZE], range[TEXT_SIZE];
    default_text(param, value, sizeof value);
    range_text(param, range, sizeof range);
    printf("  %-26s %s", param->name, firn_param_type_name(param->type));
    if (value[0] != '\0')
        printf(" = %s", value);
    if (param->unit[0] != '\0')
        printf(" %s", param->unit);
    if (range[0] != '\0')
        printf(", %s", range);
    if (param->type == FIRN_CHOICE)
        printf(", %s", param->choices);
    if (param->visible_when != NULL)
        printf(", when %s", param->visible_when);
    printf("\n      %s\n", param->help);
}

static void print_text(const firn_graph *graph, const firn_node_info *info)
{
    printf("%s (%s)\n  %s\n", info->name, info->label, info->help);
    if (info->input_count > 0)
        printf("\nInputs:\n");
    for (size_t i = 0; i < info->input_count; i++) {
        const firn_node_input *input = &info->inputs[i];
        printf("  %-26s %s%s%s\n      %s\n", input->name, input->many ? "any number of " : "",
               firn_kind_name(input->kind), input->required ? ", required" : "", input->help);
    }
    printf("\nOutput: %s\n\nParameters (* may be animated):\n", firn_kind_name(info->output));
    for (size_t i = 0; i < info->params.count; i++) {
        bool animated =
            firn_graph_param_is_animated(graph, info->name, info->params.params[i].name);
        fputs(animated ? "*" : " ", stdout);
        print_param(&info->params.params[i]);
    }
}

static void list_text(const firn_graph *graph)
{
    for (size_t i = 0; firn_graph_type(graph, i) != NULL; i++)
        printf("  %-18s %s\n", firn_graph_type(graph, i)->name, firn_graph_type(graph, i)->help);
    printf("\n`firn describe NODE` lists the parameters of one, `firn describe shot` those of the "
           "whole graph.\n");
}

// --- Markdown ------------------------------------------------------------------------------------

// A cell of a table, where a bar would end it.
static void print_cell(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            fputc('\\', stdout);
        fputc(*text, stdout);
    }
}

static void print_markdown_param(const firn_graph *graph, const firn_node_info *info,
                                 const firn_param *param)
{
    char text[FIRN_TEXT_SIZE];
    printf("| `%s` | %s", param->name, firn_param_type_name(param->type));
    if (graph != NULL && firn_graph_param_is_animated(graph, info->name, param->name))
        printf(", animated");
    printf(" | %s | ", default_text(param, text, sizeof text));
    print_cell(param->type == FIRN_CHOICE ? param->choices : range_text(param, text, sizeof text));
    printf(" | %s | ", param->unit);
    print_cell(param->help);
    if (param->visible_when != NULL) {
        printf(" (when `");
        print_cell(param->visible_when);
        printf("`)");
    }
    printf(" |\n");
}

static void print_markdown_params(const firn_graph *graph, const firn_node_info *info)
{
    printf("\n| parameter | type | default | range or choices | unit | meaning |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < info->params.count; i++)
        print_markdown_param(graph, info, &info->params.params[i]);
}

static void print_markdown(const firn_graph *graph, const firn_node_info *info)
{
    printf("\n## %s (`%s`)\n\n%s\n\n", info->label, info->name, info->help);
    for (size_t i = 0; i < info->input_count; i++) {
        const firn_node_input *input = &info->inputs[i];
        printf("- input `%s`: %s%s%s. %s\n", input->name, input->many ? "any number of " : "",
               firn_kind_name(input->kind), input->required ? ", required" : "", input->help);
    }
    printf("- output: %s\n", firn_kind_name(info->output));
    print_markdown_params(graph, info);
}

static void list_markdown(const firn_graph *graph, const firn_node_info *shot)
{
    printf("# Parameters\n\nMade by `firn describe --markdown`. A scene is a graph of these nodes; "
           "lengths are meters,\nmasses kilograms, times seconds. Parameters marked as animated "
           "may have keys.\n\n## The shot\n\n%s\n",
           shot->help);
    print_markdown_params(NULL, shot);
    for (size_t i = 0; firn_graph_type(graph, i) != NULL; i++)
        print_markdown(graph, firn_graph_type(graph, i));
}

// --- Channels ------------------------------------------------------------------------------------

// When particles have it.
static const char *presence_of(const firn_channel *channel)
{
    if ((channel->use & FIRN_CHANNEL_DERIVED) != 0)
        return "derived";
    if ((channel->need & FIRN_NEED_ALWAYS) != 0)
        return "always";
    return (channel->need & FIRN_NEED_APIC) != 0 ? "with APIC" : "when asked for";
}

static const char *volume_of(const firn_channel *channel)
{
    if ((channel->use & FIRN_CHANNEL_VOLUME) == 0)
        return "";
    return channel->grid != NULL ? channel->grid : channel->name;
}

static const char *files_of(const firn_channel *channel)
{
    if ((channel->use & FIRN_CHANNEL_PUBLISHED) == 0)
        return "no";
    return (channel->use & FIRN_CHANNEL_ON_DEMAND) != 0 ? "when asked for" : "yes";
}

static void print_channel(const firn_channel *channel, bool markdown)
{
    char type[TEXT_SIZE];
    const char *volume = volume_of(channel), *seed = channel->seed != NULL ? channel->seed : "";
    snprintf(type, sizeof type, channel->components > 1 ? "%s x %d" : "%s",
             firn_channel_type_name(channel->type), channel->components);
    if (!markdown) {
        printf("  %-12s %-10s %-7s %s\n", channel->name, type, channel->unit, channel->help);
        return;
    }
    printf("| `%s` | %s | %s | %s | %g | %s | %s | %s%s%s | %s |\n", channel->name, type,
           channel->unit, presence_of(channel), (double)channel->initial, seed, files_of(channel),
           volume[0] != '\0' ? "`" : "", volume, volume[0] != '\0' ? "`" : "", channel->help);
}

static void list_channels(bool markdown)
{
    if (markdown)
        printf("# Channels\n\nMade by `firn describe --channels --markdown` from the one table of "
               "what a particle carries\n(`core/src/particles/channels.c`); files.md says how to "
               "use and add them.\n\n| channel | type | unit | particles have it | initial | comes "
               "from | in files | volume | meaning |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < firn_channel_count(); i++)
        print_channel(firn_channel_at(i), markdown);
}

// -------------------------------------------------------------------------------------------------

static void describe_one(const firn_graph *graph, const firn_node_info *info, const request *own)
{
    if (own->markdown != NULL)
        print_markdown(graph, info);
    else
        print_text(graph, info);
}

static int print_json(const firn_graph *graph, const char *type)
{
    char *text = NULL;
    firn_error error;
    firn_result result = firn_graph_describe(graph, type, &text, &error);
    if (result != FIRN_OK)
        return firn_exit_of(result, &error);
    puts(text);
    firn_free(text);
    return FIRN_EXIT_OK;
}

static int unknown_type(const firn_graph *graph, const char *name)
{
    const char *known[TYPE_MAX];
    char hint[TEXT_SIZE];
    size_t count = 0;
    for (; count < TYPE_MAX && firn_graph_type(graph, count) != NULL; count++)
        known[count] = firn_graph_type(graph, count)->name;
    return firn_usage("describe", "there is no node type '%s'%s", name,
                      firn_suggest(known, count, name, hint, sizeof hint));
}

static int describe(const firn_graph *graph, const request *own, const char *name)
{
    const firn_node_info shot = firn_shot_info();
    bool known =
        name == NULL || strcmp(name, shot.name) == 0 || firn_graph_type_find(graph, name) != NULL;
    if (!known)
        return unknown_type(graph, name);
    if (own->json != NULL)
        return print_json(graph, name);
    if (name == NULL && own->markdown != NULL)
        list_markdown(graph, &shot);
    else if (name == NULL)
        list_text(graph);
    else if (strcmp(name, shot.name) == 0)
        describe_one(graph, &shot, own);
    else
        describe_one(graph, firn_graph_type_find(graph, name), own);
    return FIRN_EXIT_OK;
}

static int run_describe(const void *memory, const firn_words *words)
{
    const request *own = memory;
    if (own->channels != NULL) {
        list_channels(own->markdown != NULL);
        return FIRN_EXIT_OK;
    }
    firn_graph *graph = NULL;
    firn_error error;
    firn_result result = firn_graph_create(&graph, &error);
    if (result != FIRN_OK)
        return firn_exit_of(result, &error);
    int code = describe(graph, memory, words->count > 0 ? words->words[0] : NULL);
    firn_graph_destroy(graph);
    return code;
}

static const firn_option options[] = {
    {"--json", NULL, "for programs", offsetof(request, json)},
    {"--markdown", NULL, "the manual page docs/parameters.md", offsetof(request, markdown)},
    {"--channels", NULL, "what a particle carries; with --markdown docs/channels.md",
     offsetof(request, channels)},
};

const firn_command firn_command_describe = {
    .name = "describe",
    .summary = "explains the nodes and every parameter",
    .usage = "[NODE] [OPTIONS]",
    .about = "Lists the node types, or the inputs and parameters of one of them: type, default,\n"
             "unit, range, choices, and when a parameter has a meaning.",
    .example = "  firn describe\n"
               "  firn describe solver\n"
               "  firn describe --json > nodes.json",
    .own = {options, FIRN_COUNT(options)},
    .request_size = sizeof(request),
    .most = 1,
    .run = run_describe,
};
