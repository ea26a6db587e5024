/// Words and values of a USD layer in text.
#ifndef FIRN_USDA_SCAN_H
#define FIRN_USDA_SCAN_H

#include "doc.h"

/// A place in the text, and its end.
typedef struct firn_usda_cursor {
    const char *at, *end;
} firn_usda_cursor;

/// A piece of the text.
typedef struct firn_usda_word {
    const char *text;
    size_t length;
} firn_usda_word;

/// Passes blanks and comments over; false: the text ends there.
bool firn_usda_space(firn_usda_cursor *c);

/// Takes one character if it is next, blanks before it or not.
bool firn_usda_take(firn_usda_cursor *c, char letter);

/// What is next, blanks left aside; '\0' at the end.
char firn_usda_peek(firn_usda_cursor *c);

/// A name: letters, digits, and what stands in names of types and properties ("float3[]",
/// "primvars:Jp.timeSamples").
bool firn_usda_name(firn_usda_cursor *c, firn_usda_word *name);

/// A text in quotes of any kind, @a layer@ or <a path>, without what stands around it.
bool firn_usda_quoted(firn_usda_cursor *c, firn_usda_word *text);

bool firn_usda_number(firn_usda_cursor *c, double *number, int64_t *whole, bool *is_whole);

/// Passes a whole value over, however deep it is.
bool firn_usda_skip(firn_usda_cursor *c);

static inline bool firn_usda_is(firn_usda_word word, const char *text)
{
    size_t i = 0;
    for (; i < word.length && text[i] != '\0'; i++)
        if (word.text[i] != text[i])
            return false;
    return i == word.length && text[i] == '\0';
}

#endif
