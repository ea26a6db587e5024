"""A STAND-IN for Houdini's module `hou`, for tests where no Houdini can run.

Written from the public documentation of the Houdini Object Model. It has the calls that
firn_houdini makes and no others, so that a call the documentation does not know fails here too. It
proves that the Python runs and does what we mean; it does not prove what Houdini does.

Node types, parameters and scripts come from the asset files themselves, read by the strict parser.
"""

import math
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import expanded  # noqa: E402
from standin_geometry import Geometry, Prim  # noqa: E402,F401


class Error(Exception):
    pass


class OperationFailed(Error):
    pass


class NodeError(Error):
    pass


class NodeWarning(Error):
    pass


class OperationInterrupted(Error):
    pass


attribType = SimpleNamespace(Point="Point")
primType = SimpleNamespace(VDB="VDB")
severityType = SimpleNamespace(Error="Error")
exprLanguage = SimpleNamespace(Hscript="Hscript")


class Color:
    def __init__(self, rgb):
        self.rgb = rgb


class Keyframe:
    def setFrame(self, frame):
        self.frame = frame

    def setValue(self, value):
        self.value = value

    def setExpression(self, expression, language):
        self.expression = expression


# --- The session ---------------------------------------------------------------------------------

class Session:
    """What a test arranges and looks at."""

    def __init__(self):
        self.frame, self.edits, self.nodes = 1.0, 0, {}
        self.variables = {"FPS": "24", "FSTART": "1", "FEND": "10", "HIP": "/nowhere"}
        self.messages = []      # of buttons
        self.interrupt = None   # called with (title, fraction); True is Esc
        self.progress = []      # (title, fraction)
        self.cooking = []       # stack of nodes


session = Session()
ui = SimpleNamespace(displayMessage=lambda text, **more: session.messages.append(text))


def isUIAvailable():
    return True


def frame():
    return session.frame


def pwd():
    return session.cooking[-1]


def node(path):
    return session.nodes.get(path)


class InterruptableOperation:
    def __init__(self, name, long_operation_name=None, open_interrupt_dialog=False):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def updateProgress(self, fraction):
        assert 0.0 <= fraction <= 1.0
        session.progress.append((self.name, fraction))
        if session.interrupt and session.interrupt(self.name, fraction):
            raise OperationInterrupted()


def expand(string, at, owner=None):
    """Variables of a string at a frame."""
    values = dict(session.variables, F=str(int(round(at))), FF=repr(float(at)),
                  T=repr((at - 1) / float(session.variables["FPS"])),
                  OS=owner.name() if owner else "")

    def one(match):
        name = match.group(1) or match.group(2)
        padded = re.fullmatch(r"F(\d)", name)
        if padded:
            return f"{int(round(at)):0{padded.group(1)}d}"
        return values[name] if name in values else os.environ.get(name, "")
    return re.sub(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))", one, string)


text = SimpleNamespace(expandString=lambda string: expand(string, session.frame))


# --- Parameters ----------------------------------------------------------------------------------

class Parm:
    """One component. Its value is a number, a string with variables, or keyframes."""

    def __init__(self, owner, name, block, default):
        self.owner, self._name, self.block = owner, name, block
        self.value, self.keys = default, []
        self.type = block.get("type")
        self.tokens = [token for token, _ in (block.get("menu") or ("", [], [], None))[1]]

    def name(self):
        return self._name

    def set(self, value):
        if session.cooking:
            raise Error("a node must not set parameters while it cooks")
        if isinstance(value, str) and self.type not in ("string", "file", "directory", "oppath"):
            raise TypeError(f"{self._name} takes a number, not {value!r}")
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"{self._name} takes one value, not {value!r}")
        self.value, self.keys = value, []
        self.owner.update_instances()
        session.edits += 1

    def setExpression(self, expression):
        self.value, self.keys = expression, []
        session.edits += 1

    def setKeyframe(self, key):
        self.keys = sorted([k for k in self.keys if k.frame != key.frame] + [key],
                           key=lambda k: k.frame)
        session.edits += 1

    def isTimeDependent(self):
        if self.keys:
            return len(self.keys) > 1
        return isinstance(self.value, str) and re.search(
            r"\$\{?(F|FF|T)\d?\}?(?![A-Za-z])", self.value) is not None

    def unexpandedString(self):
        if self.keys:
            raise OperationFailed("there are keyframes")
        return str(self.value)

    def _number(self, at):
        if self.keys:
            return self._interpolate(at)
        if isinstance(self.value, str):
            code = expand(self.value, at, self.owner)
            return eval(code, {"__builtins__": {}}, {"sin": lambda d: math.sin(math.radians(d))})
        return self.value

    def _interpolate(self, at):
        before = [k for k in self.keys if k.frame <= at]
        after = [k for k in self.keys if k.frame > at]
        if not before or not after:
            return (before or after)[-1 if before else 0].value
        a, b = before[-1], after[0]
        if a.expression == "constant()":
            return a.value
        share = (at - a.frame) / (b.frame - a.frame)
        return a.value + share * (b.value - a.value)

    def evalAsFloatAtFrame(self, at):
        return float(self._number(at))

    def evalAsIntAtFrame(self, at):
        if self.tokens and isinstance(self.value, str) and self.value in self.tokens:
            return self.tokens.index(self.value)
        return int(self._number(at))

    def evalAsStringAtFrame(self, at):
        if self.tokens:
            return self.tokens[self.evalAsIntAtFrame(at)]
        return expand(str(self.value), at, self.owner)

    def evalAsFloat(self):
        return self.evalAsFloatAtFrame(session.frame)

    def evalAsInt(self):
        return self.evalAsIntAtFrame(session.frame)

    def evalAsString(self):
        return self.evalAsStringAtFrame(session.frame)

    def pressButton(self):
        assert self.type == "button"
        code = self.block.tags()["script_callback"]
        phm = SimpleNamespace(phm=lambda: self.owner.hdaModule())
        exec(code, {"hou": phm, "kwargs": {"node": self.owner, "parm": self}})


class ParmTuple(list):
    def set(self, values):
        assert len(values) == len(self)
        for part, value in zip(self, values):
            part.set(value)


# --- Nodes ---------------------------------------------------------------------------------------

class NodeType:
    def __init__(self, name, operator=None):
        self._name, self.operator = name, operator

    def name(self):
        return self._name

    def nameComponents(self):
        parts = self._name.split("::")
        return ("", parts[0], parts[1], parts[2]) if len(parts) == 3 else ("", "", parts[0], "")


def asset_types(folder):
    result = {}
    for path in sorted(Path(folder).glob("*.hda")):
        for operator in expanded.read_library(path):
            result[operator.record["Operator"]] = NodeType(operator.record["Operator"], operator)
    return result


types = {}


def load_assets(folder):
    """What Houdini does at its start with the folder otls."""
    types.update(asset_types(folder))


class Matrix:
    """What an object's transform answers: angles as a matrix gives them, the second within a
    quarter turn, the others within half a turn."""

    def __init__(self, translate, rotate, scale):
        self._parts = translate, rotate, scale

    def extractTranslates(self):
        return self._parts[0]

    def extractRotates(self):
        x, y, z = (half_turn(angle) for angle in self._parts[1])
        if abs(y) > 90.0:
            x, y, z = half_turn(x + 180.0), half_turn(180.0 - y), half_turn(z + 180.0)
        return x, y, z

    def extractScales(self):
        return self._parts[2]


def half_turn(angle):
    return (angle + 180.0) % 360.0 - 180.0


class Node:
    """A SOP or an object. maker(frame) gives the geometry of nodes that are not ours."""

    def __init__(self, parent, type_, name, maker=None):
        self._parent, self._type, self._name, self.maker = parent, type_, name, maker
        self._inputs, self._children, self._parms, self._tuples = [], [], {}, {}
        self._cooked, self._geometry, self._errors, self._warnings = None, None, [], []
        self.transform, self.cook_count = None, 0
        self._lists = []
        if type_.operator is not None:
            self._make_parms(type_.operator.script.children)
        session.nodes[self.path()] = self
        session.edits += 1

    def path(self):
        return (self._parent.path() if self._parent else "") + "/" + self._name

    def name(self):
        return self._name

    def type(self):
        return self._type

    def parent(self):
        return self._parent

    def children(self):
        return tuple(self._children)

    def node(self, path):
        if path.startswith("/"):
            return session.nodes.get(path)
        at = self
        for part in path.split("/"):
            at = at._parent if part == ".." else session.nodes.get(f"{at.path()}/{part}")
            if at is None:
                return None
        return at

    def createNode(self, type_name, name=None):
        found = types.get(type_name) or NodeType(type_name)
        wanted = name or (type_name.split("::")[1] if "::" in type_name else type_name) + "1"
        stem, number = wanted.rstrip("0123456789"), 1
        while f"{self.path()}/{wanted}" in session.nodes:
            number += 1
            wanted = f"{stem}{number}"
        made = Node(self, found, wanted)
        self._children.append(made)
        if found.operator is not None and "OnCreated" in found.operator.sections:
            exec(found.operator.sections["OnCreated"], {"kwargs": {"node": made}})
        return made

    def destroy(self):
        self._parent._children.remove(self)
        del session.nodes[self.path()]

    def layoutChildren(self):
        pass

    def setColor(self, color):
        self.color = color

    def setDisplayFlag(self, on):
        pass

    # Parameters

    def _make_parms(self, blocks):
        for block in blocks:
            if block.kind == "multiparm":
                self._add(block.get("name"), block, [block.get("default")])
                self._lists.append(block)
            elif block.kind != "parm":
                self._make_parms(block.children)
            else:
                self._add(block.get("name"), block, block.get("default"))

    def _add(self, name, block, defaults):
        numeric = block.get("type") not in ("string", "file", "directory", "oppath")
        values = [number_or_text(d) if numeric else d for d in defaults]
        names = [name + c for c in "xyz"] if block.get("size", 1) == 3 else [name]
        parts = [Parm(self, n, block, v) for n, v in zip(names, values)]
        self._parms.update({part.name(): part for part in parts})
        self._tuples[name] = ParmTuple(parts)

    def update_instances(self):
        """Makes the parameters of lists whose count has changed."""
        for block in self._lists:
            for number in range(1, int(self._parms[block.get("name")].value) + 1):
                for child in block.children:
                    name = child.get("name").replace("#", str(number))
                    if name not in self._parms:
                        self._add(name, child, child.get("default"))

    def parm(self, name):
        return self._parms.get(name)

    def parmTuple(self, name):
        return self._tuples.get(name)

    def hdaModule(self):
        scope = {}
        exec(self._type.operator.sections["PythonModule"], scope)
        return SimpleNamespace(**scope)

    # Wires and cooking

    def setInput(self, index, other):
        self._inputs += [None] * (index + 1 - len(self._inputs))
        self._inputs[index] = other
        session.edits += 1

    def inputs(self):
        return tuple(self._inputs)

    def inputGeometry(self, index):
        other = self._inputs[index] if index < len(self._inputs) else None
        return other.geometry() if other is not None else None

    def inputGeometryAtFrame(self, at, index):
        other = self._inputs[index] if index < len(self._inputs) else None
        return other.geometryAtFrame(at) if other is not None else None

    def geometryAtFrame(self, at):
        before, session.frame = session.frame, float(at)
        try:
            return self.geometry()
        finally:
            session.frame = before

    def geometry(self):
        if self in session.cooking:
            return self._geometry
        self.cook()
        if self._errors:
            raise OperationFailed(f"{self.path()}: {self._errors[0]}")
        return self._geometry

    def cook(self, force=False):
        state = (session.frame, session.edits)
        if self._cooked == state and not force:
            return
        self.cook_count += 1
        self._errors, self._warnings = [], []
        first = self.inputGeometry(0)
        self._geometry = first.copy() if first is not None else Geometry()
        if self._type.name() == "merge":
            self._geometry = Geometry()
            for other in self._inputs:
                self._geometry.merge(other.geometry())
        elif self.maker is not None:
            self._geometry = self.maker(session.frame)
        elif self._type.operator is not None:
            self._run()
        self._geometry.read_only = True
        self._cooked = state

    def _run(self):
        session.cooking.append(self)
        try:
            exec(compile(self._type.operator.sections["PythonCook"], self.path(), "exec"), {})
        except NodeError as problem:
            self._errors.append(str(problem))
        except NodeWarning as problem:
            self._warnings.append(str(problem))
        finally:
            session.cooking.pop()

    def errors(self):
        return tuple(self._errors)

    def warnings(self):
        return tuple(self._warnings)

    def worldTransformAtTime(self, time):
        return self.transform(time)


def number_or_text(value):
    try:
        return float(value) if "." in str(value) or "e" in str(value) else int(value)
    except ValueError:
        return value


def new_session():
    """Forgets everything; returns the session and an empty geometry object."""
    session.__init__()
    root = Node(None, NodeType("obj"), "obj")
    return session, root.createNode("geo", "geo1")


def foreign(parent, name, maker):
    """A node that is not ours; maker(frame) gives its geometry."""
    made = Node(parent, NodeType("foreign"), name, maker)
    parent._children.append(made)
    return made
