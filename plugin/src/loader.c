/// Plugins: shared libraries with node types, found in the folders of FIRN_PLUGIN_PATH.
#define _GNU_SOURCE
#include "graph_state.h"

#include "firn/plugin.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 1000 }; // of one plugin; more is a table that was not initialized

static bool is_name(const char *text)
{
    if (text == NULL || !islower((unsigned char)text[0]) || strlen(text) >= FIRN_NAME_SIZE)
        return false;
    for (const char *at = text; *at != '\0'; at++)
        if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '_')
            return false;
    return true;
}

// What is missing in a node type, or NULL.
static const char *fault_of(const firn_node_type *type)
{
    if (!is_name(type->name))
        return "a node type whose name is not made of a-z, 0-9 and _";
    if (type->label == NULL || type->category == NULL || type->help == NULL)
        return "a node type without label, category or help";
    if (type->cook == NULL || type->output < 0 || type->output >= FIRN_KIND_COUNT)
        return "a node type without a cook function or with an unknown kind of output";
    for (size_t i = 0; i < type->param_count; i++)
        if (!is_name(type->params[i].name) || type->params[i].offset >= type->settings_size ||
            type->params[i].unit == NULL || type->params[i].help == NULL)
            return "a parameter without name, unit or help, or outside of the settings";
    for (size_t i = 0; i < type->input_count; i++)
        if (!is_name(type->inputs[i].name) || type->inputs[i].help == NULL)
            return "an input without name or help";
    return NULL;
}

static firn_result add_type(firn_foreign_types *foreign, const firn_node_type *type,
                            const char *path, firn_error *error)
{
    // Headers of an older Firn had fewer members; fewer than these never existed.
    if (type == NULL || type->size < offsetof(firn_node_type, begin) ||
        type->size > sizeof(firn_node_type))
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "the plugin '%s' was built for another version of Firn; this is %s", path,
                         FIRN_VERSION);
    FIRN_TRY(firn_grow(&foreign->rows, &foreign->capacity, foreign->count, sizeof *foreign->rows,
                       error));
    firn_foreign_type *row = &foreign->rows[foreign->count];
    memset(row, 0, sizeof *row);
    memcpy(&row->type, type, type->size);
    snprintf(row->origin, sizeof row->origin, "%s", path);
    const char *fault = fault_of(&row->type);
    if (fault != NULL)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "the plugin '%s' has %s", path, fault);
    foreign->count++;
    return FIRN_OK;
}

static firn_result load(firn_foreign_types *foreign, const char *path, firn_error *error)
{
    // It stays: threads and tables that it made may outlive the graph.
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED, "the plugin cannot be loaded: %s", dlerror());
    void *symbol = dlsym(library, "firn_plugin_entry");
    firn_result result = FIRN_OK;
    if (symbol == NULL)
        result = firn_fail(error, FIRN_ERR_UNSUPPORTED,
                           "'%s' is not a plugin of Firn: it has no firn_plugin_entry", path);
    firn_plugin_entry_function *entry = NULL;
    memcpy(&entry, &symbol, sizeof entry); // POSIX: both have the same bits
    const firn_plugin *plugin = result == FIRN_OK ? entry() : NULL;
    if (result == FIRN_OK && (plugin == NULL || plugin->abi != FIRN_PLUGIN_ABI))
        result = firn_fail(error, FIRN_ERR_UNSUPPORTED,
                           "the plugin '%s' was built for another version of Firn; this is %s",
                           path, FIRN_VERSION);
    if (result == FIRN_OK && (plugin->type_count > TYPES_MAX || plugin->types == NULL))
        result = firn_fail(error, FIRN_ERR_ARGUMENT, "the plugin '%s' has no node types", path);
    for (size_t i = 0; result == FIRN_OK && i < plugin->type_count; i++)
        result = add_type(foreign, plugin->types[i], path, error);
    dlclose(library);
    return result;
}

firn_result firn_library_open(const char *name, const char *advice, void **library,
                              firn_error *error)
{
    // Parts that it loads itself look for its symbols among those of the program.
    *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (*library == NULL)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED, "%s cannot be loaded (%.300s): %s", name,
                         dlerror(), advice);
    return FIRN_OK;
}

firn_result firn_library_symbol(void *library, const char *name, void *symbol, firn_error *error)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        return firn_fail(error, FIRN_ERR_UNSUPPORTED,
                         "the library of ranks has no %s: it is of another version of Firn", name);
    memcpy(symbol, &found, sizeof found); // POSIX: both have the same bits
    return FIRN_OK;
}

typedef struct file_name {
    char text[256]; // NAME_MAX and its end
} file_name;

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static bool is_library(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && length < sizeof(file_name) && strcmp(name + length - 3, ".so") == 0;
}

// In the order of their names, so that the list of types is the same everywhere.
static firn_result list_libraries(const char *folder, file_name **names, size_t *count,
                                  firn_error *error)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return firn_fail(error, FIRN_ERR_NOT_FOUND,
                         "cannot list '%s', which FIRN_PLUGIN_PATH names: %s", folder,
                         strerror(errno));
    size_t capacity = 0;
    firn_result result = FIRN_OK;
    for (struct dirent *entry; result == FIRN_OK && (entry = readdir(directory)) != NULL;) {
        if (!is_library(entry->d_name))
            continue;
        result = firn_grow(names, &capacity, *count, sizeof **names, error);
        if (result == FIRN_OK)
            snprintf((*names)[(*count)++].text, sizeof(file_name), "%s", entry->d_name);
    }
    closedir(directory);
    if (*count > 0)
        qsort(*names, *count, sizeof **names, compare_names);
    return result;
}

static firn_result load_folder(firn_foreign_types *foreign, const char *folder, firn_error *error)
{
    file_name *names = NULL;
    size_t count = 0;
    firn_result result = list_libraries(folder, &names, &count, error);
    for (size_t i = 0; result == FIRN_OK && i < count; i++) {
        char path[FIRN_PATH_SIZE];
        int length = snprintf(path, sizeof path, "%s/%s", folder, names[i].text);
        if ((size_t)length >= sizeof path)
            result = firn_fail(error, FIRN_ERR_ARGUMENT, "a name in '%s' is too long", folder);
        else
            result = load(foreign, path, error);
    }
    firn_free(names);
    return result;
}

firn_result firn_foreign_types_load(const char *folders, firn_foreign_types *foreign,
                                    firn_error *error)
{
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        char folder[FIRN_PATH_SIZE];
        if (length >= sizeof folder)
            return firn_fail(error, FIRN_ERR_ARGUMENT, "a folder in FIRN_PLUGIN_PATH is too long");
        memcpy(folder, folders, length);
        folder[length] = '\0';
        if (length > 0)
            FIRN_TRY(load_folder(foreign, folder, error));
        folders += length + (folders[length] == ':');
    }
    return FIRN_OK;
}
