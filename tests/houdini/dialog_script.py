"""A strict reader and printer of Houdini's DialogScript, the parameter interface of an asset.

parse(text) gives a Script or raises ScriptError with the line. print_script(script) writes it the
way Houdini does, so a file that Houdini wrote comes out byte for byte. Written from files of public
assets; independent of hda/, whose files it judges.
"""

import re
from dataclasses import dataclass, field


class ScriptError(Exception):
    """What is wrong, and in which line."""


PARM_FIELDS = ["name", "baseparm", "label", "type", "invisible", "nolabel", "joinnext", "size",
               "default", "help", "disablewhen", "hidewhen", "menu", "range", "unquoted", "export",
               "parmtag"]
GROUP_FIELDS = ["name", "label", "invisible", "invisibletab", "tabbreak", "nolabel", "joinnext",
                "default", "disablewhentab", "disablewhen", "hidewhentab", "hidewhen", "grouptag",
                "parmtag"]
FLAGS = {"baseparm", "invisible", "nolabel", "joinnext", "unquoted", "tabbreak", "invisibletab"}
QUOTED = {"name", "label", "help", "disablewhen", "hidewhen", "disablewhentab", "hidewhentab"}
TAGS = {"parmtag", "grouptag"}
MENUS = {"menu", "menureplace", "menutoggle", "menumini"}
MULTI = {"multiparm", "multiscroll", "multiswitcher"}
GROUPS = {"group", "groupsimple", "groupcollapsible", "groupradio"} | MULTI
BLOCKS = GROUPS | {"parm"}
TYPES = set("""angle button buttonstrip color color4 data direction directory file float
    float_minmax geometry geometrydata iconstrip image int_minmax integer intlog intvector
    intvector2 label log oplist oppath ordinal ramp_flt ramp_rgb separator string toggle vector
    vector2 vector4""".split())
SIZES = {"vector": 3, "vector2": 2, "vector4": 4, "intvector": 3, "intvector2": 2, "direction": 3,
         "float_minmax": 2, "int_minmax": 2}

TOKEN = re.compile(r"""(?P<space>[ \t\r]+)|(?P<line>\n)|(?P<text>"(?:\\.|[^"\\])*")
    |(?P<mark>[{}\[\]])|(?P<word>[^\s{}\[\]"]+)""", re.VERBOSE | re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r"}


@dataclass
class Token:
    kind: str  # text, mark or word
    value: str
    line: int


@dataclass
class Field:
    key: str
    value: object
    line: int


@dataclass
class Block:
    """A parm or a group; fields in their order, children of groups."""
    kind: str
    line: int
    fields: list = field(default_factory=list)
    children: list = field(default_factory=list)

    def get(self, key, default=None):
        return next((f.value for f in self.fields if f.key == key), default)

    def has(self, key):
        return any(f.key == key for f in self.fields)

    def tags(self):
        return dict(f.value for f in self.fields if f.key in TAGS)

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Script:
    name: str
    script: str
    label: str
    help: list
    lines: list  # other lines of the head: (key, words)
    children: list

    def walk(self):
        for child in self.children:
            yield from child.walk()

    def handles(self):
        return [line for line in self.lines if line[0] == "bindhandle"]

    def ports(self):
        return [line for line in self.lines if line[0] != "bindhandle"]

    def labels(self, key):
        return [words[1] for k, words in self.lines if k == key]


@dataclass
class Expression:
    """A default that is computed."""
    code: str
    language: str


def unescape(text, line):
    def one(match):
        if match.group(1) not in ESCAPES:
            raise ScriptError(f"line {line}: unknown escape \\{match.group(1)}")
        return ESCAPES[match.group(1)]
    return re.sub(r"\\(.)", one, text, flags=re.DOTALL)


def escape(text):
    for plain, code in [("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")]:
        text = text.replace(plain, code)
    return f'"{text}"'


def tokenize(text):
    tokens, at, line = [], 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ScriptError(f"line {line}: an open quote")
        kind, value = match.lastgroup, match.group()
        if kind == "text":
            tokens.append(Token(kind, unescape(value[1:-1], line), line))
        elif kind in ("mark", "word"):
            tokens.append(Token(kind, value, line))
        line += value.count("\n")
        at = match.end()
    return tokens


class Reader:
    def __init__(self, tokens):
        self.tokens, self.at = tokens, 0

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else Token("end", "", -1)

    def next(self):
        token = self.peek()
        self.at += 1
        return token

    def fail(self, sentence, token=None):
        raise ScriptError(f"line {(token or self.peek()).line}: {sentence}")

    def expect(self, mark):
        token = self.next()
        if token.kind != "mark" or token.value != mark:
            self.fail(f"'{mark}' expected, not '{token.value}'", token)

    def is_mark(self, mark):
        return self.peek().kind == "mark" and self.peek().value == mark

    def text(self, kinds=("text", "word")):
        token = self.next()
        if token.kind not in kinds:
            self.fail(f"a text expected, not '{token.value}'", token)
        return token.value

    def integer(self):
        token = self.next()
        if not re.fullmatch(r"-?\d+", token.value):
            self.fail(f"a whole number expected, not '{token.value}'", token)
        return int(token.value)

    def rest_of_line(self, line):
        words = []
        while self.peek().kind != "end" and self.peek().line == line and not self.is_mark("}"):
            words.append(self.next().value)
        return words

    def texts_in_braces(self):
        self.expect("{")
        values = []
        while not self.is_mark("}"):
            values.append(self.text(("text",)))
        self.expect("}")
        return values

    def default(self):
        if not self.is_mark("{"):
            return self.integer()  # of a multi-parameter: the number of instances
        self.expect("{")
        values = []
        while not self.is_mark("}"):
            if self.is_mark("["):
                self.next()
                code, language = self.text(("text",)), self.text(("word",))
                if language not in ("hscript-expr", "python"):
                    self.fail(f"unknown language {language}")
                self.expect("]")
                values.append(Expression(code, language))
            else:
                values.append(self.text(("text",)))
        self.expect("}")
        return values

    def menu(self, kind):
        by_token = self.peek().value == "usetokenvalue"
        if by_token:
            self.next()
        self.expect("{")
        entries, code, language = [], [], None
        while not self.is_mark("}"):
            if self.is_mark("["):
                self.next()
                code.append(self.text(("text",)))
                self.expect("]")
            elif self.peek().kind == "word" and self.peek().value == "language":
                self.next()
                language = self.text(("word",))
            else:
                entries.append((self.text(("text",)), self.text(("text",))))
        self.expect("}")
        if entries and code:
            self.fail("a menu has entries or a script, not both")
        return kind + " usetokenvalue" * by_token, entries, code, language

    def range(self):
        self.expect("{")
        bounds = []
        for _ in range(2):
            match = re.fullmatch(r"(-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(!?)", self.peek().value)
            if match is None:
                self.fail(f"'{self.peek().value}' is no bound")
            bounds.append((match.group(1), match.group(2) == "!"))
            self.next()
        self.expect("}")
        return bounds

    def tag(self):
        self.expect("{")
        pair = (self.text(("text",)), self.text(("text",)))
        self.expect("}")
        return pair

    def value(self, key):
        if key in FLAGS:
            return True
        if key in TAGS:
            return self.tag()
        if key in MENUS:
            return self.menu(key)
        if key == "default":
            return self.default()
        if key == "range":
            return self.range()
        if key == "size":
            return self.integer()
        if key in QUOTED:
            return self.text(("text",))
        return self.text(("word",))

    def block(self, kind):
        block = Block(kind, self.peek().line)
        order = PARM_FIELDS if kind == "parm" else GROUP_FIELDS
        self.expect("{")
        place = 0
        while not self.is_mark("}"):
            token = self.next()
            if token.kind != "word":
                self.fail(f"a keyword expected, not '{token.value}'", token)
            if token.value in BLOCKS and kind != "parm":
                block.children.append(self.block(token.value))
                continue
            if block.children:
                self.fail(f"'{token.value}' stands behind the parameters of its group", token)
            slot = "menu" if token.value in MENUS else token.value
            if slot not in order:
                self.fail(f"a {kind} has no '{token.value}'", token)
            if slot not in TAGS and block.has(token.value):
                self.fail(f"'{token.value}' stands twice", token)
            if order.index(slot) < place:
                self.fail(f"'{token.value}' comes too late", token)
            place = order.index(slot)
            block.fields.append(Field(token.value, self.value(token.value), token.line))
        self.expect("}")
        check_block(block)
        return block


def check_block(block):
    def fail(sentence):
        raise ScriptError(f"line {block.line}: {block.kind} {block.get('name')}: {sentence}")

    for key in ("name", "label"):
        if not block.has(key):
            fail(f"has no {key}")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_#]*", block.get("name")):
        fail("is no name of a parameter")
    pairs = [f.value[0] for f in block.fields if f.key in TAGS]
    if len(pairs) != len(set(pairs)):
        fail("has a tag twice")
    if block.kind != "parm" or block.has("baseparm"):
        return
    if not block.has("type"):
        fail("has no type")
    if block.get("type") not in TYPES:
        fail(f"has the unknown type {block.get('type')}")
    values = block.get("default")
    size = block.get("size", 1)
    if isinstance(values, list) and len(values) != size:
        fail(f"has {len(values)} defaults and size {size}")
    wanted = SIZES.get(block.get("type"))
    if wanted is not None and size != wanted:
        fail(f"is a {block.get('type')} of size {size}")


def parse(text):
    match = re.match(r"# Dialog script for (\S+) automatically generated\n\n\{\n", text)
    if match is None:
        raise ScriptError("line 1: '# Dialog script for NAME automatically generated' expected")
    if not text.endswith("}\n"):
        raise ScriptError("the last line is no '}'")
    body = text[match.end():]
    reader = Reader(tokenize(body))
    for token in reader.tokens:
        token.line += 3
    head = {}
    for key in ("name", "script", "label"):
        if reader.text(("word",)) != key:
            reader.fail(f"'{key}' expected")
        head[key] = reader.text()
    if head["name"] != match.group(1):
        reader.fail(f"the script is for {match.group(1)} and names {head['name']}")
    lines, children = [], []
    help_lines = None
    while not reader.is_mark("}"):
        token = reader.next()
        if token.value in BLOCKS and token.kind == "word":
            children.append(reader.block(token.value))
        elif token.value == "help" and help_lines is None and not children:
            help_lines = reader.texts_in_braces()
        elif token.value in ("inputlabel", "outputlabel", "bindhandle") and not children:
            words = reader.rest_of_line(token.line)
            if len(words) != (5 if token.value == "bindhandle" else 2):
                reader.fail(f"{token.value} has {len(words)} words", token)
            lines.append((token.value, words))
        else:
            reader.fail(f"unexpected '{token.value}'", token)
    reader.expect("}")
    if reader.peek().kind != "end":
        reader.fail("text behind the last '}'")
    if help_lines is None:
        raise ScriptError("there is no help block")
    script = Script(head["name"], head["script"], head["label"], help_lines, lines, children)
    check_names(script)
    return script


def check_names(script):
    """Names are unique, also those that the components of vectors get."""
    seen = {}
    for block in script.walk():
        names = [block.get("name")]
        if block.kind == "parm" and block.get("type") in ("vector", "direction", "intvector"):
            names = [names[0] + c for c in "xyz"]
        for name in names:
            if name in seen:
                raise ScriptError(f"line {block.line}: {name} is there already, "
                                  f"line {seen[name]}")
            seen[name] = block.line


# --- The printer ---------------------------------------------------------------------------------

def word(text):
    """As in the head: quotes where they are needed."""
    return text if re.fullmatch(r"[^\s\"{}\[\]#']+", text) else escape(text)


def print_default(value):
    if isinstance(value, int):
        return f"default {value}"
    texts = [f"[ {escape(v.code)} {v.language} ]" if isinstance(v, Expression) else escape(v)
             for v in value]
    return "default { " + " ".join(texts) + " }"


def print_menu(value, indent):
    kind, entries, code, language = value
    lines = [f"{kind} {{"]
    width = max((len(escape(token)) for token, _ in entries), default=0) // 4 * 4 + 4
    lines += [f"{indent}    {escape(token):{width}}{escape(label)}" for token, label in entries]
    lines += [f"{indent}    [ {escape(line)} ]" for line in code]
    if language:
        lines.append(f"{indent}    language {language}")
    lines.append(indent + "}")
    return "\n".join(lines)


def print_field(f, indent, kind):
    if f.key in FLAGS:
        return f.key
    if f.key in TAGS:
        return f"{f.key} {{ {escape(f.value[0])} {escape(f.value[1])} }}"
    if f.key in MENUS:
        return print_menu(f.value, indent)
    if f.key == "default":
        return print_default(f.value)
    if f.key == "range":
        low, high = (number + ("!" if hard else "") for number, hard in f.value)
        return f"range   {{ {low} {high} }}"
    if f.key in ("disablewhen", "hidewhen", "disablewhentab", "hidewhentab"):
        return f"{f.key} {escape(f.value)}"
    if f.key in QUOTED:
        pad = "label    " if f.key == "label" and kind in MULTI else f"{f.key:8}"
        return pad + escape(f.value)
    return f"{f.key:8}{f.value}"


def print_block(block, depth):
    indent = "    " * depth
    inner = indent + "    "
    lines = [f"{indent}{block.kind} {{"]
    lines += [inner + print_field(f, inner, block.kind) for f in block.fields]
    if block.kind != "parm":
        lines.append("")
        for child in block.children:
            lines += print_block(child, depth + 1)
    lines.append(indent + "}")
    if block.kind in GROUPS:
        lines.append("")
    return lines


def print_script(script):
    lines = [f"# Dialog script for {script.name} automatically generated", "", "{",
             f"    name\t{word(script.name)}", f"    script\t{word(script.script)}",
             f"    label\t{word(script.label)}", "", "    help {"]
    lines += ["\t" + escape(text) for text in script.help]
    lines.append("    }")
    for _, (parm, handle, name, part, settings) in script.handles():
        lines.append(f"    bindhandle {parm} {handle} {escape(name)} {part} {escape(settings)}")
    lines.append("")
    labels = [f"    {key}\t{number}\t{word(label)}" for key, (number, label) in script.ports()]
    lines += labels + [""] * bool(labels)
    for child in script.children:
        lines += print_block(child, 1)
    return "\n".join(lines) + "\n}\n"
