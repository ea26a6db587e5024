"""How the nodes of a network find each other: every node of Firn that describes something marks its
points with its path, which survives merges, switches and object merges."""

import hou

from . import Problem
from . import tables

MARK = "firn_node"


def mark(node, geometry):
    """Gives all points the path of the node; a geometry without points gets one."""
    old = geometry.findPointAttrib(MARK)
    if old is not None:
        old.destroy()
    if geometry.intrinsicValue("pointcount") == 0:
        geometry.createPoint()
    geometry.addAttrib(hou.attribType.Point, MARK, node.path())


def input_index(table, port):
    """The Houdini input of a port; the first one is geometry where the node takes some."""
    return table["inputs"].index(port) + (1 if table["shape"] else 0)


def by_path(node, port):
    """Nodes that the parameters of the tab Inputs name."""
    name = port["name"] + "_node"
    if port["many"]:
        count = node.parm(port["name"] + "_nodes").evalAsInt()
        parms = [node.parm(f"{name}{i}") for i in range(1, count + 1)]
    else:
        parms = [node.parm(name)]
    found = []
    for parm in parms:
        text = parm.evalAsString()
        if not text:
            continue
        other = node.node(text)
        if other is None:
            raise Problem(f"{node.path()}: there is no node '{text}'")
        found.append(other)
    return found


def by_marks(geometry):
    """The nodes that have marked points, in the order of the points: that of the merge."""
    attribute = geometry.findPointAttrib(MARK)
    paths = attribute.strings() if attribute else ()
    if len(paths) > 1:
        paths = dict.fromkeys(geometry.pointStringAttribValues(MARK))
    return [hou.node(path) for path in paths if path and hou.node(path) is not None]


def fits(node, port):
    table = tables.table_of(node)
    return table is not None and table["output"] == port["kind"]


def described(node, port):
    """The nodes of Firn behind a port of a node, in a fixed order."""
    table = tables.table_of(node)
    index = input_index(table, port)
    geometry = node.inputGeometry(index)
    wired = by_marks(geometry) if geometry is not None else []
    named = [other for path in by_path(node, port)
             for other in (by_marks(path.geometry()) or [path])]
    result = []
    for other in wired + named:
        if not fits(other, port):
            raise Problem(f"{node.path()}: {other.path()} is no {port['kind']}")
        if other not in result:
            result.append(other)
    if geometry is not None and not wired:
        raise Problem(f"{node.path()}: input {index + 1} carries no {port['kind']} of Firn; put a "
                      f"Firn node for it before this one")
    if port["required"] and not result:
        raise Problem(f"{node.path()}: {port['name']} is not connected")
    return result if port["many"] else result[:1]


def feeding(node, port):
    """The node that particles or volumes come from, by wire or by path; None: there is none."""
    other = wired_node(node, input_index(tables.table_of(node), port))
    other = other or next(iter(by_path(node, port)), None)
    if other is None and port["required"]:
        raise Problem(f"{node.path()}: {port['name']} is not connected")
    return other


def wired_node(node, index):
    """The node at an input, or None."""
    inputs = node.inputs()
    return inputs[index] if index < len(inputs) else None
