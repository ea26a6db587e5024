"""The generated files: every asset is read by a strict parser that knows nothing of the generator,
and compared with the tables of the library."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from support import HDA, ROOT, program

import dialog_script
import expanded
from firn_assets import model, sections

TABLES = json.loads(subprocess.run([program(), "describe", "--json"], capture_output=True,
                                   check=True).stdout)
LIBRARIES = sorted((HDA / "otls").glob("*.hda"))
UNITS = {"m": "m1", "s": "s1", "m/s": "m1s-1", "m/s^2": "m1s-2", "rad/s": "s-1", "1/s": "s-1",
         "1/m": "m-1", "kg/m^3": "kg1m-3", "Pa": "kg1m-1s-2", "kg": "kg1"}


def operators():
    found = [o for path in LIBRARIES for o in expanded.read_library(path)]
    return {operator.record["Operator"].split("::")[1]: operator for operator in found}


class Files(unittest.TestCase):
    def test_every_library_is_accepted(self):
        self.assertTrue({"snow_source", "snow_collider", "snow_solver", "snow_rasterize",
                         "snow_cache", "snow_material"} <= set(operators()))

    def test_what_is_checked_in_is_what_the_tables_give(self):
        result = subprocess.run([sys.executable, HDA / "generate.py", program(), "--check"],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_the_generator_names_what_differs_is_missing_and_is_left_over(self):
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, HDA / "generate.py", program(), "--into", place]
            subprocess.run(command, check=True)
            (Path(place) / "otls/snow_solver.hda/INDEX__SECTION").write_text("x")
            (Path(place) / "toolbar/firn.shelf").unlink()
            (Path(place) / "otls/old").write_text("x")
            result = subprocess.run([*command, "--check"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout.splitlines(), [
                "hda/otls/old is left over", "hda/otls/snow_solver.hda/INDEX__SECTION differs",
                "hda/toolbar/firn.shelf is missing"])

    def test_scripts_are_laid_out_as_houdini_lays_them_out(self):
        for name, operator in operators().items():
            text = operator.sections["DialogScript"]
            self.assertEqual(dialog_script.print_script(operator.script), text, name)

    def test_names_of_sections_survive_the_coding(self):
        for name in ("firn::Sop/snow_solver::1.0", "INDEX_SECTION", "a__b", "x/_:y", "plain.txt"):
            self.assertEqual(expanded.decode(expanded.encode(name)), name)
        self.assertEqual(expanded.encode("firn::Sop/snow_solver::1.0"),
                         "firn_8_8Sop_1snow__solver_8_81.0")
        for wrong in ("a_2b", "a_"):
            with self.assertRaises(expanded.AssetError):
                expanded.decode(wrong)

    def test_names_in_the_files_are_those_of_the_issue(self):
        for name, operator in operators().items():
            self.assertEqual(operator.record["Operator"], f"firn::{name}::1.0")
            self.assertEqual(operator.record["Table"], "Sop")


class Parameters(unittest.TestCase):
    """Every row of every table is there, as it is."""

    @classmethod
    def setUpClass(cls):
        cls.operators = operators()

    def block(self, asset, name):
        found = [b for b in self.operators[asset].script.walk() if b.get("name") == name]
        self.assertEqual(len(found), 1, f"{asset}.{name}")
        return found[0]

    def rows(self):
        """Asset, prefix, default of the host or None, row."""
        for node in TABLES["nodes"]:
            if node["output"] == "nothing":
                for row in node["params"]:
                    host = model.WRITER_DEFAULTS.get(f"{node['name']}.{row['name']}")
                    yield "snow_cache", node["name"] + "_", host, row
            else:
                for row in node["params"]:
                    yield model.asset_name(node), "", None, row
            if node["output"] in ("particles", "volume"):
                for row in TABLES["shot"]["params"]:
                    yield (model.asset_name(node), "shot_",
                           model.SHOT_DEFAULTS.get(row["name"]), row)
        for row in TABLES["shot"]["params"]:
            yield "snow_cache", "shot_", model.SHOT_DEFAULTS.get(row["name"]), row

    def test_every_row_has_its_type_default_label_and_help(self):
        kinds = {"bool": {"toggle"}, "int": {"integer"}, "float": {"float"}, "double": {"float"},
                 "vec3": {"vector"}, "choice": {"ordinal"}, "string": {"string"},
                 "path": {"file", "directory"}}
        count = 0
        for asset, prefix, host, row in self.rows():
            block = self.block(asset, prefix + row["name"])
            where = f"{asset}.{prefix}{row['name']}"
            self.assertIn(block.get("type"), kinds[row["type"]], where)
            self.assertEqual(block.get("label"), row["label"], where)
            self.assertTrue(block.get("help").startswith(row["help"]), where)
            self.check_default(block, row, host, where)
            count += 1
        self.assertGreater(count, 150)

    def check_default(self, block, row, host, where):
        given, wanted = block.get("default"), row["default"] if host is None else host
        if row["type"] == "choice":
            self.assertEqual([token for token, _ in block.get("menu")[1]], row["choices"], where)
            self.assertEqual(given, [str(row["choices"].index(wanted))], where)
        elif isinstance(wanted, str):
            self.assertEqual(given, [wanted], where)
        else:
            numbers = wanted if isinstance(wanted, list) else [wanted]
            self.assertEqual([float(text) for text in given], [float(n) for n in numbers], where)

    def test_every_number_has_a_range_within_that_of_its_row(self):
        for asset, prefix, host, row in self.rows():
            if row["type"] not in ("int", "float", "double", "vec3"):
                continue
            (low, hard_low), (high, hard_high) = self.block(asset, prefix + row["name"]).get(
                "range")
            where = f"{asset}.{prefix}{row['name']}"
            self.assertLess(float(low), float(high), where)
            self.assertGreaterEqual(float(low), row["min"], where)
            self.assertLessEqual(float(high), row["max"] * (1 + 1e-6), where)
            # A hard end is the bound itself, never a tighter one.
            if hard_low:
                self.assertEqual(float(low), row["min"], where)
            if hard_high:
                self.assertEqual(float(high), row["max"], where)
            if host is None and not isinstance(row["default"], list) and \
                    abs(row["default"]) < 1e6:
                self.assertTrue(float(low) <= row["default"] <= float(high), where)

    def test_every_unit_is_a_tag_and_in_the_help(self):
        for asset, prefix, _, row in self.rows():
            block = self.block(asset, prefix + row["name"])
            self.assertEqual(block.tags().get("firn_unit", ""), row["unit"])
            self.assertEqual(block.tags().get("units"), UNITS.get(row["unit"]))
            if row["unit"]:
                self.assertIn(f"[{row['unit']}]", block.get("help"))

    def test_visibility_follows_the_rule_of_the_row(self):
        hidden = 0
        for asset, prefix, _, row in self.rows():
            rule = self.block(asset, prefix + row["name"]).get("hidewhen")
            if not row.get("visible_when"):
                self.assertIsNone(rule)
                continue
            hidden += 1
            name, choices = row["visible_when"].split("==")
            other = self.block(asset, prefix + name)
            values = [token for token, _ in other.get("menu")[1]] if other.has("menu") else \
                ["0", "1"]
            shown = choices.replace("true", "1").replace("false", "0").split("|")
            for value in values:
                state = {prefix + name: value, "use_input": "1", "hasinput(0)": "0"}
                self.assertEqual(not hides(rule, state), value in shown,
                                 f"{asset}.{row['name']} with {name}={value}")
        self.assertGreater(hidden, 20)

    def test_geometry_at_the_input_shows_what_counts_for_it(self):
        taken = {"use_input": "1", "hasinput(0)": "1", "region": "sphere", "shape": "plane"}
        for asset, shape in (("snow_source", "region"), ("snow_collider", "shape")):
            self.assertTrue(hides(self.block(asset, shape).get("disablewhen"), taken))
            for name, shown in (("mesh_voxel_size", True), ("vdb_threshold", True),
                                ("file", False), ("object", False)):
                rule = self.block(asset, name).get("hidewhen")
                self.assertEqual(not hides(rule, taken), shown, f"{asset}.{name}")
                # Left aside, the input changes nothing.
                self.assertTrue(hides(rule, dict(taken, use_input="0")), f"{asset}.{name}")
        self.assertTrue(hides(self.block("snow_source", "radius").get("hidewhen"), taken))

    def test_a_part_is_hidden_when_all_in_it_is(self):
        hidden = 0
        for name, operator in self.operators.items():
            for block in operator.script.walk():
                if block.kind != "groupcollapsible":
                    continue
                rules = {child.get("hidewhen") for child in block.children}
                self.assertEqual(block.get("hidewhentab"),
                                 rules.pop() if len(rules) == 1 else None, name)
                hidden += block.has("hidewhentab")
        self.assertGreater(hidden, 3)

    def test_every_port_is_an_input_and_a_path(self):
        for node in TABLES["nodes"]:
            if node["output"] == "nothing":
                continue
            operator = self.operators[model.asset_name(node)]
            labels = operator.script.labels("inputlabel")
            for place, port in enumerate(node["inputs"]):
                # A subnet has four wires; the rest is listed by path.
                self.assertEqual(port["name"].capitalize().replace("_", " ") in labels, place < 4)
                if port["many"]:
                    block = self.block(model.asset_name(node), port["name"] + "_nodes")
                    self.assertEqual((block.kind, block.get("default")), ("multiparm", 0))
                    self.assertEqual([c.get("name") for c in block.children],
                                     [port["name"] + "_node#"])
                else:
                    block = self.block(model.asset_name(node), port["name"] + "_node")
                    self.assertEqual(block.get("type"), "oppath")

    def test_every_condition_names_parameters_that_exist(self):
        for name, operator in self.operators.items():
            names = {b.get("name") for b in operator.script.walk()}
            for block in operator.script.walk():
                for key in ("hidewhen", "disablewhen", "hidewhentab"):
                    for parm in re.findall(r"(\w+) [!=]=", block.get(key) or ""):
                        self.assertIn(parm, names, f"{name}.{block.get('name')}")

    def test_every_parameter_has_help(self):
        for name, operator in self.operators.items():
            for block in operator.script.walk():
                if block.kind == "parm":
                    self.assertTrue(block.get("help"), f"{name}.{block.get('name')}")

    def test_buttons_call_functions_that_exist(self):
        sys.path.insert(0, str(ROOT / "plugin/python"))
        for operator in self.operators.values():
            scope = {}
            exec(operator.sections["PythonModule"], scope)
            for block in operator.script.walk():
                call = block.tags().get("script_callback")
                if call:
                    function = re.fullmatch(r"hou\.phm\(\)\.(\w+)\(kwargs\)", call).group(1)
                    self.assertTrue(callable(scope[function]), call)


class NewNodes(unittest.TestCase):
    """A node that is added to the tables becomes an asset, or a tab of the cache."""

    ROWS = [{"name": "speed", "label": "Speed", "type": "vec3", "default": [1, 0, 0],
             "min": -100, "max": 100, "unit": "m/s", "help": "Of the air", "animated": True},
            {"name": "mode", "label": "Mode", "type": "choice", "default": "gusts",
             "choices": ["steady", "gusts"], "unit": "", "help": "How it blows", "animated": False},
            {"name": "period", "label": "Period", "type": "float", "default": 2.5, "min": 0.01,
             "max": 1000, "unit": "s", "help": "Of \"gusts\"; C:\\ and such", "animated": False,
             "visible_when": "mode==gusts"}]

    def read(self, node):
        tables = json.loads(json.dumps(TABLES))
        tables["nodes"].append(node)
        with tempfile.TemporaryDirectory() as place:
            for asset in model.assets(tables):
                for path, text in sections.library(asset, "<svg xmlns="
                                                   "\"http://www.w3.org/2000/svg\"/>").items():
                    target = Path(place) / f"{asset.name}.hda" / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(text)
            return {o.record["Operator"].split("::")[1]: o.script for path in
                    Path(place).iterdir() for o in expanded.read_library(path)}

    def test_a_maker_is_an_operator(self):
        port = {"name": "particles", "kind": "particles", "many": False, "required": False,
                "help": "Who feels it"}
        scripts = self.read({"name": "wind", "label": "Wind", "category": "Simulation",
                             "help": "Moves snow.", "inputs": [port], "output": "wind",
                             "sequential": False, "params": self.ROWS})
        blocks = {b.get("name"): b for b in scripts["snow_wind"].walk()}
        self.assertEqual(blocks["period"].get("help"), "Of \"gusts\"; C:\\ and such [s]")
        self.assertEqual(blocks["period"].get("hidewhen"), "{ mode != gusts }")
        self.assertEqual(scripts["snow_wind"].labels("inputlabel"), ["Particles"])

    def test_a_writer_is_a_tab_of_the_cache_that_waits_to_be_asked_for(self):
        ports = [{"name": "volume", "kind": "volume", "many": False, "required": True, "help": ""},
                 {"name": "colliders", "kind": "collider", "many": True, "required": False,
                  "help": ""}]
        scripts = self.read({"name": "etching", "label": "Etching", "category": "Files",
                             "help": "Draws.", "inputs": ports, "output": "nothing",
                             "sequential": False, "params": self.ROWS})
        blocks = {b.get("name"): b for b in scripts["snow_cache"].walk()}
        self.assertEqual(blocks["etching"].get("default"), ["0"])
        self.assertEqual(blocks["write_volume"].get("default"), ["1"])
        self.assertEqual(blocks["etching_period"].get("hidewhen"), "{ etching_mode != gusts }")


def hides(rule, values):
    """Houdini's rule: one group in braces of which all terms hold."""
    for group in re.findall(r"\{([^}]*)\}", rule):
        terms = re.findall(r"(\S+) (==|!=) (\S+)", group)
        if all((values[name] == value) == (sign == "==") for name, sign, value in terms):
            return True
    return False


class Mutations(unittest.TestCase):
    """An asset that is broken on purpose is refused, with the place."""

    FOLDER = "firn_8_8Sop_1snow__solver_8_81.0"
    SCRIPT = FOLDER + "/DialogScript"
    CASES = [
        ("INDEX__SECTION", "Table:        Sop", "Table:       Sop", "column 15"),
        ("INDEX__SECTION", "Inputs:       0 to 4", "Inputs:       4", "Inputs is '4'"),
        ("INDEX__SECTION", "License:      \n", "", "the keys are"),
        ("INDEX__SECTION", "Python:       true", "Python:       yes", "Python is 'yes'"),
        ("INDEX__SECTION", "Python:       true", "Python:       false", "no operator in Python"),
        ("INDEX__SECTION", "Modified:     Mon", "Modified:     Tue", "was a Monday"),
        ("INDEX__SECTION", "oplib:/firn::Sop/snow_solver", "oplib:/firn::Sop/solver", "Path"),
        ("INDEX__SECTION", "firn::snow_solver::1.0\n", "firn::snow_solver::1a\n", "no name of an"),
        ("INDEX__SECTION", "0 to 4", "0 to 5", "5 inputs have other labels"),
        ("INDEX__SECTION", "Label:        Firn", "Label:        Foo", "the label is"),
        ("Sections.list", '""\n', "", "begins with"),
        ("Sections.list", "snow__solver_8", "snow_solver_8", "is stored as"),
        (FOLDER + "/Sections.list", "Help\tHelp\n", "", "does not name what is there"),
        (FOLDER + "/Sections.list", "Help\tHelp\n", "Help\tHelp\n" * 2, "twice"),
        (FOLDER + "/Sections.list", "Help\tHelp", "Help Help", "is not FILE"),
        (FOLDER + "/FunctionName", "snow_solver", "solver", "FunctionName"),
        (FOLDER + "/TypePropertiesOptions", "GzipContents := 1;\n", "", "the keys are"),
        (FOLDER + "/TypePropertiesOptions", "SaveIcon := 1;", "SaveIcon = 1;", "KEY := NUMBER"),
        (FOLDER + "/ExtraFileOptions", "true", "1", "IsPython"),
        (FOLDER + "/ExtraFileOptions", "PythonModule/IsPython", "PythonModule/IsX",
         "does not say that PythonModule is Python"),
        (FOLDER + "/ExtraFileOptions", "}\n}", "},\n}", "ExtraFileOptions"),
        (FOLDER + "/Tools.shelf", "</tool>", "", "mismatched tag"),
        (FOLDER + "/Tools.shelf", "$HDA_DEFAULT_TOOL", "x", "the tool is x"),
        (FOLDER + "/IconSVG", "<svg", "<sv", "mismatched tag"),
        (FOLDER + "/PythonCook", "import hou", "import", "invalid syntax"),
        (FOLDER + "/CreateScript", "(firn::Sop/snow_solver", "(firn::Sop/x", "does not name"),
        (SCRIPT, "type    toggle", "type    tuggle", "unknown type tuggle"),
        (SCRIPT, 'default { "0" "-9.81" "0" }', 'default { "0" "0" }', "2 defaults and size 3"),
        (SCRIPT, "size    3\n", "", "3 defaults and size 1"),
        (SCRIPT, 'name    "cell_size"', 'name    "preset"', "preset is there already"),
        (SCRIPT, 'name    "cell_size"', 'name    "cell size"', "no name of a parameter"),
        (SCRIPT, 'name    "deformation"', 'name    "gravityx"', "is there already"),
        (SCRIPT, "range   { 0! 100 }", "range   { 0! lots }", "'lots' is no bound"),
        (SCRIPT, "            help    \"Also give", "            hulp    \"Also give",
         "a parm has no 'hulp'"),
        (SCRIPT, "automatically generated", "generated", "expected"),
        (SCRIPT, "\n    help {\n\t\"\"\n    }\n", "", "no help block"),
        (SCRIPT, "parm {", "parm", "'{' expected"),
        (SCRIPT, "\n}\n", "\n", "the last line"),
        (SCRIPT, "preset\"\n            label   \"Preset\"", "preset\"", "has no label"),
    ]

    def broken(self, path, old, new):
        with tempfile.TemporaryDirectory() as place:
            target = Path(place) / "snow_solver.hda"
            shutil.copytree(HDA / "otls/snow_solver.hda", target)
            text = (target / path).read_text()
            self.assertIn(old, text, path)
            (target / path).write_text(text.replace(old, new, 1))
            with self.assertRaises(expanded.AssetError) as caught:
                expanded.read_library(target)
            return str(caught.exception)

    def test_each_is_refused_for_its_reason(self):
        for path, old, new, reason in self.CASES:
            with self.subTest(path=path, old=old, new=new):
                message = self.broken(path, old, new)
                self.assertIn(reason, message)
                self.assertIn("snow_solver.hda", message)

    def test_fields_out_of_order_are_refused(self):
        swapped = 'type    toggle\n            label   "Deformation"'
        message = self.broken(self.SCRIPT, 'label   "Deformation"\n            type    toggle',
                              swapped)
        self.assertIn("'label' comes too late", message)

    def test_missing_and_extra_files_are_refused(self):
        for change in ("remove", "add"):
            with tempfile.TemporaryDirectory() as place:
                target = Path(place) / "snow_solver.hda"
                shutil.copytree(HDA / "otls/snow_solver.hda", target)
                if change == "remove":
                    (target / self.FOLDER / "PythonCook").unlink()
                else:
                    (target / self.FOLDER / "Contents.mime").write_text("")
                with self.assertRaisesRegex(expanded.AssetError, "what is there"):
                    expanded.read_library(target)

    def test_every_truncated_script_is_refused(self):
        text = (HDA / "otls/snow_material.hda/firn_8_8Sop_1snow__material_8_81.0/DialogScript"
                ).read_text()
        for end in range(0, len(text) - 1, 37):
            with self.assertRaises(dialog_script.ScriptError):
                dialog_script.parse(text[:end])


class Around(unittest.TestCase):
    def test_the_package_is_relative_to_its_own_folder(self):
        package = json.loads((HDA / "packages/firn.json").read_text())
        self.assertEqual(package["hpath"], "$FIRN")
        self.assertEqual(package["version"], TABLES["version"])
        variables = {}
        for entry in package["env"]:
            if "var" in entry:
                self.assertEqual(set(entry), {"var", "value", "method"})
                self.assertIn(entry["method"], ("prepend", "append", "replace"))
                variables[entry["var"]] = entry["value"]
            else:
                variables.update(entry)
        self.assertEqual(variables, {"FIRN": "$HOUDINI_PACKAGE_PATH/firn",
                                     "PYTHONPATH": ["$FIRN/python"], "PATH": ["$FIRN/lib"]})
        self.assertRegex(package["enable"], r"^houdini_version >= '\d+\.\d+'$")

    def test_the_shelf_has_a_tool_for_every_example(self):
        root = xml.parse(HDA / "toolbar/firn.shelf").getroot()
        members = [m.get("name") for m in root.find("toolshelf").findall("memberTool")]
        tools = {t.get("name"): t for t in root.findall("tool")}
        examples = sorted(p.stem for p in (ROOT / "docs/scenes").glob("*.firn"))
        self.assertEqual(members, ["firn_" + name for name in examples])
        self.assertEqual(set(tools), set(members))
        for name in examples:
            script = tools["firn_" + name].find("script")
            self.assertEqual(script.get("scriptType"), "python")
            compile(script.text, name, "exec")
            self.assertIn(f"from_shelf('{name}')", script.text)
            self.assertTrue(tools["firn_" + name].find("helpText").text)

    def test_every_asset_has_a_card_that_explains_every_parameter(self):
        for name, operator in operators().items():
            card = (HDA / f"help/nodes/sop/firn--{name}-1.0.txt").read_text()
            lines = card.splitlines()
            self.assertEqual(lines[0], f"= {operator.record['Label']} =")
            for line in ("#type: node", "#context: sop", f"#internal: firn::{name}::1.0",
                         "@parameters", "@related"):
                self.assertIn(line, lines)
            ids = re.findall(r"^ +#id: (\S+)$", card, flags=re.MULTILINE)
            wanted = [b.get("name") for b in operator.script.walk()
                      if not b.has("invisible") and b.kind in ("parm", "multiparm")]
            self.assertEqual(sorted(ids), sorted(wanted), name)

    def test_icons_are_our_own_drawings(self):
        names = {p.stem for p in (HDA / "icons").glob("*.svg")}
        self.assertTrue(set(operators()) <= names)
        for path in (HDA / "icons").glob("*.svg"):
            root = xml.parse(path).getroot()
            self.assertEqual(root.get("viewBox"), "0 0 32 32")

    def test_the_summary_for_python_is_that_of_the_tables(self):
        summary = json.loads((HDA / "python/firn_houdini/tables.json").read_text())
        names = {table["node"] for table in summary["assets"].values()}
        self.assertEqual(names | {w["name"] for w in summary["writers"]},
                         {node["name"] for node in TABLES["nodes"]})

    def test_sliders_end_at_round_numbers(self):
        self.assertEqual([model.round_up(v) for v in (0.2, 1, 3, 98.1, 4000)],
                         [0.2, 1, 5, 100, 5000])


if __name__ == "__main__":
    unittest.main()
