"""The tables of Firn's nodes as the assets were made from them."""

import functools
import json
import os

NAMESPACE, CACHE = "firn", "snow_cache"


@functools.lru_cache(maxsize=None)
def all_tables():
    with open(os.path.join(os.path.dirname(__file__), "tables.json"), encoding="utf-8") as file:
        return json.load(file)


def asset_name(node):
    """snow_solver of a node of type firn::snow_solver::1.0; None for nodes of others."""
    if node is None:
        return None
    _, space, name, _ = node.type().nameComponents()
    return name if space == NAMESPACE else None


def table_of(node):
    """The table of a node; None for the cache and for nodes of others."""
    return all_tables()["assets"].get(asset_name(node))


def shot_rows():
    return all_tables()["shot"]


def writers():
    return all_tables()["writers"]


def asset_of_type(type_name):
    """The operator that stands for a node type of a scene; None for those that write files."""
    return next((asset for asset, table in all_tables()["assets"].items()
                 if table["node"] == type_name), None)


def operator(asset):
    return f"{NAMESPACE}::{asset}::1.0"


def makes_result(node):
    """True for nodes whose geometry is a file that Firn wrote."""
    table = table_of(node)
    return asset_name(node) == CACHE or \
        (table is not None and table["output"] in ("particles", "volume"))
