#include "firn/file.h"

#include <string.h>

enum { PATTERN_LIMIT = 1024 }; // bytes of one pattern of a list

/// A piece of a path.
typedef struct piece {
    const char *at, *end;
} piece;

// Matches with two points of return: `*` gives up at a '/', `**` does not.
static bool glob(const char *pattern, piece text)
{
    const char *star = NULL, *star_text = NULL, *deep = NULL, *deep_text = NULL;
    for (;;) {
        bool ends = text.at == text.end;
        if (pattern[0] == '*' && pattern[1] == '*') {
            pattern += 2;
            deep = pattern;
            deep_text = text.at;
            star = NULL;
        } else if (pattern[0] == '*') {
            star = ++pattern;
            star_text = text.at;
        } else if (ends && *pattern == '\0') {
            return true;
        } else if (!ends && (*pattern == *text.at || (*pattern == '?' && *text.at != '/'))) {
            pattern++;
            text.at++;
        } else if (star != NULL && star_text != text.end && *star_text != '/') {
            pattern = star;
            text.at = ++star_text;
        } else if (deep != NULL && deep_text != text.end) {
            pattern = deep;
            text.at = ++deep_text;
            star = NULL;
        } else {
            return false;
        }
    }
}

// The path or what is above it, by the whole path or, for a pattern without '/', by the name.
static bool matches_one(const char *path, const char *pattern)
{
    bool by_name = strchr(pattern, '/') == NULL;
    for (const char *end = path + strlen(path); end > path;) {
        const char *slash = end;
        while (slash > path && slash[-1] != '/')
            slash--;
        if (glob(pattern, (piece){by_name ? slash : path, end}))
            return true;
        end = slash > path ? slash - 1 : path;
    }
    const char *root = "/"; // is above all of them
    return glob(pattern, (piece){by_name ? root + 1 : root, root + 1});
}

bool firn_path_matches(const char *patterns, const char *path)
{
    bool asked = false, chosen = false;
    char word[PATTERN_LIMIT];
    for (const char *at = patterns != NULL ? patterns : ""; *at != '\0';) {
        size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " ");
        const char *begin = at + blanks;
        at = begin + length;
        bool excludes = length > 0 && *begin == '^';
        begin += excludes;
        length -= excludes;
        if (length == 0 || length >= sizeof word)
            continue;
        memcpy(word, begin, length);
        word[length] = '\0';
        bool fits = matches_one(path, word);
        if (excludes && fits)
            return false;
        asked = asked || !excludes;
        chosen = chosen || (!excludes && fits);
    }
    return chosen || !asked;
}
