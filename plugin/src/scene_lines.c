#include "scene_lines.h"

#include <stdbool.h>
#include <string.h>

typedef struct scanner {
    const char *at, *end;
    int line;
} scanner;

static bool more(const scanner *s) { return s->at < s->end; }

static void advance(scanner *s)
{
    s->line += *s->at == '\n';
    s->at++;
}

/// Moves behind the string that begins here; true when it is this word. Keys with escapes are never
/// names that Firn knows, so they need not be unescaped.
static bool read_string(scanner *s, const char *word)
{
    const char *begin = ++s->at;
    while (more(s) && *s->at != '"') {
        if (*s->at == '\\' && s->at + 1 < s->end)
            s->at++;
        advance(s);
    }
    size_t length = (size_t)(s->at - begin);
    if (more(s))
        s->at++;
    return word != NULL && strlen(word) == length && memcmp(begin, word, length) == 0;
}

int firn_scene_line(const char *text, size_t size, const char *const path[FIRN_SCENE_DEPTH])
{
    scanner s = {text, text + size, 1};
    int found = 0, line = 1; // steps of the path that are behind us
    int depth = 0;           // of open brackets
    bool key = false;        // the next string is a key
    while (more(&s) && found < FIRN_SCENE_DEPTH && path[found] != NULL) {
        char c = *s.at;
        if (c == '"') {
            int here = s.line;
            if (read_string(&s, path[found]) && key && depth == found + 1) {
                line = here;
                found++;
            }
            key = false;
            continue;
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth < found)
            break; // out of the object that the path leads into
        if (c == '{' || c == ',')
            key = true;
        advance(&s);
    }
    return line;
}
