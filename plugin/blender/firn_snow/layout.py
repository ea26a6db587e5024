"""Places nodes in columns, sources at the left, files at the right."""

GAP_X, GAP_Y = 60, 40
MOST = 3  # nodes in a column
HEADER, LINE = 60, 24  # pixels of a node without rows, and of one row


def height_of(node):
    """An estimate; Blender knows the height only after drawing."""
    lines = len(node.inputs) + len(node.outputs)
    main = _main_rows(node)
    for row in main:
        lines += 2 if row["type"] == "vec3" else 1
    if hasattr(node, "scene_object"):
        lines += 1
    return HEADER + LINE * (lines + 1)


def _main_rows(node):
    from . import nodes
    names = nodes.MAIN.get(node.firn_type)
    rows = [row for row in node.rows if row["name"] in names.split()] if names \
        else node.rows[:nodes.FIRST_ROWS]
    return [row for row in rows if node.is_visible(row)]


def _depths(made):
    """Distance of each node from the beginning of its longest chain."""
    depth = {node.name: 0 for node in made}
    for _ in made:
        for node in made:
            for socket in node.inputs:
                for link in socket.links:
                    if link.from_node.name in depth:
                        depth[node.name] = max(depth[node.name],
                                               depth[link.from_node.name] + 1)
    return depth


def arrange(tree, made):
    """Columns by depth, each one centered, below what is in the tree already."""
    depth = _depths(made)
    # What feeds only one later column stands right before it.
    for node in sorted(made, key=lambda n: -depth[n.name]):
        users = [depth[link.to_node.name] for socket in node.outputs for link in socket.links
                 if link.to_node.name in depth]
        if users:
            depth[node.name] = min(users) - 1
    others = [node for node in tree.nodes if node not in made]
    top = min((node.location.y - height_of(node) for node in others
               if hasattr(node, "firn_type")), default=2 * GAP_Y) - 2 * GAP_Y
    by_depth = {}
    for node in made:
        by_depth.setdefault(depth[node.name], []).append(node)
    columns = [column for number in sorted(by_depth) for column in _split(by_depth[number])]
    tallest = max(_column_height(column) for column in columns)
    x = 0
    for column in columns:
        y = top - (tallest - _column_height(column)) / 2
        for node in column:
            node.location = (x, y)
            y -= height_of(node) + GAP_Y
        x += max(node.width for node in column) + GAP_X


def _column_height(column):
    return sum(height_of(node) + GAP_Y for node in column) - GAP_Y


def _split(column):
    """Columns of a few nodes side by side, so that all are seen at once."""
    count = -(-len(column) // MOST)
    size = -(-len(column) // count)
    return [column[i:i + size] for i in range(0, len(column), size)]
