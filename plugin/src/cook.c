#include "graph_state.h"
#include "ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// --- What cook functions ask for -----------------------------------------------------------------

static const firn_slot *slot_of(const firn_cook *cook, const char *name)
{
    const firn_node *node = cook->owner;
    for (size_t i = 0; i < node->type->info.input_count; i++)
        if (strcmp(node->type->info.inputs[i].name, name) == 0)
            return &node->inputs[i];
    FIRN_ASSERT(false); // the node has no such input
    return NULL;
}

size_t firn_cook_input_count(const firn_cook *cook, const char *slot)
{
    return slot_of(cook, slot)->count;
}

const firn_data *firn_cook_input(const firn_cook *cook, const char *slot, size_t index)
{
    return &slot_of(cook, slot)->from[index]->output;
}

const char *firn_cook_input_name(const firn_cook *cook, const char *slot, size_t index)
{
    return slot_of(cook, slot)->from[index]->name;
}

const char *firn_cook_input_type(const firn_cook *cook, const char *slot, size_t index)
{
    return slot_of(cook, slot)->from[index]->type->info.name;
}

firn_result firn_cook_blame(const firn_cook *cook, const char *slot, size_t index,
                            firn_result result)
{
    return firn_node_failed(slot_of(cook, slot)->from[index], result);
}

bool firn_cook_is_animated(const firn_cook *cook, const char *names)
{
    const firn_node *node = cook->owner;
    firn_param_table table = node->type->info.params;
    for (size_t i = 0; i < table.count; i++) {
        if (!firn_list_has(names, table.params[i].name))
            continue;
        const firn_value *value = firn_node_value(node, &table.params[i]);
        if (value != NULL && value->keys != NULL)
            return true;
    }
    return false;
}

firn_result firn_cook_evaluate(const firn_cook *cook, double frame, void *settings,
                               firn_error *error)
{
    return firn_node_settings(cook->owner, frame, true, settings, error);
}

void firn_cook_log(const firn_cook *cook, firn_level level, const char *format, ...)
{
    const firn_host *host = &((const firn_node *)cook->owner)->graph->host;
    if (host->log == NULL)
        return;
    char message[FIRN_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    host->log(level, cook->node, message, host->user);
}

bool firn_cook_progress(const firn_cook *cook, double fraction, const firn_stat *stats,
                        size_t stat_count)
{
    firn_graph *graph = ((const firn_node *)cook->owner)->graph;
    if (graph->hooks.alive != NULL)
        graph->hooks.alive(graph->hooks.bake);
    if (graph->host.progress == NULL)
        return true;
    firn_report report = {cook->node, cook->frame, fraction, stat_count, stats};
    firn_answer answer = graph->host.progress(&report, graph->host.user);
    graph->stop = graph->stop || answer == FIRN_STOP;
    graph->checkpoint = graph->checkpoint || answer == FIRN_CHECKPOINT;
    return !graph->stop;
}

firn_result firn_graph_output_path(const firn_graph *graph, const char *folder,
                                   const firn_node_output *output, int frame_number, char *path,
                                   firn_error *error)
{
    const firn_shot *shot = &graph->shot;
    char wedge[32] = "", frame[32] = "";
    if (shot->wedge >= 0)
        snprintf(wedge, sizeof wedge, "_w%d", shot->wedge);
    if (output->every_frame)
        snprintf(frame, sizeof frame, ".%04d", frame_number);
    int length = snprintf(path, FIRN_PATH_SIZE, "%s/%s_v%d%s%s.%s", folder,
                          output->name[0] != '\0' ? output->name : shot->name, shot->version, wedge,
                          frame, output->extension);
    if (length >= FIRN_PATH_SIZE)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the name of the cache is too long");
    return FIRN_OK;
}

firn_result firn_cook_output_path(const firn_cook *cook, const char *name, const char *extension,
                                  bool every_frame, char *path, firn_error *error)
{
    const firn_graph *graph = ((const firn_node *)cook->owner)->graph;
    const firn_node_output output = {name, extension, every_frame};
    return firn_graph_output_path(graph, graph->hooks.folder, &output, cook->frame, path, error);
}

firn_result firn_cook_wrote(const firn_cook *cook, const char *path, firn_error *error)
{
    const firn_bake_hooks *hooks = &((const firn_node *)cook->owner)->graph->hooks;
    return hooks->wrote(hooks->bake, cook->node, path, error);
}

// --- States --------------------------------------------------------------------------------------

void firn_node_release(firn_node *node)
{
    if (node->state != NULL && node->type->node->release != NULL)
        node->type->node->release(node->state);
    if (node->state != NULL)
        memset(node->state, 0, node->type->node->state_size);
    memset(&node->output, 0, sizeof node->output);
    node->cooked = node->begun = false;
}

void firn_graph_release_stale(firn_graph *graph)
{
    for (size_t i = graph->node_count; i-- > 0;) {
        firn_node *node = graph->order[i];
        if (!node->cooked || node->hash != node->fresh)
            firn_node_release(node);
    }
}

static bool is_current(const firn_node *node, int frame)
{
    return node->cooked && (!node->varies || node->frame == frame);
}

// --- Cooking -------------------------------------------------------------------------------------

firn_cook firn_node_cook_context(firn_node *node, int frame)
{
    const firn_graph *graph = node->graph;
    snprintf(node->version, sizeof node->version, "firn %s %016" PRIx64, FIRN_VERSION, node->fresh);
    firn_cook cook = {.node = node->name,
                      .frame = frame,
                      .start_frame = graph->shot.first,
                      .last_frame = graph->shot.last,
                      .fps = (double)graph->shot.fps,
                      .settings = node->settings,
                      .state = node->state,
                      .output = &node->output,
                      .bake_first = graph->hooks.first,
                      .bake_step = graph->hooks.step,
                      .version = node->version,
                      .owner = node,
                      .hash = node->fresh};
    return cook;
}

firn_result firn_node_failed(const firn_node *node, firn_result result)
{
    char *failed = node->graph->failed;
    if (result != FIRN_OK && result != FIRN_ERR_CANCELLED && failed[0] == '\0')
        snprintf(failed, sizeof node->graph->failed, "%s", node->name);
    return result;
}

static firn_result name_the_node(const firn_node *node, firn_result result, firn_error *error)
{
    firn_node_failed(node, result);
    if (result == FIRN_OK || error == NULL)
        return result;
    firn_error cause = *error;
    const char *name = node->graph->failed[0] != '\0' ? node->graph->failed : node->name;
    return firn_fail(error, result, "%s, frame %d: %s", name, node->frame, cause.message);
}

static firn_result cook_node(firn_node *node, const firn_cook_pass *pass, int frame,
                             firn_error *error)
{
    const firn_node_type *type = node->type->node;
    FIRN_TRY(firn_node_failed(node, firn_node_settings(node, frame, true, node->settings, error)));
    firn_cook cook = firn_node_cook_context(node, frame);
    cook.keep = pass->keep;
    char restore[FIRN_PATH_SIZE];
    if (type->sequential && !node->cooked && pass->restore != NULL) {
        FIRN_TRY(pass->restore(pass->user, node, restore, sizeof restore));
        cook.restore = restore;
    }
    node->frame = frame;
    node->hash = node->fresh;
    node->cooked = false;
    node->output = (firn_data){.kind = node->type->info.output};
    node->cook_count++;
    firn_result result = FIRN_OK;
    if (type->check != NULL)
        result = type->check(node->settings, error);
    if (result == FIRN_OK && !firn_cook_progress(&cook, 0.0, NULL, 0))
        return firn_fail(error, FIRN_ERR_CANCELLED, "stopped before frame %d of %s", frame,
                         node->name);
    bool replays = type->sequential && pass->replay != NULL;
    if (result == FIRN_OK && replays)
        result = pass->replay(pass->user, node, restore, sizeof restore);
    if (result == FIRN_OK && !replays)
        result = firn_ranks_call(node, pass, frame, error);
    if (result == FIRN_OK)
        result = replays ? type->replay(&cook, restore, error) : type->cook(&cook, error);
    node->cooked = result == FIRN_OK;
    return name_the_node(node, result, error);
}

// Cooks what the demanded nodes need at a frame and is not there yet.
static firn_result cook_demanded(firn_graph *graph, const firn_cook_pass *pass, int frame,
                                 firn_error *error)
{
    for (size_t i = graph->node_count; i-- > 0;) {
        const firn_node *node = graph->order[i];
        bool replays = node->type->info.sequential && pass->replay != NULL;
        if (!node->demanded || is_current(node, frame) || replays)
            continue;
        for (size_t s = 0; s < node->type->info.input_count; s++)
            for (size_t k = 0; k < node->inputs[s].count; k++)
                node->inputs[s].from[k]->demanded = true;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        firn_node *node = graph->order[i];
        if (node->demanded && !is_current(node, frame))
            FIRN_TRY(cook_node(node, pass, frame, error));
    }
    return FIRN_OK;
}

static void mark_needed(firn_graph *graph, firn_node *const *targets, size_t target_count)
{
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->reached = false;
    for (size_t i = 0; i < target_count; i++)
        targets[i]->reached = true;
    for (size_t i = graph->node_count; i-- > 0;) {
        const firn_node *node = graph->order[i];
        for (size_t s = 0; node->reached && s < node->type->info.input_count; s++)
            for (size_t k = 0; k < node->inputs[s].count; k++)
                node->inputs[s].from[k]->reached = true;
    }
}

// The frame that sequential nodes must cook next to come to a frame. Those that are beyond it, or
// that do not march in step, begin again.
static int first_frame_to_cook(firn_graph *graph, int frame)
{
    int common = 0;
    bool any = false, fits = true;
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_node *node = graph->order[i];
        if (!node->reached || !node->type->info.sequential)
            continue;
        int at = node->cooked ? node->frame : graph->shot.first - 1;
        fits = fits && at <= frame && (!any || at == common);
        common = at;
        any = true;
    }
    if (!any)
        return frame;
    if (fits)
        return common < frame ? common + 1 : frame;
    for (size_t i = graph->node_count; i-- > 0;)
        if (graph->order[i]->reached && graph->order[i]->type->info.sequential)
            firn_node_release(graph->order[i]);
    return graph->shot.first;
}

firn_result firn_graph_check_range(const firn_graph *graph, int frame, firn_error *error)
{
    if (frame >= graph->shot.first)
        return FIRN_OK;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i]->reached && graph->nodes[i]->type->info.sequential)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "frame %d is before the first frame of the graph, %d, where %s begins",
                             frame, graph->shot.first, graph->nodes[i]->name);
    return FIRN_OK;
}

firn_result firn_graph_run(firn_graph *graph, firn_node *const *targets, size_t target_count,
                           const firn_cook_pass *pass, firn_error *error)
{
    mark_needed(graph, targets, target_count);
    FIRN_TRY(firn_graph_check_range(graph, pass->frame, error));
    bool jumps = pass->restore != NULL || pass->replay != NULL;
    int begin = jumps ? pass->frame : first_frame_to_cook(graph, pass->frame);
    for (int frame = begin; frame <= pass->frame; frame++) {
        bool last = frame == pass->frame;
        for (size_t i = 0; i < graph->node_count; i++) {
            firn_node *node = graph->nodes[i];
            node->demanded = !last && node->reached && node->type->info.sequential;
        }
        for (size_t i = 0; last && i < target_count; i++)
            targets[i]->demanded = true;
        FIRN_TRY(cook_demanded(graph, pass, frame, error));
    }
    return FIRN_OK;
}

firn_result firn_graph_cook(firn_graph *graph, const char *node, int frame, const firn_data **data,
                            firn_error *error)
{
    *data = NULL;
    firn_node *target = NULL;
    FIRN_TRY(firn_graph_need(graph, node, &target, error));
    if (target->type->info.output == FIRN_KIND_NONE)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "%s writes files and has no output to look at; bake the graph instead",
                         node);
    graph->stop = graph->checkpoint = false;
    graph->failed[0] = '\0';
    firn_graph_refresh(graph);
    firn_graph_release_stale(graph);
    firn_cook_pass pass = {.frame = frame};
    FIRN_TRY(firn_graph_run(graph, &target, 1, &pass, error));
    *data = &target->output;
    return FIRN_OK;
}

const char *firn_graph_failed_node(const firn_graph *graph) { return graph->failed; }

size_t firn_graph_cook_count(const firn_graph *graph, const char *node)
{
    const firn_node *found = firn_graph_find(graph, node);
    return found != NULL ? found->cook_count : 0;
}
