"""The Python behind Firn's digital assets: reads networks, runs the solver, loads its files."""


class Problem(Exception):
    """Something the artist has to change; shown as the error of the node."""
