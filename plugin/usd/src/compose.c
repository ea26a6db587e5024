// From layers to one tree: first what the layer and its sublayers say, then, prim by prim, what
// references, payloads, inherits and chosen variants bring, the weaker behind the stronger.
#include "scene.h"

#include "firn/file.h"

#include <stdio.h>
#include <string.h>

enum { DOCS_MAX = 4096, OPINIONS_MAX = 1 << 20, ARCS_DEEP = 32, STACK_MAX = 64 };

/// A layer with those below it, and what their times are in the scene.
typedef struct stack_layer {
    int doc;
    double offset, scale;
} stack_layer;

typedef struct layer_stack {
    stack_layer layers[STACK_MAX];
    size_t count;
} layer_stack;

// --- Layers --------------------------------------------------------------------------------------

// The file of an asset, beside the layer that names it.
static bool resolve(const firn_usd_doc *from, const char *asset, char path[FIRN_PATH_SIZE])
{
    const char *slash = strrchr(from->path, '/');
    int folder = asset[0] == '/' || slash == NULL ? 0 : (int)(slash - from->path) + 1;
    while (asset[0] == '.' && asset[1] == '/')
        asset += 2;
    int length = snprintf(path, FIRN_PATH_SIZE, "%.*s%s", folder, from->path, asset);
    return length > 0 && length < FIRN_PATH_SIZE;
}

static firn_result open_asset(firn_usd_scene *scene, int from, const char *asset, int *doc,
                              firn_error *error)
{
    char path[FIRN_PATH_SIZE];
    firn_error cause = {0};
    const char *owner = scene->docs[from]->path;
    if (!resolve(scene->docs[from], asset, path))
        return firn_fail(error, FIRN_ERR_FORMAT, "'%.300s' brings in a layer of too long a name",
                         owner);
    for (size_t i = 0; i < scene->doc_count; i++)
        if (strcmp(scene->docs[i]->path, path) == 0) {
            *doc = (int)i;
            return FIRN_OK;
        }
    if (scene->doc_count == DOCS_MAX)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%.300s' brings in more than %d layers", owner,
                         DOCS_MAX);
    firn_result result = firn_usd_doc_open(path, &scene->docs[scene->doc_count], &cause);
    if (result != FIRN_OK)
        return firn_fail(error, result, "'%.300s' brings in a layer that cannot be read: %.500s",
                         owner, cause.message);
    *doc = (int)scene->doc_count++;
    return FIRN_OK;
}

static double codes_of(const firn_usd_doc *doc)
{
    double codes = doc->codes_per_second > 0.0 ? doc->codes_per_second : doc->frames_per_second;
    return codes > 0.0 && codes < 1e9 ? codes : 24.0;
}

// The layers below come behind the one that names them, before its next neighbor.
static firn_result build_stack(firn_usd_scene *scene, int doc, double offset, double scale,
                               layer_stack *stack, firn_error *error)
{
    stack->layers[0] = (stack_layer){doc, offset, scale};
    stack->count = 1;
    for (size_t at = 0; at < stack->count; at++) {
        const stack_layer above = stack->layers[at];
        size_t place = at + 1;
        for (int i = scene->docs[above.doc]->specs[0].first_arc; i >= 0;) {
            const firn_usd_arc arc = scene->docs[above.doc]->arcs[i];
            i = arc.next;
            if (arc.kind != FIRN_USD_SUBLAYER)
                continue;
            int below;
            FIRN_TRY(open_asset(scene, above.doc, arc.asset, &below, error));
            bool again = stack->count == STACK_MAX;
            for (size_t k = 0; k < stack->count; k++)
                again = again || stack->layers[k].doc == below;
            if (again)
                continue;
            double ratio = codes_of(scene->docs[above.doc]) / codes_of(scene->docs[below]);
            memmove(&stack->layers[place + 1], &stack->layers[place],
                    (stack->count - place) * sizeof *stack->layers);
            stack->layers[place++] = (stack_layer){below, above.offset + above.scale * arc.offset,
                                                   above.scale * arc.scale * ratio};
            stack->count++;
        }
    }
    return FIRN_OK;
}

// --- The tree ------------------------------------------------------------------------------------

static bool grow(void **rows, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t larger = 2 * *room + 64;
    void *moved = firn_alloc(larger * size);
    if (moved == NULL)
        return false;
    if (count > 0)
        memcpy(moved, *rows, count * size);
    firn_free(*rows);
    *rows = moved;
    *room = larger;
    return true;
}

static int add_prim(firn_usd_scene *scene, int parent, const char *name)
{
    if (!grow((void **)&scene->prims, scene->prim_count, &scene->prim_room, sizeof *scene->prims))
        return -1;
    const char *above = parent >= 0 ? scene->prims[parent].path : "";
    size_t size = strlen(above) + strlen(name) + 2;
    int depth = parent >= 0 ? scene->prims[parent].depth + 1 : 0;
    char *path = depth <= FIRN_USD_NESTING ? firn_alloc(size) : NULL;
    if (path == NULL)
        return -1;
    snprintf(path, size, "%s%s%s", depth > 1 ? above : "", parent >= 0 ? "/" : "", name);
    int added = (int)scene->prim_count++;
    scene->prims[added] = (firn_usd_prim){.name = name,
                                          .type = "",
                                          .path = path,
                                          .parent = parent,
                                          .first_child = -1,
                                          .last_child = -1,
                                          .next = -1,
                                          .depth = depth,
                                          .first_opinion = -1,
                                          .last_opinion = -1};
    if (parent < 0)
        return added;
    firn_usd_prim *of = &scene->prims[parent];
    if (of->first_child < 0)
        of->first_child = added;
    else
        scene->prims[of->last_child].next = added;
    of->last_child = added;
    return added;
}

static int child_of(firn_usd_scene *scene, int prim, const char *name)
{
    for (int i = scene->prims[prim].first_child; i >= 0; i = scene->prims[i].next)
        if (strcmp(scene->prims[i].name, name) == 0)
            return i;
    return add_prim(scene, prim, name);
}

static bool add_opinion(firn_usd_scene *scene, firn_usd_opinion next)
{
    if (scene->opinion_count >= OPINIONS_MAX ||
        !grow((void **)&scene->opinions, scene->opinion_count, &scene->opinion_room,
              sizeof *scene->opinions))
        return false;
    int added = (int)scene->opinion_count++;
    next.next = -1;
    scene->opinions[added] = next;
    firn_usd_prim *of = &scene->prims[next.prim];
    if (of->first_opinion < 0)
        of->first_opinion = added;
    else
        scene->opinions[of->last_opinion].next = added;
    of->last_opinion = added;
    const firn_usd_spec *spec = &scene->docs[next.doc]->specs[next.spec];
    if (of->type[0] == '\0')
        of->type = spec->type;
    of->inactive = of->inactive || spec->inactive;
    return true;
}

// Puts a spec and all that is below it onto a prim. What is added is worked through in order.
static firn_result graft(firn_usd_scene *scene, firn_usd_opinion top, firn_error *error)
{
    size_t at = scene->opinion_count;
    bool fits = add_opinion(scene, top);
    for (; fits && at < scene->opinion_count; at++) {
        const firn_usd_opinion from = scene->opinions[at];
        const firn_usd_doc *doc = scene->docs[from.doc];
        for (int i = doc->specs[from.spec].first_child; i >= 0 && fits; i = doc->specs[i].next) {
            if (doc->specs[i].name[0] == '{')
                continue; // a variant, which nobody has chosen yet
            firn_usd_opinion below = from;
            below.spec = i;
            below.expanded = false;
            below.prim = child_of(scene, from.prim, doc->specs[i].name);
            fits = below.prim >= 0 && add_opinion(scene, below);
        }
    }
    return fits ? FIRN_OK
                : firn_fail(error, FIRN_ERR_MEMORY,
                            "'%.300s' brings in more prims than can be read (%d), or within "
                            "themselves",
                            scene->docs[0]->path, OPINIONS_MAX);
}

// --- Arcs ----------------------------------------------------------------------------------------

static firn_result follow(firn_usd_scene *scene, const firn_usd_opinion *from,
                          const firn_usd_arc *arc, firn_error *error)
{
    firn_usd_doc *owner = scene->docs[from->doc];
    int doc = from->doc;
    layer_stack stack;
    if (from->depth == ARCS_DEEP)
        return firn_fail(error, FIRN_ERR_FORMAT, "'%.300s' brings in '%.200s' within itself",
                         owner->path, arc->prim[0] != '\0' ? arc->prim : arc->asset);
    if (arc->asset[0] != '\0')
        FIRN_TRY(open_asset(scene, from->doc, arc->asset, &doc, error));
    double ratio = codes_of(owner) / codes_of(scene->docs[doc]);
    double offset = from->offset + from->scale * arc->offset;
    double scale = from->scale * arc->scale * ratio;
    // Within a layer the layers beside it count, too.
    int root = arc->asset[0] == '\0' && from->depth == 0 ? 0 : doc;
    FIRN_TRY(build_stack(scene, root, offset, scale, &stack, error));
    char path[FIRN_PATH_SIZE];
    const char *target = arc->prim[0] != '\0' ? arc->prim : scene->docs[doc]->default_prim;
    snprintf(path, sizeof path, "%s%s", target[0] == '/' ? "" : "/", target);
    bool found = false;
    for (size_t i = 0; i < stack.count; i++) {
        const stack_layer *layer = &stack.layers[i];
        int spec = target[0] != '\0' ? firn_usd_doc_find(scene->docs[layer->doc], path) : -1;
        if (spec <= 0)
            continue;
        found = true;
        FIRN_TRY(graft(scene,
                       (firn_usd_opinion){.doc = layer->doc,
                                          .spec = spec,
                                          .prim = from->prim,
                                          .offset = layer->offset,
                                          .scale = layer->scale,
                                          .depth = from->depth + 1},
                       error));
    }
    if (!found && arc->kind != FIRN_USD_INHERIT)
        return firn_fail(error, FIRN_ERR_FORMAT,
                         "'%.300s' brings in '%.200s%s%.200s', which is "
                         "not there; prims that other layers bring in "
                         "cannot be named within a layer",
                         owner->path, arc->asset, arc->prim[0] != '\0' ? "" : "'s default prim",
                         arc->prim);
    return FIRN_OK;
}

static firn_result follow_arcs(firn_usd_scene *scene, int opinion, firn_error *error)
{
    const firn_usd_opinion from = scene->opinions[opinion];
    static const firn_usd_arc_kind order[] = {FIRN_USD_INHERIT, FIRN_USD_REFERENCE,
                                              FIRN_USD_PAYLOAD};
    for (size_t k = 0; k < FIRN_COUNT(order); k++) {
        const firn_usd_doc *doc = scene->docs[from.doc];
        for (int i = doc->specs[from.spec].first_arc; i >= 0; i = doc->arcs[i].next)
            if (doc->arcs[i].kind == order[k])
                FIRN_TRY(follow(scene, &from, &doc->arcs[i], error));
    }
    return FIRN_OK;
}

// "{set=name}" chooses in a set that a stronger layer has not chosen in.
static bool is_chosen(const firn_usd_scene *scene, int prim, const char *choice, int until)
{
    size_t length = strcspn(choice, "=") + 1;
    for (int o = scene->prims[prim].first_opinion; o >= 0; o = scene->opinions[o].next) {
        const firn_usd_doc *doc = scene->docs[scene->opinions[o].doc];
        for (int i = doc->specs[scene->opinions[o].spec].first_arc; i >= 0; i = doc->arcs[i].next)
            if (doc->arcs[i].kind == FIRN_USD_VARIANT &&
                strncmp(doc->arcs[i].prim, choice, length) == 0)
                return strcmp(doc->arcs[i].prim, choice) == 0;
        if (o == until)
            break;
    }
    return true;
}

// The chosen variants that an opinion has among its children.
static firn_result expand(firn_usd_scene *scene, int opinion, firn_error *error)
{
    const firn_usd_opinion from = scene->opinions[opinion];
    scene->opinions[opinion].expanded = true;
    for (int o = scene->prims[from.prim].first_opinion; o >= 0; o = scene->opinions[o].next) {
        const firn_usd_doc *doc = scene->docs[scene->opinions[o].doc];
        for (int i = doc->specs[scene->opinions[o].spec].first_arc; i >= 0; i = doc->arcs[i].next) {
            const char *choice = doc->arcs[i].prim;
            if (doc->arcs[i].kind != FIRN_USD_VARIANT || !is_chosen(scene, from.prim, choice, o))
                continue;
            firn_usd_opinion next = from;
            next.spec = firn_usd_doc_child(scene->docs[from.doc], from.spec, choice);
            next.expanded = false;
            if (next.spec >= 0)
                FIRN_TRY(graft(scene, next, error));
        }
    }
    return FIRN_OK;
}

static firn_result compose_prim(firn_usd_scene *scene, int prim, firn_error *error)
{
    int last = -1;
    for (;;) {
        int o = last < 0 ? scene->prims[prim].first_opinion : scene->opinions[last].next;
        for (; o >= 0; o = scene->opinions[o].next) {
            FIRN_TRY(follow_arcs(scene, o, error));
            last = o;
        }
        // Who chooses among variants may stand in any layer: they come when all are there.
        for (o = scene->prims[prim].first_opinion; o >= 0; o = scene->opinions[o].next)
            if (!scene->opinions[o].expanded)
                FIRN_TRY(expand(scene, o, error));
        if (last < 0 || scene->opinions[last].next < 0)
            return FIRN_OK;
    }
}

// The prim behind one in the order of the tree; -1: it was the last.
static int behind(const firn_usd_scene *scene, int prim)
{
    if (scene->prims[prim].first_child >= 0)
        return scene->prims[prim].first_child;
    while (prim > 0 && scene->prims[prim].next < 0)
        prim = scene->prims[prim].parent;
    return prim > 0 ? scene->prims[prim].next : -1;
}

// Prims were added as layers named them; from now on children follow their parents.
static firn_result sort_tree(firn_usd_scene *scene, firn_error *error)
{
    int *number = firn_alloc((scene->prim_count + 1) * sizeof *number), count = 0;
    firn_usd_prim *sorted = firn_alloc((scene->prim_count + 1) * sizeof *sorted);
    if (number == NULL || sorted == NULL) {
        firn_free(number);
        firn_free(sorted);
        return firn_usd_fail_memory(scene, error);
    }
    for (int i = 0; i >= 0; i = behind(scene, i))
        number[i] = count++;
    for (size_t i = 0; i < scene->prim_count; i++) {
        firn_usd_prim *p = &sorted[number[i]];
        *p = scene->prims[i];
        int *const links[] = {&p->parent, &p->first_child, &p->last_child, &p->next};
        for (size_t k = 0; k < FIRN_COUNT(links); k++)
            *links[k] = *links[k] >= 0 ? number[*links[k]] : -1;
    }
    for (size_t i = 0; i < scene->opinion_count; i++)
        scene->opinions[i].prim = number[scene->opinions[i].prim];
    firn_free(scene->prims);
    scene->prims = sorted;
    scene->prim_room = scene->prim_count;
    firn_free(number);
    return FIRN_OK;
}

firn_result firn_usd_compose(firn_usd_scene *scene, firn_error *error)
{
    layer_stack stack;
    if (add_prim(scene, -1, "") < 0)
        return firn_usd_fail_memory(scene, error);
    scene->codes_per_second = codes_of(scene->docs[0]);
    FIRN_TRY(build_stack(scene, 0, 0.0, 1.0, &stack, error));
    for (size_t i = 0; i < stack.count; i++)
        FIRN_TRY(graft(scene,
                       (firn_usd_opinion){.doc = stack.layers[i].doc,
                                          .offset = stack.layers[i].offset,
                                          .scale = stack.layers[i].scale},
                       error));
    for (size_t i = 1; i < scene->prim_count; i++)
        FIRN_TRY(compose_prim(scene, (int)i, error));
    return sort_tree(scene, error);
}

bool firn_usd_prim_counts(const firn_usd_scene *scene, int prim)
{
    for (int i = prim; i > 0; i = scene->prims[i].parent) {
        const firn_usd_prim *p = &scene->prims[i];
        if (p->inactive || (i != prim && firn_usd_is_type(scene, i, "PointInstancer")))
            return false;
        const firn_usd_opinion *o = &scene->opinions[p->first_opinion];
        if (scene->docs[o->doc]->specs[o->spec].specifier == 2 && o->depth == 0)
            return false; // a class, which only others take from
    }
    return true;
}
