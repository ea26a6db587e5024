#!/usr/bin/env hython
"""Makes the digital assets with Houdini itself, for studios that prefer files that Houdini wrote.

Usage: hython build.py INTO [--collapse] [--tables FILE]

The assets have the same names, parameters, help and icons as those of the folder otls and run the
same Python; instead of an operator in Python each is a subnet with one Python node. Put the files
into the folder otls of the package, in the place of the others. FILE holds the output of
`firn describe --json`; without it $FIRN_PROGRAM or build/firn is asked.

--collapse packs the directories of otls into .hda files instead, and makes nothing anew.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import hou

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402
from firn_assets import model, sections  # noqa: E402


def expression_of(text):
    """Numbers are values; anything else is an expression such as $FPS."""
    try:
        float(text)
        return None
    except ValueError:
        return text


def number_template(parm):
    kind, convert = (hou.IntParmTemplate, int) if parm.type == "integer" else \
        (hou.FloatParmTemplate, float)
    expressions = [expression_of(text) for text in parm.default]
    values = tuple(convert(0) if code else convert(float(text))
                   for text, code in zip(parm.default, expressions))
    template = kind(parm.name, parm.label, parm.size, default_value=values)
    if any(expressions):
        template.setDefaultExpression(tuple(code or "" for code in expressions))
        template.setDefaultExpressionLanguage((hou.scriptLanguage.Hscript,) * parm.size)
    if parm.range:
        (low, hard_low), (high, hard_high) = parm.range
        template.setMinValue(convert(float(low)))
        template.setMaxValue(convert(float(high)))
        template.setMinIsStrict(hard_low)
        template.setMaxIsStrict(hard_high)
    if parm.size == 3:
        template.setNamingScheme(hou.parmNamingScheme.XYZW)
    return template


def string_template(parm):
    kinds = {"file": hou.stringParmType.FileReference, "oppath": hou.stringParmType.NodeReference,
             "directory": hou.stringParmType.FileReference, "string": hou.stringParmType.Regular}
    template = hou.StringParmTemplate(parm.name, parm.label, 1, default_value=tuple(parm.default),
                                      string_type=kinds[parm.type])
    if parm.type == "directory":
        template.setFileType(hou.fileType.Directory)
    return template


def template_of(parm):
    if parm.type in ("integer", "float", "vector"):
        template = number_template(parm)
    elif parm.type == "toggle":
        template = hou.ToggleParmTemplate(parm.name, parm.label,
                                          default_value=parm.default == ["1"])
    elif parm.type == "ordinal":
        template = hou.MenuParmTemplate(parm.name, parm.label,
                                        menu_items=tuple(t for t, _ in parm.menu),
                                        menu_labels=tuple(l for _, l in parm.menu),
                                        default_value=int(parm.default[0]))
    elif parm.type == "button":
        template = hou.ButtonParmTemplate(parm.name, parm.label)
    else:
        template = string_template(parm)
    template.setHelp(parm.help)
    template.setTags({k: v for k, v in parm.tags.items() if not k.startswith("script_callback")})
    template.setJoinWithNext(parm.join_next)
    template.hide(parm.invisible)
    if "script_callback" in parm.tags:
        template.setScriptCallback(parm.tags["script_callback"])
        template.setScriptCallbackLanguage(hou.scriptLanguage.Python)
    if parm.hide_when:
        template.setConditional(hou.parmCondType.HideWhen, parm.hide_when)
    if parm.disable_when:
        template.setConditional(hou.parmCondType.DisableWhen, parm.disable_when)
    return template


def folder_of(folder):
    kinds = {"group": hou.folderType.Tabs, "groupcollapsible": hou.folderType.Collapsible,
             "multiparm": hou.folderType.MultiparmBlock}
    children = tuple(folder_of(child) if isinstance(child, model.Folder) else template_of(child)
                     for child in folder.children)
    template = hou.FolderParmTemplate(folder.name, folder.label, parm_templates=children,
                                      folder_type=kinds[folder.kind])
    if folder.kind == "multiparm":
        template.setTags({"multistartoffset": "1"})
    if folder.hide_when:
        template.setTabConditional(hou.parmCondType.HideWhen, folder.hide_when)
    return template


def build(asset, icon, path):
    """One asset as a file."""
    parent = hou.node("/obj").createNode("geo", "firn_build")
    subnet = parent.createNode("subnet", asset.name)
    for child in subnet.children():
        child.destroy()
    code = subnet.createNode("python", "cook")
    code.parm("python").set(sections.COOK_PARENT)
    for index, item in enumerate(subnet.indirectInputs()[:len(asset.inputs)]):
        code.setInput(index, item)
    code.setDisplayFlag(True)
    made = subnet.createDigitalAsset(name=asset.operator, hda_file_name=str(path),
                                     description=asset.label, min_num_inputs=0,
                                     max_num_inputs=len(asset.inputs))
    definition = made.type().definition()
    group = hou.ParmTemplateGroup()
    for folder in asset.folders:
        group.append(folder_of(folder))
    definition.setParmTemplateGroup(group)
    scripts = sections.sections(asset, icon)
    for name in ("PythonModule", "OnCreated", "IconSVG", "Tools.shelf"):
        definition.addSection(name, scripts[name])
    for name in ("PythonModule", "OnCreated"):
        definition.setExtraFileOption(name + "/IsPython", True)
    definition.setIcon(f"opdef:/{asset.section}?IconSVG")
    definition.save(str(path))
    parent.destroy()


def collapse(into):
    for path in sorted((HERE / "otls").glob("*.hda")):
        hou.hda.collapseFromDirectory(str(into / path.name), str(path))


def read_tables(path):
    if path:
        return json.loads(Path(path).read_text())
    built = HERE.parent / "build" / "firn"
    return generate.describe(os.environ.get("FIRN_PROGRAM") or str(built))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("into", type=Path, help="the folder of the files")
    parser.add_argument("--collapse", action="store_true", help="only pack the folder otls")
    parser.add_argument("--tables", help="the output of `firn describe --json`")
    options = parser.parse_args(arguments)
    options.into.mkdir(parents=True, exist_ok=True)
    if options.collapse:
        collapse(options.into)
        return
    for asset in model.assets(read_tables(options.tables)):
        build(asset, generate.icon_of(asset), options.into / f"{asset.name}.hda")


if __name__ == "__main__":
    main(sys.argv[1:])
