// Layers in text: what stands where. Prims within prims are kept on a stack, not by recursion.
#include "usda_scan.h"

#include <string.h>

enum { PROPERTIES_MAX = 8192 };

typedef enum opened { OPEN_PRIM, OPEN_VARIANTS, OPEN_VARIANT } opened;

typedef struct frame {
    opened kind;
    int spec;
    int properties;
    firn_usda_word set; // name of a set of variants
} frame;

typedef struct parser {
    firn_usd_doc *doc;
    firn_usda_cursor c;
    frame stack[FIRN_USD_NESTING];
    int depth;
    bool memory; // it ran out
} parser;

static const char *keep(parser *p, firn_usda_word word)
{
    const char *copy = firn_usd_doc_keep(p->doc, word.text, word.length);
    p->memory = p->memory || copy == NULL;
    return copy != NULL ? copy : "";
}

static bool has_failed(parser *p, int added)
{
    p->memory = p->memory || added < 0;
    return added < 0;
}

static firn_usd_ref here(parser *p)
{
    char next = firn_usda_peek(&p->c);
    bool none = next == 'N' && p->c.end - p->c.at >= 4 && memcmp(p->c.at, "None", 4) == 0;
    return (firn_usd_ref){(uint64_t)(p->c.at - p->doc->text), !none};
}

// --- Arcs ----------------------------------------------------------------------------------------

// "(offset = 10; scale = 2)" behind the name of a layer.
static bool parse_offset(parser *p, firn_usd_arc *arc)
{
    firn_usda_word name;
    double number;
    int64_t whole;
    bool is_whole;
    if (!firn_usda_take(&p->c, '('))
        return true;
    while (!firn_usda_take(&p->c, ')')) {
        if (!firn_usda_name(&p->c, &name) || !firn_usda_take(&p->c, '='))
            return false;
        bool offset = firn_usda_is(name, "offset"), scale = firn_usda_is(name, "scale");
        if (offset || scale) {
            if (!firn_usda_number(&p->c, &number, &whole, &is_whole))
                return false;
            *(offset ? &arc->offset : &arc->scale) = number;
        } else if (!firn_usda_skip(&p->c)) {
            return false;
        }
    }
    return true;
}

static bool parse_arc(parser *p, int spec, firn_usd_arc_kind kind)
{
    firn_usd_arc arc = {.kind = kind, .asset = "", .prim = "", .scale = 1.0};
    firn_usda_word text;
    char next = firn_usda_peek(&p->c);
    if (next == '@') {
        if (!firn_usda_quoted(&p->c, &text))
            return false;
        arc.asset = keep(p, text);
        next = kind == FIRN_USD_SUBLAYER ? '\0' : firn_usda_peek(&p->c);
    }
    if (next == '<') {
        if (!firn_usda_quoted(&p->c, &text))
            return false;
        arc.prim = keep(p, text);
    }
    if (!parse_offset(p, &arc) || (arc.asset[0] == '\0' && arc.prim[0] == '\0'))
        return false;
    return !has_failed(p, firn_usd_doc_add_arc(p->doc, spec, arc));
}

// One arc or a list of them; None is none.
static bool parse_arcs(parser *p, int spec, firn_usd_arc_kind kind)
{
    if (!here(p).given)
        return firn_usda_skip(&p->c);
    if (!firn_usda_take(&p->c, '['))
        return parse_arc(p, spec, kind);
    while (!firn_usda_take(&p->c, ']')) {
        if (!parse_arc(p, spec, kind))
            return false;
        firn_usda_take(&p->c, ',');
    }
    return true;
}

// { string size = "big" }
static bool parse_selections(parser *p, int spec)
{
    firn_usda_word type, set, name;
    if (!firn_usda_take(&p->c, '{'))
        return false;
    while (!firn_usda_take(&p->c, '}')) {
        if (!firn_usda_name(&p->c, &type) ||
            !(firn_usda_peek(&p->c) == '"' ? firn_usda_quoted(&p->c, &set)
                                           : firn_usda_name(&p->c, &set)) ||
            !firn_usda_take(&p->c, '=') || !firn_usda_quoted(&p->c, &name) ||
            set.length + name.length > 400)
            return false;
        char text[416];
        size_t n = 0;
        text[n++] = '{';
        memcpy(text + n, set.text, set.length);
        n += set.length;
        text[n++] = '=';
        memcpy(text + n, name.text, name.length);
        n += name.length;
        text[n++] = '}';
        firn_usd_arc arc = {.kind = FIRN_USD_VARIANT, .asset = "", .scale = 1.0};
        arc.prim = keep(p, (firn_usda_word){text, n});
        if (has_failed(p, firn_usd_doc_add_arc(p->doc, spec, arc)))
            return false;
    }
    return true;
}

// --- Metadata ------------------------------------------------------------------------------------

static bool parse_root_entry(parser *p, firn_usda_word name, bool *known)
{
    firn_usd_doc *doc = p->doc;
    firn_usda_word text;
    int64_t whole;
    bool is_whole;
    *known = true;
    if (firn_usda_is(name, "defaultPrim") || firn_usda_is(name, "upAxis")) {
        if (!firn_usda_quoted(&p->c, &text))
            return false;
        *(name.text[0] == 'd' ? &doc->default_prim : &doc->up_axis) = keep(p, text);
        return true;
    }
    const struct {
        const char *name;
        double *number;
    } numbers[] = {{"metersPerUnit", &doc->meters_per_unit},
                   {"timeCodesPerSecond", &doc->codes_per_second},
                   {"framesPerSecond", &doc->frames_per_second}};
    for (size_t i = 0; i < FIRN_COUNT(numbers); i++)
        if (firn_usda_is(name, numbers[i].name))
            return firn_usda_number(&p->c, numbers[i].number, &whole, &is_whole);
    if (firn_usda_is(name, "subLayers"))
        return parse_arcs(p, 0, FIRN_USD_SUBLAYER);
    *known = false;
    return true;
}

static bool parse_prim_entry(parser *p, int spec, firn_usda_word name, bool *known)
{
    static const struct {
        const char *name;
        firn_usd_arc_kind kind;
    } arcs[] = {{"references", FIRN_USD_REFERENCE},
                {"payload", FIRN_USD_PAYLOAD},
                {"inherits", FIRN_USD_INHERIT},
                {"specializes", FIRN_USD_INHERIT}};
    *known = true;
    for (size_t i = 0; i < FIRN_COUNT(arcs); i++)
        if (firn_usda_is(name, arcs[i].name))
            return parse_arcs(p, spec, arcs[i].kind);
    if (firn_usda_is(name, "variants"))
        return parse_selections(p, spec);
    bool active = firn_usda_is(name, "active");
    if (active || firn_usda_is(name, "instanceable")) {
        double number;
        int64_t whole;
        bool is_whole;
        if (!firn_usda_number(&p->c, &number, &whole, &is_whole))
            return false;
        bool value = is_whole ? whole != 0 : number != 0.0;
        if (active)
            p->doc->specs[spec].inactive = !value;
        else
            p->doc->specs[spec].instanceable = value;
        return true;
    }
    *known = false;
    return true;
}

// What stands in round brackets before a prim; spec -1: of a property, nobody looks at it.
static bool parse_metadata(parser *p, int spec)
{
    firn_usda_word name, text;
    if (firn_usda_peek(&p->c) != '(')
        return true;
    if (spec < 0)
        return firn_usda_skip(&p->c);
    p->c.at++;
    while (!firn_usda_take(&p->c, ')')) {
        if (firn_usda_peek(&p->c) == '"' || firn_usda_peek(&p->c) == '\'') {
            if (!firn_usda_quoted(&p->c, &text))
                return false;
            continue;
        }
        if (!firn_usda_name(&p->c, &name))
            return false;
        bool removes = firn_usda_is(name, "delete") || firn_usda_is(name, "reorder");
        bool lists = firn_usda_is(name, "prepend") || firn_usda_is(name, "append") ||
                     firn_usda_is(name, "add");
        if ((removes || lists) && !firn_usda_name(&p->c, &name))
            return false;
        if (!firn_usda_take(&p->c, '='))
            return false;
        bool known = false, fits = true;
        if (!removes)
            fits = spec == 0 ? parse_root_entry(p, name, &known)
                             : parse_prim_entry(p, spec, name, &known);
        if (!fits || (!known && !firn_usda_skip(&p->c)))
            return false;
    }
    return true;
}

// --- Properties ----------------------------------------------------------------------------------

static bool parse_samples(parser *p, int property)
{
    if (!firn_usda_take(&p->c, '{'))
        return false;
    p->doc->properties[property].first_sample = p->doc->sample_count;
    while (!firn_usda_take(&p->c, '}')) {
        double time;
        int64_t whole;
        bool is_whole;
        if (!firn_usda_number(&p->c, &time, &whole, &is_whole) || !firn_usda_take(&p->c, ':'))
            return false;
        firn_usd_sample sample = {time, here(p)};
        if (!firn_usd_doc_add_sample(p->doc, sample)) {
            p->memory = true;
            return false;
        }
        if (!firn_usda_skip(&p->c))
            return false;
        p->doc->properties[property].sample_count++;
        firn_usda_take(&p->c, ',');
    }
    return true;
}

// The property of that name, which may have been there with its value or its samples.
static int find_property(parser *p, frame *in, firn_usda_word name, firn_usda_word type)
{
    firn_usd_doc *doc = p->doc;
    for (int i = doc->specs[in->spec].first_property; i >= 0; i = doc->properties[i].next)
        if (firn_usda_is(name, doc->properties[i].name))
            return i;
    if (++in->properties > PROPERTIES_MAX)
        return -1;
    int added = firn_usd_doc_add_property(doc, in->spec, keep(p, name), keep(p, type));
    has_failed(p, added);
    return added;
}

// Cuts ".timeSamples" off a name.
static bool take_suffix(firn_usda_word *name, const char *suffix)
{
    size_t length = strlen(suffix);
    if (name->length <= length || memcmp(name->text + name->length - length, suffix, length) != 0)
        return false;
    name->length -= length;
    return true;
}

static bool parse_property(parser *p, frame *in, firn_usda_word word)
{
    static const char *const before[] = {"custom", "uniform", "varying", "config", "prepend",
                                         "append", "add",     "delete",  "reorder"};
    firn_usda_word name;
    for (size_t i = 0; i < FIRN_COUNT(before); i++)
        if (firn_usda_is(word, before[i])) {
            if (!firn_usda_name(&p->c, &word))
                return false;
            i = (size_t)-1; // several of them may stand there
        }
    if (firn_usda_take(&p->c, '=')) // an order of children or properties
        return firn_usda_skip(&p->c);
    if (!firn_usda_name(&p->c, &name))
        return false;
    bool sampled = take_suffix(&name, ".timeSamples");
    bool other = !sampled && (take_suffix(&name, ".connect") || take_suffix(&name, ".spline"));
    int property = find_property(p, in, name, word);
    if (property < 0)
        return false;
    if (firn_usda_take(&p->c, '=')) {
        if (sampled) {
            if (!parse_samples(p, property))
                return false;
        } else {
            if (!other)
                p->doc->properties[property].value = here(p);
            if (!firn_usda_skip(&p->c))
                return false;
        }
    }
    return parse_metadata(p, -1);
}

// --- Prims ---------------------------------------------------------------------------------------

static bool open_frame(parser *p, frame next)
{
    if (!firn_usda_take(&p->c, '{') || p->depth == FIRN_USD_NESTING)
        return false;
    p->stack[p->depth++] = next;
    return true;
}

static bool parse_prim(parser *p, int parent, int specifier)
{
    firn_usda_word type = {"", 0}, name;
    if (firn_usda_peek(&p->c) != '"' && !firn_usda_name(&p->c, &type))
        return false;
    if (!firn_usda_quoted(&p->c, &name))
        return false;
    int spec = firn_usd_doc_add_spec(p->doc, parent, keep(p, name));
    if (has_failed(p, spec))
        return false;
    p->doc->specs[spec].type = keep(p, type);
    p->doc->specs[spec].specifier = specifier;
    return parse_metadata(p, spec) && open_frame(p, (frame){.kind = OPEN_PRIM, .spec = spec});
}

static bool parse_variant(parser *p, const frame *set)
{
    firn_usda_word name;
    char text[416];
    if (!firn_usda_quoted(&p->c, &name) || set->set.length + name.length > 400)
        return false;
    size_t n = 0;
    text[n++] = '{';
    memcpy(text + n, set->set.text, set->set.length);
    n += set->set.length;
    text[n++] = '=';
    memcpy(text + n, name.text, name.length);
    n += name.length;
    text[n++] = '}';
    int spec = firn_usd_doc_add_spec(p->doc, set->spec, keep(p, (firn_usda_word){text, n}));
    if (has_failed(p, spec))
        return false;
    return parse_metadata(p, spec) && open_frame(p, (frame){.kind = OPEN_VARIANT, .spec = spec});
}

static bool parse_item(parser *p, frame *in)
{
    firn_usda_word word;
    if (in->kind == OPEN_VARIANTS)
        return parse_variant(p, in);
    if (!firn_usda_name(&p->c, &word))
        return false;
    static const char *const specifiers[] = {"def", "over", "class"};
    for (int i = 0; i < 3; i++)
        if (firn_usda_is(word, specifiers[i]))
            return parse_prim(p, in->spec, i);
    if (firn_usda_is(word, "variantSet")) {
        frame next = {.kind = OPEN_VARIANTS, .spec = in->spec};
        return firn_usda_quoted(&p->c, &next.set) && firn_usda_take(&p->c, '=') &&
               open_frame(p, next);
    }
    return parse_property(p, in, word);
}

static bool parse_all(parser *p)
{
    frame *top = &p->stack[0];
    while (firn_usda_peek(&p->c) != '\0') {
        if (p->depth > 1 && firn_usda_take(&p->c, '}')) {
            p->depth--;
            continue;
        }
        top = &p->stack[p->depth - 1];
        if (!parse_item(p, top) || p->memory)
            return false;
    }
    return p->depth == 1;
}

firn_result firn_usd_doc_parse(firn_usd_doc *doc, firn_error *error)
{
    parser p = {.doc = doc,
                .c = {doc->text, doc->text + doc->text_size},
                .stack = {{.kind = OPEN_PRIM, .spec = 0}},
                .depth = 1};
    if (parse_metadata(&p, 0) && parse_all(&p))
        return FIRN_OK;
    if (p.memory)
        return firn_fail(error, FIRN_ERR_MEMORY, "cannot read '%.300s': out of memory", doc->path);
    size_t line = 1;
    for (const char *at = doc->text; at < p.c.at; at++)
        line += *at == '\n';
    return firn_fail(error, FIRN_ERR_FORMAT,
                     "'%.300s' is a damaged USD layer: line %zu cannot be understood", doc->path,
                     line);
}
