"""The wedge index of the PDG work item that is being cooked."""

import os


def of_work_item():
    """-1 outside of a work item or without a wedge."""
    try:
        import pdg
        return int(pdg.attrib("wedgeindex", 0, -1))
    except ImportError:
        return int(os.environ.get("WEDGEINDEX", -1))
