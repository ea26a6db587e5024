"""Writes the parameters of an asset as a DialogScript, in Houdini's own layout."""

from .model import Folder


def quote(text):
    for plain, code in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, code)
    return f'"{text}"'


def bound(end):
    return end[0] + ("!" if end[1] else "")


def parm_fields(parm):
    yield f"name    {quote(parm.name)}"
    yield f"label   {quote(parm.label)}"
    yield f"type    {parm.type}"
    if parm.invisible:
        yield "invisible"
    if parm.join_next:
        yield "joinnext"
    if parm.size > 1:
        yield f"size    {parm.size}"
    yield "default { " + " ".join(quote(text) for text in parm.default) + " }"
    yield f"help    {quote(parm.help)}"
    if parm.disable_when:
        yield f"disablewhen {quote(parm.disable_when)}"
    if parm.hide_when:
        yield f"hidewhen {quote(parm.hide_when)}"
    if parm.menu:
        width = max(len(quote(token)) for token, _ in parm.menu) // 4 * 4 + 4
        yield "menu {"
        for token, label in parm.menu:
            yield f"    {quote(token):{width}}{quote(label)}"
        yield "}"
    if parm.range:
        yield f"range   {{ {bound(parm.range[0])} {bound(parm.range[1])} }}"
    for name, value in sorted(parm.tags.items()):
        yield f"parmtag {{ {quote(name)} {quote(value)} }}"


def lines_of(item):
    """The lines of a parameter or folder, without the indent of its place."""
    if not isinstance(item, Folder):
        return ["parm {", *("    " + line for line in parm_fields(item)), "}"]
    lines = [f"{item.kind} {{", f"    name    {quote(item.name)}"]
    if item.kind == "multiparm":
        lines += [f"    label    {quote(item.label)}", "    default 0",
                  '    parmtag { "multistartoffset" "1" }', ""]
    else:
        lines.append(f"    label   {quote(item.label)}")
        lines += [f"    hidewhentab {quote(item.hide_when)}"] if item.hide_when else []
        lines.append("")
    for child in item.children:
        lines += ["    " + line if line else "" for line in lines_of(child)]
    return [*lines, "}", ""]


def dialog_script(asset):
    lines = [f"# Dialog script for {asset.operator} automatically generated", "", "{",
             f"    name\t{asset.operator}", f"    script\t{asset.name}",
             f"    label\t{quote(asset.label)}", "", "    help {", '\t""', "    }", ""]
    for index, label in enumerate(asset.inputs, 1):
        text = quote(label) if " " in label else label
        lines.append(f"    inputlabel\t{index}\t{text}")
    lines += [""] if asset.inputs else []
    for folder in asset.folders:
        lines += ["    " + line if line else "" for line in lines_of(folder)]
    return "\n".join(lines) + "\n}\n"
