#include "firn/file.h"

#include <stdio.h>
#include <string.h>

enum { PADDING_LIMIT = 32, DEPTH_LIMIT = 8 };

/// A frame number in a pattern.
typedef struct frame_token {
    size_t length; // of the token, 0: there is none here
    int padding;   // digits to fill with zeros
    int number;    // what stands there at the frame
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

// --- Arithmetic ----------------------------------------------------------------------------------

/// `$F-10` or `padzero(4, 2*($F+1))`: sums and products of whole numbers, as Houdini writes them
/// between backquotes. A quotient is rounded down.
typedef struct expression {
    const char *at;
    int frame, padding, depth;
    bool good, framed; // it has been read so far; it has a frame in it
} expression;

static frame_token dollar_token(const char *at, int frame);

static bool take(expression *e, const char *text)
{
    e->at += strspn(e->at, " ");
    size_t length = strlen(text);
    if (strncmp(e->at, text, length) != 0)
        return false;
    e->at += length;
    return true;
}

static int64_t take_sum(expression *e);

static int64_t take_factor(expression *e)
{
    if (take(e, "-") && e->depth++ < DEPTH_LIMIT)
        return -take_factor(e);
    if (take(e, "(") && e->depth++ < DEPTH_LIMIT) {
        int64_t value = take_sum(e);
        e->good = e->good && take(e, ")");
        return value;
    }
    frame_token token = dollar_token(e->at, e->frame);
    if (token.length > 0) {
        e->at += token.length;
        e->framed = true;
        e->padding = token.padding > e->padding ? token.padding : e->padding;
        return e->frame;
    }
    size_t digits = strspn(e->at, "0123456789");
    e->good = e->good && digits > 0 && digits < 10;
    int64_t value = 0;
    for (size_t i = 0; i < digits && e->good; i++)
        value = 10 * value + (e->at[i] - '0');
    e->at += digits;
    return value;
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t take_product(expression *e)
{
    int64_t value = take_factor(e);
    while (e->good) {
        char sign = take(e, "*") ? '*' : take(e, "/") ? '/' : take(e, "%") ? '%' : '\0';
        if (sign == '\0')
            return value;
        int64_t other = take_factor(e);
        // Numbers of files are small; what is not cannot have been meant.
        bool small =
            value < INT32_MAX && value > INT32_MIN && other < INT32_MAX && other > INT32_MIN;
        e->good = e->good && small && (sign == '*' || other != 0);
        if (!e->good)
            return 0;
        int64_t quotient = sign == '*' ? 0 : floor_quotient(value, other);
        value = sign == '*' ? value * other : sign == '/' ? quotient : value - quotient * other;
    }
    return value;
}

static int64_t take_sum(expression *e)
{
    int64_t value = take_product(e);
    for (;;) {
        bool plus = take(e, "+");
        if (!e->good || (!plus && !take(e, "-")))
            return value;
        value += plus ? take_product(e) : -take_product(e);
    }
}

static frame_token backquote_token(const char *at, int frame)
{
    frame_token token = {0};
    expression e = {.at = at + 1, .frame = frame, .good = true};
    bool padded = take(&e, "padzero(");
    int padding = 0;
    if (padded) {
        e.at += strspn(e.at, " ");
        e.at += read_padding(e.at, &padding);
        e.good = take(&e, ",");
    }
    int64_t value = e.good ? take_sum(&e) : 0;
    e.good = e.good && (!padded || take(&e, ")")) && take(&e, "`");
    if (!e.good || !e.framed || value > INT32_MAX || value < INT32_MIN)
        return token;
    token.length = (size_t)(e.at - at);
    token.padding = padded ? padding : e.padding;
    token.number = (int)value;
    return token;
}

// --- Notations -----------------------------------------------------------------------------------

/// $F or $F4, but not $FPS.
static frame_token dollar_token(const char *at, int frame)
{
    frame_token token = {.number = frame};
    if (at[0] != '$' || at[1] != 'F')
        return token;
    size_t digits = read_padding(at + 2, &token.padding);
    char next = at[2 + digits];
    bool letter = (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z');
    if (digits > 0 || !letter)
        token.length = 2 + digits;
    return token;
}

/// Houdini's notation.
static frame_token houdini_token(const char *at, int frame)
{
    return at[0] == '`' ? backquote_token(at, frame) : dollar_token(at, frame);
}

/// %d or %04d. %4d would pad with spaces, which nobody wants in a file name.
static frame_token percent_token(const char *at, int frame)
{
    frame_token token = {.number = frame};
    if (at[0] != '%')
        return token;
    size_t digits = read_padding(at + 1, &token.padding);
    if ((digits == 0 || at[1] == '0') && at[1 + digits] == 'd')
        token.length = digits + 2;
    return token;
}

/// ####
static frame_token hash_token(const char *at, int frame)
{
    frame_token token = {strspn(at, "#"), PADDING_LIMIT + 1, frame};
    if (token.length <= PADDING_LIMIT)
        token.padding = (int)token.length;
    return token;
}

typedef frame_token token_reader(const char *at, int frame);

/// One pattern uses one notation; what looks like another stays, as the # of "take#2/ball.$F4.vdb".
static token_reader *const notations[] = {houdini_token, percent_token, hash_token};

static frame_token token_at(token_reader *notation, const char *at, int frame)
{
    frame_token token = notation(at, frame);
    if (token.padding > PADDING_LIMIT)
        token.length = 0;
    return token;
}

/// The notation that the pattern uses, or NULL when there is no number in it.
static token_reader *find_notation(const char *pattern)
{
    for (size_t i = 0; i < FIRN_COUNT(notations); i++)
        for (const char *at = pattern; *at != '\0'; at++)
            if (token_at(notations[i], at, 1).length > 0)
                return notations[i];
    return NULL;
}

bool firn_path_has_frame(const char *pattern) { return find_notation(pattern) != NULL; }

bool firn_path_number(const char *pattern, int frame, int *number)
{
    token_reader *notation = find_notation(pattern);
    for (const char *at = pattern; *at != '\0' && notation != NULL; at++) {
        frame_token token = token_at(notation, at, frame);
        if (token.length == 0)
            continue;
        *number = token.number;
        return true;
    }
    return false;
}

firn_result firn_path_of_frame(const char *pattern, int frame, char *path, size_t size,
                               firn_error *error)
{
    FIRN_ASSERT(size > 0);
    path[0] = '\0';
    token_reader *notation = find_notation(pattern);
    char *end = path;
    for (const char *at = pattern; *at != '\0';) {
        frame_token token = {0};
        if (notation != NULL)
            token = token_at(notation, at, frame);
        char text[PADDING_LIMIT + 16];
        if (token.length == 0) {
            snprintf(text, sizeof text, "%c", *at);
            at++;
        } else {
            // The sign stands before the padding, so that -12 with four digits is -0012.
            int number = token.number;
            unsigned magnitude = number < 0 ? 0u - (unsigned)number : (unsigned)number;
            int width = token.padding < PADDING_LIMIT ? token.padding : PADDING_LIMIT;
            snprintf(text, sizeof text, "%s%0*u", number < 0 ? "-" : "", width > 0 ? width : 1,
                     magnitude);
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
