"""The assets that hda/build.py makes are those of the folder otls, parameter by parameter."""

import os
import tempfile
import unittest
from pathlib import Path

from support import HDA, hou, program

import expanded
import standin_build

standin_build.add_to(hou)
os.environ["FIRN_PROGRAM"] = program()

import build  # noqa: E402


def flat(templates):
    for template in templates:
        yield template
        yield from flat(getattr(template, "children", ()))


class Build(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        standin_build.definitions.clear()
        build.main([cls.place.name])
        cls.operators = {o.record["Operator"]: o for path in (HDA / "otls").iterdir()
                         for o in expanded.read_library(path)}

    def pairs(self):
        """Templates beside the blocks of the DialogScripts."""
        for definition in standin_build.definitions:
            operator = self.operators[definition.arguments["name"]]
            templates = list(flat(definition.group.folders))
            blocks = list(operator.script.walk())
            self.assertEqual([t.name for t in templates], [b.get("name") for b in blocks])
            yield from zip(templates, blocks)

    def test_every_asset_is_made_and_saved(self):
        self.assertEqual({d.arguments["name"] for d in standin_build.definitions},
                         set(self.operators))
        for definition in standin_build.definitions:
            operator = self.operators[definition.arguments["name"]]
            self.assertEqual(definition.arguments["label"], operator.record["Label"])
            self.assertEqual(f"{definition.arguments['least']} to {definition.arguments['most']}",
                             operator.record["Inputs"])
            self.assertEqual(definition.saved, definition.arguments["file"])
            self.assertEqual(definition.icon, operator.record["Icon"])
            self.assertTrue(definition.options["PythonModule/IsPython"])
            for name in ("PythonModule", "OnCreated", "IconSVG", "Tools.shelf"):
                self.assertEqual(definition.sections[name], operator.sections[name])

    def test_the_python_inside_cooks_the_node_around_it(self):
        for definition in standin_build.definitions:
            code, = definition.node.made
            self.assertEqual(code.kind, "python")
            self.assertIn("cook(hou.pwd().parent(), hou.pwd().geometry())", code.code)
            compile(code.code, "cook", "exec")
            self.assertEqual(len(code.inputs), definition.arguments["most"])

    def test_every_parameter_has_the_same_label_help_and_rules(self):
        for template, block in self.pairs():
            where = block.get("name")
            self.assertEqual(template.label, block.get("label"), where)
            if block.kind != "parm":
                self.assertEqual(template.folder_type, block.kind)
                self.assertEqual(template.tab_rules.get("hidewhen"), block.get("hidewhentab"))
                continue
            self.assertEqual(template.help, block.get("help"), where)
            self.assertEqual(template.hidden, block.has("invisible"), where)
            self.assertEqual(template.join, block.has("joinnext"), where)
            for rule in ("hidewhen", "disablewhen"):
                self.assertEqual(template.rules.get(rule), block.get(rule), where)
            tags = block.tags()
            self.assertEqual(template.callback, tags.pop("script_callback", None))
            tags.pop("script_callback_language", None)
            self.assertEqual(template.tags, tags, where)

    def test_every_value_is_the_same(self):
        for template, block in self.pairs():
            given = block.get("default")
            if isinstance(template, standin_build.NumberTemplate):
                texts = [code or repr(value) for code, value in
                         zip(template.expressions or [""] * template.size, template.default)]
                for text, wanted in zip(texts, given):
                    self.assertEqual(number(text), number(wanted), block.get("name"))
                if block.has("range"):
                    ends = [(float(text), hard) for text, hard in block.get("range")]
                    self.assertEqual([(template.low, template.low_hard),
                                      (template.high, template.high_hard)], ends)
            elif isinstance(template, standin_build.MenuParmTemplate):
                self.assertEqual(template.menu, block.get("menu")[1])
                self.assertEqual([str(template.default)], given)
            elif isinstance(template, standin_build.ToggleParmTemplate):
                self.assertEqual(template.default, given == ["1"])
            elif isinstance(template, standin_build.StringParmTemplate):
                self.assertEqual(list(template.default), given)
                self.assertEqual(template.file_type or template.string_type, block.get("type"))

    def test_collapse_packs_every_directory(self):
        standin_build.collapsed.clear()
        build.main([self.place.name, "--collapse"])
        self.assertEqual([Path(folder).name for _, folder in standin_build.collapsed],
                         sorted(p.name for p in (HDA / "otls").iterdir()))
        for file, folder in standin_build.collapsed:
            self.assertEqual(Path(file).name, Path(folder).name)


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    unittest.main()
