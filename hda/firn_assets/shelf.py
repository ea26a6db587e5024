"""The shelf: a tool for each example shot, which builds its network."""

from xml.sax.saxutils import quoteattr


def tool(name, comment):
    label = name.replace("_", " ").capitalize()
    return f"""\
  <tool name={quoteattr("firn_" + name)} label={quoteattr(label)} icon="$FIRN/icons/shelf.svg">
    <helpText><![CDATA[{comment}]]></helpText>
    <toolSubmenu>Firn/Shots</toolSubmenu>
    <script scriptType="python"><![CDATA[from firn_houdini import scene_import

scene_import.from_shelf({name!r})]]></script>
  </tool>
"""


def shelf(shots):
    """shots: name and comment of each."""
    members = "".join(f"    <memberTool name={quoteattr('firn_' + name)}/>\n"
                      for name, _ in shots)
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<shelfDocument>\n'
            '  <toolshelf name="firn" label="Firn">\n' + members + "  </toolshelf>\n"
            + "".join(tool(name, comment) for name, comment in shots) + "</shelfDocument>\n")
