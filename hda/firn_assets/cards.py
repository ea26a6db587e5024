"""Help cards in Houdini's wiki text."""

from .model import NAMESPACE, VERSION, Folder


def card_path(asset):
    return f"help/nodes/sop/{NAMESPACE}--{asset.name}-{VERSION}.txt"


def plain(text):
    """Text in which nothing is markup by accident."""
    return text.replace("`", "'").replace("[", "(").replace("]", ")").replace("*", "\\*")


def entry(parm):
    lines = [f"{plain(parm.label)}:", f"    #id: {parm.name}", "", f"    {plain(parm.help)}", ""]
    if parm.row is not None and parm.row["type"] == "choice":
        lines += [f"    Choices: {', '.join(label for _, label in parm.menu)}.", ""]
    if parm.row is not None and "min" in parm.row and parm.range:
        lines += [f"    From {parm.row['min']:g} to {parm.row['max']:g}.", ""]
    if parm.row is not None and parm.row.get("animated"):
        lines += ["    May be animated.", ""]
    return lines


def entries(items):
    lines = []
    for item in items:
        if isinstance(item, Folder) and item.kind != "multiparm":
            lines += [f"=== {item.label} ===", "", *entries(item.children)]
        elif isinstance(item, Folder):
            lines += [f"{item.label}:", f"    #id: {item.name}", "", f"    {plain(item.help)}", ""]
            for child in item.children:
                lines += ["    " + line if line else "" for line in entry(child)]
        elif not item.invisible:
            lines += entry(item)
    return lines


def card(asset, others):
    lines = [f"= {asset.label} =", "", "#type: node", "#context: sop",
             f"#internal: {asset.operator}", f"#icon: opdef:/{asset.section}?IconSVG",
             f"#tags: {', '.join(asset.keywords)}", "", f'"""{plain(asset.help)}"""', ""]
    if asset.inputs:
        lines += ["@inputs", ""]
        helps = {p["name"].replace("_", " ").capitalize(): p["help"]
                 for p in (asset.node or {}).get("inputs", [])}
        for label in asset.inputs:
            text = helps.get(label, "What the node takes instead of its own shape"
                             if asset.node else "The end of a network of Firn's nodes")
            lines += [f"{label}:", f"    {plain(text)}.", ""]
    lines += ["@parameters", ""]
    for folder in asset.folders:
        lines += [f"== {folder.label} ==", ""]
        lines += entries(folder.children)
    lines += ["@related", ""]
    lines += [f"- [Node:sop/{o.operator}]" for o in others if o is not asset]
    return "\n".join(lines) + "\n"
