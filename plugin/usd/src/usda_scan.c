#include "usda_scan.h"

#include "firn/number.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

bool firn_usda_space(firn_usda_cursor *c)
{
    while (c->at < c->end) {
        if (*c->at == '#' || (*c->at == '/' && c->end - c->at > 1 && c->at[1] == '/')) {
            const char *line = memchr(c->at, '\n', (size_t)(c->end - c->at));
            c->at = line != NULL ? line + 1 : c->end;
        } else if (*c->at == '/' && c->end - c->at > 1 && c->at[1] == '*') {
            for (c->at += 2; c->at < c->end && !(c->at[-1] == '*' && c->at[0] == '/');)
                c->at++;
            c->at += c->at < c->end;
        } else if (isspace((unsigned char)*c->at) || *c->at == ';') {
            c->at++;
        } else {
            return true;
        }
    }
    return false;
}

char firn_usda_peek(firn_usda_cursor *c) { return firn_usda_space(c) ? *c->at : '\0'; }

bool firn_usda_take(firn_usda_cursor *c, char letter)
{
    if (firn_usda_peek(c) != letter)
        return false;
    c->at++;
    return true;
}

static bool is_name(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == ':' || letter == '.' ||
           (letter & 0x80) != 0;
}

bool firn_usda_name(firn_usda_cursor *c, firn_usda_word *name)
{
    if (!firn_usda_space(c) || !is_name(*c->at))
        return false;
    name->text = c->at;
    while (c->at < c->end && is_name(*c->at))
        c->at++;
    if (c->end - c->at >= 2 && c->at[0] == '[' && c->at[1] == ']')
        c->at += 2;
    name->length = (size_t)(c->at - name->text);
    return true;
}

// What ends a text that begins so.
static size_t find_mark(const firn_usda_cursor *c, char mark[4])
{
    char first = *c->at;
    bool triple = c->end - c->at >= 3 && c->at[1] == first && c->at[2] == first;
    mark[0] = first == '<' ? '>' : first;
    if (!triple || first == '<') {
        mark[1] = '\0';
        return 1;
    }
    mark[1] = mark[2] = first;
    mark[3] = '\0';
    return 3;
}

bool firn_usda_quoted(firn_usda_cursor *c, firn_usda_word *text)
{
    char next = firn_usda_peek(c), mark[4];
    if (next != '"' && next != '\'' && next != '@' && next != '<')
        return false;
    size_t width = find_mark(c, mark);
    // Nothing between two quotes is no third one.
    const char *at = c->at + width;
    for (text->text = at; (size_t)(c->end - at) >= width; at++) {
        if (memcmp(at, mark, width) == 0) {
            text->length = (size_t)(at - text->text);
            c->at = at + width;
            return true;
        }
        if (*at == '\\' && (next == '"' || next == '\'') && c->end - at > 1)
            at++;
        if (width == 1 && *at == '\n')
            return false;
    }
    return false;
}

bool firn_usda_number(firn_usda_cursor *c, double *number, int64_t *whole, bool *is_whole)
{
    if (!firn_usda_space(c))
        return false;
    const char *after = firn_number_parse(c->at, c->end, number);
    const char *integer = firn_number_parse_integer(c->at, c->end, whole);
    *is_whole = integer != NULL && integer == after;
    if (after != NULL) {
        c->at = after;
        return true;
    }
    static const struct {
        const char *word;
        double value;
    } words[] = {{"true", 1.0},       {"false", 0.0},    {"True", 1.0}, {"False", 0.0},
                 {"-inf", -INFINITY}, {"inf", INFINITY}, {"nan", NAN},  {"-nan", NAN}};
    for (size_t i = 0; i < FIRN_COUNT(words); i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(c->end - c->at) >= length && memcmp(c->at, words[i].word, length) == 0) {
            *number = words[i].value;
            c->at += length;
            return true;
        }
    }
    return false;
}

// One step of a value: into a group, out of it, or over what is neither.
static bool pass(firn_usda_cursor *c, int *depth)
{
    firn_usda_word text;
    char next = firn_usda_peek(c);
    if (strchr("([{", next) != NULL && next != '\0') {
        ++*depth;
        c->at++;
    } else if (strchr(")]}", next) != NULL && next != '\0') {
        --*depth;
        c->at++;
    } else if (strchr("\"'@<", next) != NULL && next != '\0') {
        return firn_usda_quoted(c, &text);
    } else if (next == '\0') {
        return false;
    } else if (isspace((unsigned char)next) || strchr(",:=", next) != NULL) {
        c->at++;
    } else {
        const char *begin = c->at;
        while (c->at < c->end && !isspace((unsigned char)*c->at) &&
               strchr("([{)]}\"'@<,=;#", *c->at) == NULL)
            c->at++;
        c->at += c->at == begin;
    }
    return *depth >= 0;
}

bool firn_usda_skip(firn_usda_cursor *c)
{
    int depth = 0;
    do {
        if (!pass(c, &depth))
            return false;
    } while (depth > 0);
    return true;
}
