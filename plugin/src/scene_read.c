#include "graph_state.h"

#include "json_text.h"
#include "scene_lines.h"

#include <stdio.h>
#include <string.h>

enum { SCENE_LIMIT = 64 << 20, SCENE_VERSION = 1 };

/// A scene being read, and where in it we are.
typedef struct reading {
    firn_graph *graph;
    const char *name, *text;
    size_t size;
    const char *path[FIRN_SCENE_DEPTH + 2];
    firn_scene_tell *tell; // hears every mistake; NULL: the first one ends the reading
    void *user;
    firn_error first;
    const json_t *nodes;
} reading;

/// Puts the file and the line of the current path before a message.
static firn_result at_line(const reading *r, firn_result result, firn_error *error)
{
    if (result == FIRN_OK || error == NULL)
        return result;
    firn_error cause = *error;
    return firn_fail(error, result, "%s:%d: %s", r->name,
                     firn_scene_line(r->text, r->size, r->path), cause.message);
}

/// Goes on after a mistake when somebody wants to hear them all; the first is the result at the
/// end.
static firn_result note(reading *r, firn_result result, const firn_error *error)
{
    if (result == FIRN_OK || result == FIRN_ERR_MEMORY || r->tell == NULL)
        return result;
    if (r->first.code == FIRN_OK)
        r->first = *error;
    r->tell(error->message, r->user);
    return FIRN_OK;
}

/// Puts the node, or its input, before a message that does not name it.
static firn_result of(const char *place, firn_result result, firn_error *error)
{
    firn_error cause = error != NULL ? *error : (firn_error){0};
    return firn_fail(error, result, "%.130s: %s", place, cause.message);
}

static void go_to(reading *r, const char *a, const char *b, const char *c, const char *d)
{
    const char *const path[FIRN_SCENE_DEPTH] = {a, b, c, d};
    memcpy(r->path, path, sizeof path);
}

static firn_result refuse(const reading *r, firn_error *error, const char *what, const char *wanted)
{
    return at_line(r, firn_fail(error, FIRN_ERR_FORMAT, "%s must be %s", what, wanted), error);
}

static const char *word_at(const void *words, size_t index)
{
    return ((const char *const *)words)[index];
}

/// An unknown key is a mistake; known is a list that ends with NULL.
static firn_result check_keys(reading *r, json_t *object, const char *const *known,
                              const char *where, int depth, firn_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], key) != 0)
            i++;
        if (known[i] != NULL)
            continue;
        char hint[100];
        firn_did_you_mean(known, word_at, key, hint, sizeof hint);
        r->path[depth] = key;
        r->path[depth + 1] = NULL;
        firn_fail(error, FIRN_ERR_FORMAT, "%s has no key '%.100s'%s", where, key, hint);
        FIRN_TRY(note(r, at_line(r, FIRN_ERR_FORMAT, error), error));
    }
    return FIRN_OK;
}

// --- Values --------------------------------------------------------------------------------------

static bool read_numbers(const firn_param *param, const json_t *json, double values[3])
{
    int components = firn_param_components(param);
    values[0] = values[1] = values[2] = 0.0;
    if (param->type == FIRN_BOOL) {
        values[0] = json_is_true(json);
        return json_is_boolean(json);
    }
    if (components == 1) {
        values[0] = json_number_value(json);
        return json_is_number(json);
    }
    if (!json_is_array(json) || json_array_size(json) != (size_t)components)
        return false;
    for (int c = 0; c < components; c++) {
        const json_t *number = json_array_get(json, (size_t)c);
        if (!json_is_number(number))
            return false;
        values[c] = json_number_value(number);
    }
    return true;
}

static bool read_key(const firn_param *param, const json_t *json, double values[3])
{
    bool counts = param->type == FIRN_BOOL && json_is_integer(json);
    values[1] = values[2] = 0.0;
    values[0] = counts ? json_number_value(json) : 0.0;
    return counts || read_numbers(param, json, values);
}

/// [[frame, value], ...] or, with a first frame, [value, ...].
static bool fill_keys(const json_t *list, const json_t *from, const firn_param *param,
                      firn_key *keys)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (from != NULL) {
            keys[i].frame = json_number_value(from) + (double)i;
            if (!read_key(param, item, keys[i].value))
                return false;
            continue;
        }
        const json_t *frame = json_array_get(item, 0);
        if (json_array_size(item) != 2 || !json_is_number(frame) ||
            !read_key(param, json_array_get(item, 1), keys[i].value))
            return false;
        keys[i].frame = json_number_value(frame);
    }
    return true;
}

static firn_result read_keys(reading *r, const firn_node *node, const firn_param *param,
                             json_t *json, firn_layer layer, firn_error *error)
{
    static const char *const known[] = {"keys", "interpolation", "from", "values", NULL};
    static const char *const words[] = {"constant", "linear", "smooth"};
    FIRN_TRY(check_keys(r, json, known, "an animated value", FIRN_SCENE_DEPTH, error));
    const json_t *from = json_object_get(json, "from");
    const json_t *list = json_object_get(json, from != NULL ? "values" : "keys");
    const json_t *word = json_object_get(json, "interpolation");
    firn_interpolation interpolation = FIRN_INTERPOLATION_LINEAR;
    bool fine =
        json_is_array(list) && json_array_size(list) > 0 && (from == NULL || json_is_number(from));
    if (word != NULL) {
        size_t i = 0;
        while (i < FIRN_COUNT(words) &&
               !(json_is_string(word) && strcmp(json_string_value(word), words[i]) == 0))
            i++;
        fine = fine && i < FIRN_COUNT(words);
        interpolation = (firn_interpolation)i;
    }
    firn_key *keys = fine ? firn_alloc_zero(json_array_size(list) * sizeof *keys) : NULL;
    if (fine && keys == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot read the keys");
    fine = fine && fill_keys(list, from, param, keys);
    firn_result result =
        fine ? firn_graph_set_keys(r->graph, node->name, param->name, keys, json_array_size(list),
                                   interpolation, layer, error)
             : firn_fail(error, FIRN_ERR_FORMAT,
                         "%s.%s must be a value, {\"keys\": [[frame, value], ...], "
                         "\"interpolation\": \"constant|linear|smooth\"} or {\"from\": frame, "
                         "\"values\": [...]}",
                         node->name, param->name);
    firn_free(keys);
    return at_line(r, result, error);
}

/// What a parameter may be in JSON, for messages.
static const char *wanted(const firn_param *param)
{
    return firn_param_is_text(param)    ? "a text in quotes"
           : param->type == FIRN_VEC3   ? "a list of three numbers"
           : param->type == FIRN_CHOICE ? "one of its choices, in quotes"
           : param->type == FIRN_BOOL   ? "true or false"
                                        : "a number";
}

static firn_result read_value(reading *r, const firn_node *node, const char *key, json_t *json,
                              firn_layer layer, firn_error *error)
{
    firn_graph *graph = r->graph;
    const firn_param *param = firn_params_find(node->type->info.params, key);
    const char *text = json_string_value(json);
    double numbers[3];
    bool is_text = param != NULL && (firn_param_is_text(param) || param->type == FIRN_CHOICE);
    // A double may need more digits than the numbers of the file have.
    bool is_long = param != NULL && param->type == FIRN_DOUBLE;
    if (param == NULL || (text != NULL && (is_text || is_long)))
        return at_line(
            r, firn_graph_set_param(graph, node->name, key, text != NULL ? text : "", layer, error),
            error);
    if (json_is_object(json))
        return read_keys(r, node, param, json, layer, error);
    if (is_text || !read_numbers(param, json, numbers))
        return at_line(
            r,
            firn_fail(error, FIRN_ERR_FORMAT, "%s.%s must be %s", node->name, key, wanted(param)),
            error);
    return at_line(r, firn_graph_set_numbers(graph, node->name, key, numbers, layer, error), error);
}

// --- Nodes ---------------------------------------------------------------------------------------

static firn_result read_params(reading *r, const firn_node *node, json_t *json, firn_layer layer,
                               firn_error *error)
{
    const char *where = layer == FIRN_LAYER_FINAL ? "final" : "params";
    go_to(r, "nodes", node->name, where, NULL);
    if (json == NULL)
        return FIRN_OK;
    if (!json_is_object(json))
        return refuse(r, error, where, "an object of parameters");
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        go_to(r, "nodes", node->name, where, key);
        FIRN_TRY(note(r, read_value(r, node, key, value, layer, error), error));
    }
    return FIRN_OK;
}

static firn_result read_ui(reading *r, const char *node, const json_t *json, firn_error *error)
{
    if (json == NULL)
        return FIRN_OK;
    char *text = firn_json_text(json, JSON_COMPACT);
    if (text == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep the host's notes");
    firn_result result = firn_graph_set_ui(r->graph, node, text, error);
    firn_free(text);
    return result;
}

static firn_result read_comment(reading *r, firn_node *node, const json_t *json, firn_error *error)
{
    const json_t *comment = json_object_get(json, "comment");
    go_to(r, "nodes", node->name, "comment", NULL);
    if (comment == NULL)
        return FIRN_OK;
    if (!json_is_string(comment))
        return refuse(r, error, "comment", "a text in quotes");
    node->comment = firn_text_copy(json_string_value(comment));
    return node->comment != NULL
               ? FIRN_OK
               : firn_fail(error, FIRN_ERR_MEMORY, "out of memory: cannot keep a comment");
}

static firn_result read_node(reading *r, const char *name, json_t *json, firn_error *error)
{
    static const char *const known[] = {"type", "params", "final", "inputs", "ui", "comment", NULL};
    go_to(r, "nodes", name, NULL, NULL);
    if (!json_is_object(json))
        return refuse(r, error, "a node", "an object with a type");
    char where[100];
    snprintf(where, sizeof where, "the node '%.60s'", name);
    FIRN_TRY(check_keys(r, json, known, where, 2, error));
    go_to(r, "nodes", name, "type", NULL);
    const char *type = json_string_value(json_object_get(json, "type"));
    if (type == NULL)
        return at_line(
            r, firn_fail(error, FIRN_ERR_FORMAT, "the node '%.60s' has no \"type\"", name), error);
    firn_result added = firn_graph_add(r->graph, type, name, error);
    FIRN_TRY(at_line(r, added == FIRN_ERR_NOT_FOUND ? of(name, added, error) : added, error));
    const firn_node *node = firn_graph_find(r->graph, name);
    FIRN_TRY(read_comment(r, firn_graph_find(r->graph, name), json, error));
    FIRN_TRY(read_params(r, node, json_object_get(json, "params"), FIRN_LAYER_ALWAYS, error));
    FIRN_TRY(read_params(r, node, json_object_get(json, "final"), FIRN_LAYER_FINAL, error));
    return read_ui(r, name, json_object_get(json, "ui"), error);
}

static firn_result read_link(reading *r, const char *node, const char *input, const json_t *from,
                             firn_error *error)
{
    if (!json_is_string(from))
        return refuse(r, error, input, "the name of a node or a list of names");
    const char *name = json_string_value(from);
    char place[2 * FIRN_NAME_SIZE];
    snprintf(place, sizeof place, "%s.%.60s", node, input);
    firn_result result = firn_graph_link(r->graph, name, node, input, error);
    bool unknown = result == FIRN_ERR_NOT_FOUND && firn_graph_find(r->graph, name) == NULL;
    if (unknown && json_object_get(r->nodes, name) != NULL)
        return FIRN_OK; // it has been told what is wrong with that node
    return at_line(r, unknown ? of(place, result, error) : result, error);
}

static firn_result read_inputs(reading *r, const char *node, json_t *json, firn_error *error)
{
    go_to(r, "nodes", node, "inputs", NULL);
    if (json != NULL && !json_is_object(json))
        return refuse(r, error, "inputs", "an object that names nodes");
    const char *input;
    json_t *value;
    json_object_foreach(json, input, value)
    {
        go_to(r, "nodes", node, "inputs", input);
        if (!json_is_array(value)) {
            FIRN_TRY(note(r, read_link(r, node, input, value, error), error));
            continue;
        }
        const firn_node_info *info = firn_graph_node_type(r->graph, node);
        for (size_t i = 0; i < info->input_count; i++)
            if (strcmp(info->inputs[i].name, input) == 0 && !info->inputs[i].many &&
                json_array_size(value) > 1)
                return refuse(r, error, input, "one node, not several");
        for (size_t i = 0; i < json_array_size(value); i++)
            FIRN_TRY(note(r, read_link(r, node, input, json_array_get(value, i), error), error));
    }
    return FIRN_OK;
}

// --- The graph -----------------------------------------------------------------------------------

static firn_result read_frames(reading *r, const json_t *frames, firn_error *error)
{
    if (frames == NULL)
        return FIRN_OK;
    go_to(r, "frames", NULL, NULL, NULL);
    const json_t *first = json_array_get(frames, 0), *last = json_array_get(frames, 1);
    if (json_array_size(frames) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return refuse(r, error, "frames", "a list of the first and the last frame");
    double values[2][3] = {{json_number_value(first)}, {json_number_value(last)}};
    FIRN_TRY(at_line(r, firn_graph_set(r->graph, NULL, "first", values[0], error), error));
    return at_line(r, firn_graph_set(r->graph, NULL, "last", values[1], error), error);
}

static firn_result read_vary(reading *r, const json_t *list, firn_error *error)
{
    go_to(r, "vary", NULL, NULL, NULL);
    if (list != NULL && !json_is_array(list))
        return refuse(r, error, "vary", "a list of texts such as \"snow.hardening=5,10,20\"");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL)
            return refuse(r, error, "vary", "a list of texts such as \"snow.hardening=5,10,20\"");
        FIRN_TRY(firn_graph_add_vary(r->graph, text, error));
    }
    return FIRN_OK;
}

static firn_result read_shot(reading *r, json_t *root, firn_error *error)
{
    static const char *const known[] = {"firn", "name",    "fps",   "frames",  "quality",
                                        "base", "version", "wedge", "comment", "nodes",
                                        "ui",   "vary",    NULL};
    FIRN_TRY(check_keys(r, root, known, "the scene", 0, error));
    firn_param_table table = firn_shot_params();
    for (size_t i = 0; i < table.count; i++) {
        const firn_param *param = &table.params[i];
        const json_t *json = json_object_get(root, param->name);
        const char *text = json_string_value(json);
        double numbers[3];
        if (json == NULL)
            continue;
        go_to(r, param->name, NULL, NULL, NULL);
        bool is_text = firn_param_is_text(param) || param->type == FIRN_CHOICE;
        firn_result result;
        if (text != NULL && is_text)
            result = at_line(
                r,
                firn_graph_set_param(r->graph, NULL, param->name, text, FIRN_LAYER_ALWAYS, error),
                error);
        else if (!is_text && read_numbers(param, json, numbers))
            result = at_line(r, firn_graph_set(r->graph, NULL, param->name, numbers, error), error);
        else
            result = refuse(r, error, param->name, wanted(param));
        FIRN_TRY(note(r, result, error));
    }
    FIRN_TRY(note(r, read_frames(r, json_object_get(root, "frames"), error), error));
    FIRN_TRY(note(r, read_vary(r, json_object_get(root, "vary"), error), error));
    return read_ui(r, NULL, json_object_get(root, "ui"), error);
}

static firn_result read_root(reading *r, json_t *root, firn_error *error)
{
    go_to(r, "firn", NULL, NULL, NULL);
    const json_t *version = json_object_get(root, "firn");
    if (!json_is_object(root) || !json_is_integer(version))
        return at_line(r,
                       firn_fail(error, FIRN_ERR_FORMAT,
                                 "this is not a Firn scene: it does not begin with {\"firn\": %d",
                                 SCENE_VERSION),
                       error);
    if (json_integer_value(version) != SCENE_VERSION)
        return at_line(r,
                       firn_fail(error, FIRN_ERR_UNSUPPORTED,
                                 "the scene has version %lld; this Firn reads version %d",
                                 (long long)json_integer_value(version), SCENE_VERSION),
                       error);
    FIRN_TRY(read_shot(r, root, error));
    json_t *nodes = json_object_get(root, "nodes");
    go_to(r, "nodes", NULL, NULL, NULL);
    r->nodes = nodes;
    if (!json_is_object(nodes))
        return refuse(r, error, "nodes", "an object of named nodes");
    const char *name;
    json_t *node;
    json_object_foreach(nodes, name, node)
        FIRN_TRY(note(r, read_node(r, name, node, error), error));
    json_object_foreach(nodes, name, node)
    {
        if (firn_graph_find(r->graph, name) != NULL)
            FIRN_TRY(note(r, read_inputs(r, name, json_object_get(node, "inputs"), error), error));
    }
    return r->first.code;
}

// The graph of a reading that has its name and text.
static firn_result read_scene(reading *r, const char *folder, firn_graph **graph, firn_error *error)
{
    const char *text = r->text, *name = r->name;
    size_t size = r->size;
    *graph = NULL;
    json_error_t problem;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL)
        return firn_fail(error, FIRN_ERR_FORMAT, "%s:%d: this is not JSON: %s", name,
                         problem.line > 0 ? problem.line : 1, problem.text);
    firn_graph *made = NULL;
    firn_result result = firn_graph_create(&made, error);
    if (result == FIRN_OK)
        result = firn_graph_set_folder(made, folder, error);
    if (result == FIRN_OK) {
        r->graph = made;
        result = read_root(r, root, error);
        if (r->first.code != FIRN_OK && error != NULL)
            *error = r->first;
    }
    json_decref(root);
    if (result != FIRN_OK) {
        firn_graph_destroy(made);
        return result;
    }
    *graph = made;
    return FIRN_OK;
}

firn_result firn_graph_load_memory(const char *text, size_t size, const char *name,
                                   const char *folder, firn_graph **graph, firn_error *error)
{
    reading r = {.name = name, .text = text, .size = size};
    return read_scene(&r, folder, graph, error);
}

/// The folder and the name without its ending; a scene without a name is called like its file.
static void split_path(const char *path, char *folder, char *stem, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    snprintf(folder, size, "%.*s", (int)(slash != NULL ? slash - path : 1),
             slash != NULL ? path : ".");
    if (slash == path)
        snprintf(folder, size, "/");
    snprintf(stem, size, "%.*s", (int)strcspn(file, "."), file);
}

firn_result firn_scene_check(const char *path, firn_scene_tell *tell, void *user, firn_error *error)
{
    firn_error own;
    void *text = NULL;
    size_t size = 0;
    error = error != NULL ? error : &own;
    FIRN_TRY(firn_file_read(path, SCENE_LIMIT, &text, &size, error));
    reading r = {.name = path, .text = text, .size = size, .tell = tell, .user = user};
    firn_graph *graph = NULL;
    firn_result result = read_scene(&r, ".", &graph, error);
    // What is no scene at all has been told to nobody yet.
    if (result != FIRN_OK && r.first.code == FIRN_OK)
        tell(error->message, user);
    firn_graph_destroy(graph);
    firn_free(text);
    return result;
}

firn_result firn_graph_load(const char *path, firn_graph **graph, firn_error *error)
{
    *graph = NULL;
    void *text = NULL;
    size_t size = 0;
    FIRN_TRY(firn_file_read(path, SCENE_LIMIT, &text, &size, error));
    char folder[FIRN_PATH_SIZE], stem[FIRN_PATH_SIZE];
    split_path(path, folder, stem, sizeof folder);
    firn_result result = firn_graph_load_memory(text, size, path, folder, graph, error);
    firn_free(text);
    FIRN_TRY(result);
    const firn_param *name = firn_params_find(firn_shot_params(), "name");
    if (strcmp((*graph)->shot.name, name->text) == 0 && stem[0] != '\0')
        firn_param_parse(name, &(*graph)->shot, stem, NULL);
    return FIRN_OK;
}
