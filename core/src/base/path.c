#include "firn/file.h"

#include <stdio.h>
#include <string.h>

enum { PADDING_LIMIT = 32 };

/// A frame number in a pattern.
typedef struct frame_token {
    size_t length; // of the token, 0: there is none here
    int padding;   // digits to fill with zeros
} frame_token;

/// Digits of a padding; a number too large to be one gives a value beyond PADDING_LIMIT.
static size_t read_padding(const char *at, int *padding)
{
    size_t length = 0;
    for (*padding = 0; at[length] >= '0' && at[length] <= '9'; length++)
        if (*padding <= PADDING_LIMIT)
            *padding = 10 * *padding + (at[length] - '0');
    return length;
}

/// $F or $F4, but not $FPS.
static frame_token dollar_token(const char *at)
{
    frame_token token = {0, 0};
    if (at[0] != '$' || at[1] != 'F')
        return token;
    size_t digits = read_padding(at + 2, &token.padding);
    char next = at[2 + digits];
    bool letter = (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z');
    if (digits > 0 || !letter)
        token.length = 2 + digits;
    return token;
}

/// %d or %04d. %4d would pad with spaces, which nobody wants in a file name.
static frame_token percent_token(const char *at)
{
    frame_token token = {0, 0};
    if (at[0] != '%')
        return token;
    size_t digits = read_padding(at + 1, &token.padding);
    if ((digits == 0 || at[1] == '0') && at[1 + digits] == 'd')
        token.length = digits + 2;
    return token;
}

/// ####
static frame_token hash_token(const char *at)
{
    frame_token token = {strspn(at, "#"), PADDING_LIMIT + 1};
    if (token.length <= PADDING_LIMIT)
        token.padding = (int)token.length;
    return token;
}

typedef frame_token token_reader(const char *at);

/// One pattern uses one notation; what looks like another stays, as the # of "take#2/ball.$F4.vdb".
static token_reader *const notations[] = {dollar_token, percent_token, hash_token};

static frame_token token_at(token_reader *notation, const char *at)
{
    frame_token token = notation(at);
    if (token.padding > PADDING_LIMIT)
        token.length = 0;
    return token;
}

/// The notation that the pattern uses, or NULL when there is no number in it.
static token_reader *find_notation(const char *pattern)
{
    for (size_t i = 0; i < FIRN_COUNT(notations); i++)
        for (const char *at = pattern; *at != '\0'; at++)
            if (token_at(notations[i], at).length > 0)
                return notations[i];
    return NULL;
}

bool firn_path_has_frame(const char *pattern) { return find_notation(pattern) != NULL; }

firn_result firn_path_of_frame(const char *pattern, int frame, char *path, size_t size,
                               firn_error *error)
{
    FIRN_ASSERT(size > 0);
    path[0] = '\0';
    token_reader *notation = find_notation(pattern);
    char *end = path;
    for (const char *at = pattern; *at != '\0';) {
        frame_token token = {0, 0};
        if (notation != NULL)
            token = token_at(notation, at);
        char text[PADDING_LIMIT + 16];
        if (token.length == 0) {
            snprintf(text, sizeof text, "%c", *at);
            at++;
        } else {
            // The sign stands before the padding, so that -12 with four digits is -0012.
            unsigned magnitude = frame < 0 ? 0u - (unsigned)frame : (unsigned)frame;
            snprintf(text, sizeof text, "%s%0*u", frame < 0 ? "-" : "",
                     token.padding > 0 ? token.padding : 1, magnitude);
            at += token.length;
        }
        size_t added = strlen(text);
        if (added >= size - (size_t)(end - path)) {
            path[0] = '\0';
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the file name of frame %d is longer than %zu characters: '%.200s'",
                             frame, size - 1, pattern);
        }
        memcpy(end, text, added + 1);
        end += added;
    }
    return FIRN_OK;
}
