#include "usda_scan.h"

#include <string.h>

// How many numbers and how many items a value has; false: it is not one of numbers.
static bool count_numbers(firn_usda_cursor c, size_t *numbers, size_t *items)
{
    double number;
    int64_t whole;
    bool is_whole;
    int depth = 0;
    bool list = firn_usda_take(&c, '[');
    *numbers = *items = 0;
    do {
        char next = firn_usda_peek(&c);
        if (next == '(') {
            depth++;
            c.at++;
        } else if (next == ')') {
            *items += --depth == 0;
            c.at++;
        } else if (next == ',') {
            c.at++;
        } else if (list && next == ']') {
            return depth == 0;
        } else {
            if (!firn_usda_number(&c, &number, &whole, &is_whole))
                return false;
            ++*numbers;
            *items += depth == 0;
        }
    } while ((list || depth > 0) && depth >= 0);
    return depth == 0;
}

firn_result firn_usd_text_numbers(const firn_usd_doc *doc, size_t offset, firn_usd_numbers *numbers,
                                  firn_error *error)
{
    firn_usda_cursor c = {doc->text + offset, doc->text + doc->text_size};
    size_t count, items;
    if (!count_numbers(c, &count, &items) || items == 0 || count % items != 0 || count / items > 16)
        return FIRN_OK;
    numbers->data = firn_alloc(count * firn_usd_number_size(numbers->kind));
    if (numbers->data == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.300s': out of memory", doc->path);
    numbers->tuple = (int)(count / items);
    numbers->count = items;
    for (size_t i = 0; i < count;) {
        double number = 0.0;
        int64_t whole = 0;
        bool is_whole = false;
        if (strchr("([,)", firn_usda_peek(&c)) != NULL)
            c.at++;
        else if (firn_usda_number(&c, &number, &whole, &is_whole))
            firn_usd_put_number(numbers, i++, number, whole, is_whole);
    }
    return FIRN_OK;
}

// The words of a value in text.
static firn_result read_words(firn_usd_doc *doc, firn_usda_cursor c, const char **words,
                              size_t room, size_t *count, firn_error *error)
{
    firn_usda_word word;
    bool list = firn_usda_take(&c, '[');
    *count = 0;
    while (*count < room && firn_usda_quoted(&c, &word)) {
        words[*count] = firn_usd_doc_keep(doc, word.text, word.length);
        if (words[*count] == NULL)
            return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.300s': out of memory",
                             doc->path);
        ++*count;
        firn_usda_take(&c, ',');
        if (!list)
            break;
    }
    return FIRN_OK;
}

static firn_result crate_words(firn_usd_doc *doc, firn_crate_value value, const char **words,
                               size_t room, size_t *count, firn_error *error)
{
    const firn_crate_file *file = &doc->crate;
    *count = 0;
    const char *one = firn_crate_text(file, value);
    if (one != NULL) {
        words[(*count)++] = one;
        return FIRN_OK;
    }
    if (firn_crate_type_of(value) != FIRN_CRATE_TOKEN || (value & FIRN_CRATE_IS_ARRAY) == 0)
        return FIRN_OK;
    size_t length = 0;
    const unsigned char *items = firn_crate_items(file, value, 4, &length, error);
    if (items == NULL)
        return FIRN_ERR_FORMAT;
    for (size_t i = 0; i < length && *count < room; i++) {
        uint32_t token;
        memcpy(&token, items + 4 * i, sizeof token);
        if (token >= file->token_count)
            return firn_fail(error, FIRN_ERR_FORMAT,
                             "'%.300s' is a damaged USD layer: a list of names goes past its end",
                             doc->path);
        words[(*count)++] = file->tokens[token];
    }
    return FIRN_OK;
}

firn_result firn_usd_doc_words(firn_usd_doc *doc, firn_usd_ref value, const char ***words,
                               size_t *count, firn_error *error)
{
    enum { ROOM = 1 << 16 };
    *words = NULL;
    *count = 0;
    if (!value.given)
        return FIRN_OK;
    const char **list = firn_alloc(ROOM * sizeof *list);
    if (list == NULL)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.300s': out of memory", doc->path);
    firn_result result;
    if (doc->is_text) {
        firn_usda_cursor c = {doc->text + value.place, doc->text + doc->text_size};
        result = read_words(doc, c, list, ROOM, count, error);
    } else {
        result = crate_words(doc, value.place, list, ROOM, count, error);
    }
    if (result != FIRN_OK) {
        firn_free(list);
        return result;
    }
    *words = list;
    return FIRN_OK;
}
