"""The wedge index of the PDG work item that is being cooked, in Houdini or in a job of its own."""

import os


def of_work_item():
    """-1 outside of a work item or without a wedge."""
    try:
        import pdg
        return int(pdg.attrib("wedgeindex", 0, -1))
    except ImportError:
        return of_environment()


def of_environment():
    """Attributes that a work item exports are variables of its job."""
    return int(os.environ.get("wedgeindex") or os.environ.get("WEDGEINDEX") or -1)
