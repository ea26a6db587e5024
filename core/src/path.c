#include "firn/file.h"

#include <stdio.h>
#include <string.h>

enum { PADDING_LIMIT = 32 };

/// A frame number written as $F, $F4, ####, %d or %04d.
typedef struct frame_token {
    size_t length; // of the token in the pattern, 0: there is none here
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

static frame_token token_at(const char *at)
{
    frame_token token = {0, 0};
    if (at[0] == '#') {
        token.length = strspn(at, "#");
        token.padding = token.length <= PADDING_LIMIT ? (int)token.length : PADDING_LIMIT + 1;
    } else if (at[0] == '$' && at[1] == 'F') {
        token.length = 2 + read_padding(at + 2, &token.padding);
    } else if (at[0] == '%') {
        size_t digits = read_padding(at + 1, &token.padding);
        // %4d would pad with spaces, which no one wants in a file name.
        bool zeros = digits == 0 || at[1] == '0';
        if (zeros && at[1 + digits] == 'd')
            token.length = digits + 2;
    }
    if (token.padding > PADDING_LIMIT)
        token.length = 0;
    return token;
}

bool firn_path_has_frame(const char *pattern)
{
    for (const char *at = pattern; *at != '\0'; at++)
        if (token_at(at).length > 0)
            return true;
    return false;
}

firn_result firn_path_of_frame(const char *pattern, int frame, char *path, size_t size,
                               firn_error *error)
{
    size_t length = 0;
    for (const char *at = pattern; *at != '\0';) {
        frame_token token = token_at(at);
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
        if (length + added >= size)
            return firn_fail(error, FIRN_ERR_ARGUMENT,
                             "the file name of frame %d is longer than %zu characters: '%.200s'",
                             frame, size - 1, pattern);
        memcpy(path + length, text, added);
        length += added;
    }
    if (size == 0)
        return firn_fail(error, FIRN_ERR_ARGUMENT, "there is no room for the file name of '%.200s'",
                         pattern);
    path[length] = '\0';
    return FIRN_OK;
}
