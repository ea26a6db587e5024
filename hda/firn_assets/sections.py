"""The files of an asset in Houdini's expanded form, as a dictionary of path and text."""

import json

from .dialog import dialog_script
from .model import VERSION

# The date is part of the file; a fixed one keeps the same tables at the same bytes.
MODIFIED = "Mon Nov 16 00:00:00 2026"

OPTIONS = {"CheckExternal": 1, "ContentsCompressionType": 1, "ForbidOutsideParms": 1,
           "GzipContents": 1, "LockContents": 1, "MakeDefault": 1, "ParmsFromVfl": 0,
           "PrefixDroppedParmLabel": 0, "PrefixDroppedParmName": 0, "SaveCachedCode": 0,
           "SaveIcon": 1, "SaveSpareParms": 0, "UnlockOnCreate": 0, "UseDSParms": 1}

COOK = """\
import hou

try:
    from firn_houdini import node as firn_node
except ImportError as problem:
    raise hou.NodeError("Firn's Python package cannot be loaded (%s); is its folder 'python' on "
                        "PYTHONPATH, as firn.json sets it?" % problem)
"""
COOK_SELF = COOK + "firn_node.cook(hou.pwd())\n"
# The same for a Python node inside of a subnet.
COOK_PARENT = COOK + "firn_node.cook(hou.pwd().parent(), hou.pwd().geometry())\n"
MODULE = """\
from firn_houdini.buttons import (apply_preset, background, execute, reset, save_scene,
                                  stop)
"""
CREATED = """\
import hou

kwargs["node"].setColor(hou.Color((0.5, 0.72, 0.9)))
"""


def file_name(section):
    """A section's name as the name of its file."""
    return section.replace("_", "__").replace("/", "_1").replace(":", "_8")


def index_record(asset):
    rows = {"Operator": asset.operator, "Label": asset.label,
            "Path": f"oplib:/{asset.section}?{asset.section}",
            "Icon": f"opdef:/{asset.section}?IconSVG", "Table": "Sop", "License": "", "Extra": "",
            "User": "", "Inputs": f"0 to {len(asset.inputs)}", "Subnet": "false",
            "Python": "true", "Empty": "false", "Modified": MODIFIED}
    return "".join(f"{key + ':':14}{value}\n" for key, value in rows.items()) + "\n"


def create_script(asset):
    return f"""\
# Automatically generated script
\\set noalias = 1
#
#  Creation script for {asset.operator} operator
#

if ( "$arg1" == "" ) then
    echo This script is intended as a creation script
    exit
endif

# Node $arg1 ({asset.section})
opexprlanguage -s hscript $arg1
opuserdata -n '___Version___' -v '{VERSION}' $arg1
"""


def tool(asset):
    keywords = "".join(f"    <keyword>{word}</keyword>\n" for word in asset.keywords)
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<shelfDocument>
  <tool name="$HDA_DEFAULT_TOOL" label="$HDA_LABEL" icon="$HDA_ICON">
    <toolMenuContext name="viewer">
      <contextNetType>SOP</contextNetType>
    </toolMenuContext>
    <toolMenuContext name="network">
      <contextOpType>$HDA_TABLE_AND_NAME</contextOpType>
    </toolMenuContext>
    <toolSubmenu>Firn</toolSubmenu>
{keywords}    <script scriptType="python"><![CDATA[import soptoolutils

soptoolutils.genericTool(kwargs, '$HDA_NAME')]]></script>
  </tool>
</shelfDocument>
"""


def extra_options(scripts):
    """Says of each script that it is Python; without that Houdini takes it for its own language."""
    options = []
    for name in scripts:
        options += [(f"{name}/Cursor", "intarray", [1, 1]), (f"{name}/IsExpr", "bool", False),
                    (f"{name}/IsPython", "bool", True), (f"{name}/IsScript", "bool", True),
                    (f"{name}/Source", "string", "")]
    entries = [f'\t"{key}":{{\n\t\t"type":"{kind}",\n\t\t"value":{compact(value)}\n\t}}'
               for key, kind, value in options]
    return "{\n" + ",\n".join(entries) + "\n}\n"


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def sections(asset, icon):
    return {
        "DialogScript": dialog_script(asset),
        "PythonCook": COOK_SELF,
        "TypePropertiesOptions": "".join(f"{k} := {v};\n" for k, v in OPTIONS.items()),
        "Help": "",
        "Tools.shelf": tool(asset),
        "FunctionName": asset.name,
        "CreateScript": create_script(asset),
        "IconSVG": icon,
        "PythonModule": MODULE,
        "OnCreated": CREATED,
        "ExtraFileOptions": extra_options(["OnCreated", "PythonModule"]),
    }


def section_list(names):
    return '""\n' + "".join(f"{file_name(name)}\t{name}\n" for name in names)


def library(asset, icon):
    """All files of otls/NAME.hda, by their path in it."""
    folder = file_name(asset.section)
    files = {"INDEX__SECTION": index_record(asset), "houdini.hdalibrary": "",
             "Sections.list": section_list(["INDEX_SECTION", "houdini.hdalibrary", asset.section])}
    own = sections(asset, icon)
    files[f"{folder}/Sections.list"] = section_list(own)
    for name, text in own.items():
        files[f"{folder}/{file_name(name)}"] = text
    return files
