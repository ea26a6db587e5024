"""A strict reader of Houdini's expanded digital assets (directories that end with .hda).

read_library(path) gives the operators of a library or raises AssetError with the file. It knows
what public assets show and nothing of hda/, whose files it judges.
"""

import datetime
import json
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

import dialog_script


class AssetError(Exception):
    """What is wrong, and in which file."""


INDEX_KEYS = ["Operator", "Label", "Path", "Icon", "Table", "License", "Extra", "User", "Inputs",
              "Subnet", "Python", "Empty", "Modified"]
OPTION_KEYS = ["CheckExternal", "ContentsCompressionType", "ForbidOutsideParms", "GzipContents",
               "LockContents", "MakeDefault", "ParmsFromVfl", "PrefixDroppedParmLabel",
               "PrefixDroppedParmName", "SaveCachedCode", "SaveIcon", "SaveSpareParms",
               "UnlockOnCreate", "UseDSParms"]
SCRIPTS = ["PythonCook", "PythonModule", "OnCreated", "OnLoaded", "OnUpdated"]
CODES = {"_": "__", "/": "_1", ":": "_8"}


def encode(section):
    """The name of a section as that of its file."""
    return "".join(CODES.get(letter, letter) for letter in section)


def decode(name):
    """The way back; an unknown code is an error."""
    plain = {code[1]: letter for letter, code in CODES.items()}

    def one(match):
        if match.group(1) not in plain:
            raise AssetError(f"{name}: unknown code _{match.group(1)}")
        return plain[match.group(1)]
    return re.sub(r"_(.|$)", one, name)


@dataclass
class Operator:
    record: dict
    sections: dict
    script: dialog_script.Script
    folder: Path


def read(path):
    """The text as it is: line ends are part of the format."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return file.read()
    except OSError as problem:
        raise AssetError(f"{path}: {problem.strerror}") from problem


def read_section_list(path):
    """File names and section names, in order."""
    lines = read(path).split("\n")
    if lines[0] != '""' or lines[-1] != "":
        raise AssetError(f"{path}: begins with \"\" and ends with a line end")
    pairs = []
    for line in lines[1:-1]:
        if line.count("\t") != 1:
            raise AssetError(f"{path}: '{line}' is not FILE<TAB>SECTION")
        name, section = line.split("\t")
        if encode(section) != name or decode(name) != section:
            raise AssetError(f"{path}: {section} is stored as {encode(section)}, not {name}")
        pairs.append((name, section))
    if len(set(pairs)) != len(pairs):
        raise AssetError(f"{path}: a section stands twice")
    return pairs


def read_index(path):
    text = read(path)
    if not text.endswith("\n\n"):
        raise AssetError(f"{path}: a record ends with an empty line")
    return [read_record(path, record) for record in text[:-2].split("\n\n")]


def read_record(path, text):
    record = {}
    for line in text.split("\n"):
        match = re.fullmatch(r"(\w+):( +)(.*)", line)
        if match is None or match.start(3) != 14:
            raise AssetError(f"{path}: '{line}' has no value in column 15")
        record[match.group(1)] = match.group(3)
    keys = [key for key in record if key != "Outputs"]
    if keys != INDEX_KEYS:
        raise AssetError(f"{path}: the keys are {keys}")
    if not re.fullmatch(r"\d+ to \d+", record["Inputs"]):
        raise AssetError(f"{path}: Inputs is '{record['Inputs']}'")
    for key in ("Subnet", "Python", "Empty"):
        if record[key] not in ("true", "false"):
            raise AssetError(f"{path}: {key} is '{record[key]}'")
    check_date(path, record["Modified"])
    try:
        section = section_of(record["Operator"], record["Table"])
    except AssetError as problem:
        raise AssetError(f"{path}: {problem}") from problem
    if record["Path"] != f"oplib:/{section}?{section}":
        raise AssetError(f"{path}: Path does not name {section}")
    return record


def section_of(operator, table):
    """firn::name::1.0 of the table Sop is stored as firn::Sop/name::1.0."""
    match = re.fullmatch(r"(?:(\w+)::)?(\w+)(?:::([\d.]+))?", operator)
    if match is None:
        raise AssetError(f"'{operator}' is no name of an operator")
    space, name, version = match.groups()
    return f"{space + '::' if space else ''}{table}/{name}{'::' + version if version else ''}"


def check_date(path, text):
    try:
        date = datetime.datetime.strptime(text, "%a %b %d %H:%M:%S %Y")
    except ValueError as problem:
        raise AssetError(f"{path}: Modified is '{text}'") from problem
    if date.strftime("%a") != text[:3]:
        raise AssetError(f"{path}: '{text}' was a {date.strftime('%A')}")


def check_options(path, text):
    rows = re.findall(r"^(\w+) := (\d+);\n", text, flags=re.MULTILINE)
    if "".join(f"{key} := {value};\n" for key, value in rows) != text:
        raise AssetError(f"{path}: lines are KEY := NUMBER;")
    if [key for key, _ in rows] != OPTION_KEYS:
        raise AssetError(f"{path}: the keys are {[key for key, _ in rows]}")


def check_extra_options(path, text, sections):
    try:
        options = json.loads(text)
    except ValueError as problem:
        raise AssetError(f"{path}: {problem}") from problem
    kinds = {"bool": bool, "string": str, "intarray": list}
    for key, option in options.items():
        section = key.partition("/")[0]
        if section not in sections and not section.startswith("Viewer"):
            raise AssetError(f"{path}: {key} belongs to no section")
        if set(option) != {"type", "value"} or option["type"] not in kinds or \
                not isinstance(option["value"], kinds[option["type"]]):
            raise AssetError(f"{path}: {key} is {option}")
    for name in set(SCRIPTS[1:]) & set(sections):
        if not options.get(f"{name}/IsPython", {}).get("value"):
            raise AssetError(f"{path}: does not say that {name} is Python")


def parse_xml(path, text):
    try:
        return xml.fromstring(text)
    except xml.ParseError as problem:
        raise AssetError(f"{path}: {problem}") from problem


def check_tool(path, text):
    root = parse_xml(path, text)
    tools = root.findall("tool")
    if root.tag != "shelfDocument" or len(tools) != 1:
        raise AssetError(f"{path}: is no shelf document with one tool")
    if tools[0].get("name") != "$HDA_DEFAULT_TOOL":
        raise AssetError(f"{path}: the tool is {tools[0].get('name')}")
    script = tools[0].find("script")
    if script is None or script.get("scriptType") != "python":
        raise AssetError(f"{path}: the tool has no Python")
    compile_script(path, script.text)


def compile_script(path, text):
    try:
        return compile(text, str(path), "exec")
    except SyntaxError as problem:
        raise AssetError(f"{path}: {problem}") from problem


def check_sections(folder, record, sections):
    path = folder / "DialogScript"
    try:
        script = dialog_script.parse(sections["DialogScript"])
    except dialog_script.ScriptError as problem:
        raise AssetError(f"{path}: {problem}") from problem
    if script.name != record["Operator"]:
        raise AssetError(f"{path}: is the script of {script.name}")
    if script.label != record["Label"]:
        raise AssetError(f"{path}: the label is '{script.label}', in the index "
                         f"'{record['Label']}'")
    most = int(record["Inputs"].split()[2])
    if len(script.labels("inputlabel")) != most:
        raise AssetError(f"{path}: {most} inputs have other labels")
    if f"# Node $arg1 ({section_of(record['Operator'], record['Table'])})\n" not in \
            sections["CreateScript"]:
        raise AssetError(f"{folder / 'CreateScript'}: does not name the operator")
    check_options(folder / "TypePropertiesOptions", sections["TypePropertiesOptions"])
    check_extra_options(folder / "ExtraFileOptions", sections["ExtraFileOptions"], sections)
    check_tool(folder / "Tools.shelf", sections["Tools.shelf"])
    for name in set(SCRIPTS) & set(sections):
        compile_script(folder / name, sections[name])
    if "IconSVG" in sections:
        root = parse_xml(folder / "IconSVG", sections["IconSVG"])
        if root.tag != "{http://www.w3.org/2000/svg}svg":
            raise AssetError(f"{folder / 'IconSVG'}: is no SVG")
    return script


def check_python_operator(folder, record, sections):
    """An operator written in Python has its code and no network."""
    wanted = {"DialogScript", "PythonCook", "TypePropertiesOptions", "FunctionName",
              "CreateScript", "ExtraFileOptions", "Tools.shelf", "Help"}
    if record["Python"] != "true" or record["Subnet"] != "false":
        raise AssetError(f"{folder}: is no operator in Python")
    if not wanted <= set(sections):
        raise AssetError(f"{folder}: lacks {sorted(wanted - set(sections))}")
    if any(name.startswith("Contents") for name in sections):
        raise AssetError(f"{folder}: has a network")
    if sections["FunctionName"] not in record["Operator"].split("::"):
        raise AssetError(f"{folder}: FunctionName is '{sections['FunctionName']}'")


def read_operator(folder, record):
    listed = read_section_list(folder / "Sections.list")
    on_disk = {path.name for path in folder.iterdir()} - {"Sections.list"}
    if on_disk != {name for name, _ in listed}:
        raise AssetError(f"{folder}: Sections.list does not name what is there: "
                         f"{sorted(on_disk ^ {name for name, _ in listed})}")
    sections = {section: read(folder / name) for name, section in listed}
    check_python_operator(folder, record, sections)
    icon = f"opdef:/{section_of(record['Operator'], record['Table'])}?IconSVG"
    if record["Icon"] == icon and "IconSVG" not in sections:
        raise AssetError(f"{folder}: the index names an icon that is not there")
    return Operator(record, sections, check_sections(folder, record, sections), folder)


def read_library(path):
    path = Path(path)
    if read(path / "houdini.hdalibrary") != "":
        raise AssetError(f"{path / 'houdini.hdalibrary'}: is not empty")
    records = read_index(path / "INDEX__SECTION")
    names = [section_of(r["Operator"], r["Table"]) for r in records]
    listed = read_section_list(path / "Sections.list")
    if [s for _, s in listed] != ["INDEX_SECTION", "houdini.hdalibrary", *names]:
        raise AssetError(f"{path / 'Sections.list'}: does not list the operators of the index")
    on_disk = {p.name for p in path.iterdir()} - {"Sections.list"}
    if on_disk != {name for name, _ in listed}:
        raise AssetError(f"{path}: Sections.list does not name what is there")
    return [read_operator(path / encode(name), record) for name, record in zip(names, records)]
