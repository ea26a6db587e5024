/// Ranks that cook one graph. The first rank bakes as if it were alone; when it comes to a node
/// that is cooked together, it calls the others there with a command, and they cook what that node
/// needs and the node itself, for the same frame. Whatever else there is, files, locks, checkpoints
/// and nodes behind the simulation, is the business of the first.
#include "ranks.h"

#include "firn/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NOTHING, COOK, SAVE, LEAVE };

/// What the first rank asks of the others; the same bytes on all of them.
typedef struct command {
    uint32_t what;
    int32_t frame, code;
    uint32_t fresh, keep, restore; // build the node anew; cook->keep; cook->restore
    uint64_t hash;                 // of the node
    char node[FIRN_NAME_SIZE];
} command;

static bool leads(const firn_graph *graph) { return graph->exchange->rank == 0; }

bool firn_graph_is_shared(const firn_graph *graph)
{
    return graph->exchange != NULL && graph->exchange->rank_count > 1;
}

static bool fold(firn_graph *graph, void *state, size_t size, firn_fold *add, void *context)
{
    const firn_exchange *e = graph->exchange;
    if (!graph->alone)
        graph->alone = !e->fold(e->user, state, size, add, context);
    return !graph->alone;
}

static void put_command(void *state, void *context)
{
    if (context != NULL)
        memcpy(state, context, sizeof(command));
}

// The command of the first rank, for all; false: they are lost.
static bool pass_on(firn_graph *graph, command *c)
{
    command own = *c;
    return fold(graph, c, sizeof *c, put_command, leads(graph) ? &own : NULL);
}

/// What has happened to a rank.
typedef struct outcome {
    firn_result result;
    int rank;
    char sentence[FIRN_MESSAGE_SIZE];
} outcome;

static void add_outcome(void *state, void *context)
{
    if (((outcome *)state)->result == FIRN_OK)
        memcpy(state, context, sizeof(outcome));
}

static firn_result fail_lost(const firn_graph *graph, firn_error *error)
{
    return firn_fail(error, FIRN_ERR_IO,
                     "rank %d of %d lost the others; look at their messages, and resume",
                     graph->exchange->rank, graph->exchange->rank_count);
}

firn_result firn_graph_agree(firn_graph *graph, firn_result result, firn_error *error)
{
    if (!firn_graph_is_shared(graph))
        return result;
    outcome own = {.result = result, .rank = graph->exchange->rank}, all = {.result = FIRN_OK};
    if (result != FIRN_OK)
        snprintf(own.sentence, sizeof own.sentence, "%s",
                 error != NULL ? error->message : firn_result_name(result));
    if (!fold(graph, &all, sizeof all, add_outcome, &own))
        return fail_lost(graph, error);
    if (all.result == FIRN_OK || all.rank == graph->exchange->rank)
        return result;
    if (all.rank == 0)
        return firn_fail(error, all.result, "%s", all.sentence);
    return firn_fail(error, all.result, "rank %d: %.900s", all.rank, all.sentence);
}

// --- What cook functions ask for -----------------------------------------------------------------

const firn_exchange *firn_cook_exchange(const firn_cook *cook)
{
    const firn_graph *graph = ((const firn_node *)cook->owner)->graph;
    return firn_graph_is_shared(graph) ? graph->exchange : NULL;
}

firn_result firn_cook_agree(const firn_cook *cook, firn_result result, firn_error *error)
{
    return firn_graph_agree(((const firn_node *)cook->owner)->graph, result, error);
}

// --- Calling and following -----------------------------------------------------------------------

firn_result firn_ranks_call(firn_node *node, const firn_cook_pass *pass, int frame,
                            firn_error *error)
{
    firn_graph *graph = node->graph;
    if (!firn_graph_is_shared(graph) || !node->type->node->shared)
        return FIRN_OK;
    graph->joined = true;
    if (leads(graph)) {
        command c = {.what = COOK,
                     .frame = frame,
                     .fresh = !node->begun,
                     .keep = pass->keep,
                     .restore = !node->begun && pass->restore != NULL,
                     .hash = node->fresh};
        memcpy(c.node, node->name, sizeof c.node);
        if (!pass_on(graph, &c))
            return fail_lost(graph, error);
    }
    node->begun = true;
    return firn_graph_agree(graph, FIRN_OK, error);
}

firn_result firn_ranks_save(firn_node *node, const char *path, int *frame, firn_error *error)
{
    firn_graph *graph = node->graph;
    if (firn_graph_is_shared(graph) && node->type->node->shared && node->begun) {
        command c = {.what = SAVE};
        memcpy(c.node, node->name, sizeof c.node);
        if (!pass_on(graph, &c))
            return fail_lost(graph, error);
    }
    return node->type->node->save(node->state, path, frame, error);
}

void firn_graph_dismiss(firn_graph *graph, int code)
{
    if (!firn_graph_is_shared(graph))
        return;
    command c = {.what = LEAVE, .code = code};
    pass_on(graph, &c);
    graph->exchange = NULL;
}

// A name for what only the first rank has.
static firn_result nowhere(void *user, const firn_node *node, char *path, size_t size)
{
    (void)user;
    snprintf(path, size, "the checkpoint of %s", node->name);
    return FIRN_OK;
}

static firn_result find_called(firn_graph *graph, const command *c, firn_node **node,
                               firn_error *error)
{
    FIRN_TRY(firn_graph_need(graph, c->node, node, error));
    if ((*node)->fresh != c->hash)
        return firn_fail(error, FIRN_ERR_STALE,
                         "%s is made from other settings or input files than on rank 0 (%016" PRIx64
                         ", there %016" PRIx64 "); all ranks must see the same files",
                         c->node, (*node)->fresh, c->hash);
    return FIRN_OK;
}

static firn_result follow_cook(firn_graph *graph, const command *c, firn_error *error)
{
    firn_node *node = NULL;
    const firn_cook_pass pass = {
        .frame = c->frame, .keep = c->keep != 0, .restore = c->restore ? nowhere : NULL};
    graph->joined = graph->stop = false;
    graph->failed[0] = '\0';
    firn_result result = find_called(graph, c, &node, error);
    if (result == FIRN_OK && c->fresh)
        firn_node_release(node);
    if (result == FIRN_OK)
        result = firn_graph_run(graph, &node, 1, &pass, error);
    return graph->joined ? result : firn_graph_agree(graph, result, error);
}

firn_result firn_graph_follow(firn_graph *graph, int *code, firn_error *error)
{
    for (;;) {
        command c = {.what = NOTHING};
        firn_node *node = NULL;
        int frame;
        if (!pass_on(graph, &c))
            return fail_lost(graph, error);
        if (c.what == LEAVE) {
            *code = c.code;
            graph->exchange = NULL;
            return FIRN_OK;
        }
        // What fails here is for the first rank to answer, which knows it too.
        if (c.what == COOK)
            follow_cook(graph, &c, error);
        else if (firn_graph_need(graph, c.node, &node, error) == FIRN_OK)
            node->type->node->save(node->state, "", &frame, error);
        if (graph->alone)
            return fail_lost(graph, error);
    }
}

// --- Meeting -------------------------------------------------------------------------------------

/// What must be equal, and what has gone wrong so far.
typedef struct identity {
    firn_meeting meeting;
    char machine[32]; // instruction set
    uint64_t hash;    // of all that writes files
} identity;

static void fail_meeting(identity *state, const identity *own, const char *what, const char *there,
                         const char *here)
{
    firn_meeting *m = &state->meeting;
    m->result = FIRN_ERR_STALE;
    m->rank = own->meeting.rank;
    m->code = own->meeting.code;
    snprintf(m->sentence, sizeof m->sentence,
             "rank %d has %s than rank 0 (%.200s, there %.200s); all ranks must run the same "
             "program on the same scene and files, and with one instruction set (FIRN_ISA)",
             own->meeting.rank, what, here, there);
}

static void add_identity(void *memory, void *context)
{
    identity *state = memory, *own = context;
    char here[32], there[32];
    snprintf(here, sizeof here, "%016" PRIx64, own->hash);
    snprintf(there, sizeof there, "%016" PRIx64, state->hash);
    if (own->meeting.rank == 0) {
        *state = *own;
        state->meeting.rank = own->meeting.result != FIRN_OK ? 0 : -1;
    } else if (state->meeting.result != FIRN_OK) {
        return;
    } else if (own->meeting.result != FIRN_OK) {
        state->meeting = own->meeting;
    } else if (strcmp(state->meeting.identity, own->meeting.identity) != 0) {
        fail_meeting(state, own, "another program", state->meeting.identity, own->meeting.identity);
    } else if (strcmp(state->machine, own->machine) != 0) {
        fail_meeting(state, own, "another instruction set", state->machine, own->machine);
    } else if (state->hash != own->hash) {
        fail_meeting(state, own, "another scene, other settings or other input files", there, here);
    }
}

static bool reaches_shared(const firn_node *node)
{
    for (size_t s = 0; s < node->type->info.input_count; s++)
        for (size_t k = 0; k < node->inputs[s].count; k++) {
            const firn_node *from = node->inputs[s].from[k];
            if (from->type->node->shared || reaches_shared(from))
                return true;
        }
    return false;
}

static void identify(firn_graph *graph, identity *own)
{
    own->hash = firn_graph_hash(graph, NULL);
    for (size_t i = 0; i < graph->node_count; i++) {
        const firn_node *node = graph->nodes[i];
        if (!node->type->node->shared)
            continue;
        if (node->type->node->machine != NULL &&
            firn_node_settings(node, graph->shot.first, true, node->settings, NULL) == FIRN_OK)
            node->type->node->machine(node->settings, own->machine);
        if (reaches_shared(node)) {
            own->meeting.result = FIRN_ERR_UNSUPPORTED;
            snprintf(own->meeting.sentence, sizeof own->meeting.sentence,
                     "%s needs the result of another simulation, which only rank 0 has; cook it "
                     "without a launcher",
                     node->name);
        }
    }
}

firn_result firn_graph_meet(firn_graph *graph, const firn_exchange *exchange, firn_meeting *own,
                            firn_error *error)
{
    identity state, mine;
    memset(&state, 0, sizeof state);
    memset(&mine, 0, sizeof mine);
    mine.meeting = *own;
    mine.meeting.rank = exchange->rank;
    if (graph != NULL && own->result == FIRN_OK)
        identify(graph, &mine);
    if (!exchange->fold(exchange->user, &state, sizeof state, add_identity, &mine))
        return firn_fail(error, FIRN_ERR_IO, "rank %d of %d cannot reach the others",
                         exchange->rank, exchange->rank_count);
    *own = state.meeting;
    if (own->result != FIRN_OK)
        return firn_fail(error, own->result, "%.1000s", own->sentence);
    graph->exchange = exchange;
    graph->alone = false;
    return FIRN_OK;
}
