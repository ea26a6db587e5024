#!/usr/bin/env python3
"""Fails unless every key and hash of the given Alembic archives is right and no byte is unused."""
import contextlib
import io
import sys

import ogawa


def main():
    failures = 0
    for path in sys.argv[1:]:
        report = io.StringIO()
        with contextlib.redirect_stdout(report):
            ogawa.check(path)
        text = report.getvalue()
        print(text, end="")
        if ("wrong 0, object hashes wrong: []" not in text or "not referenced: 0" not in text
                or "note:" in text):
            failures += 1
    return 1 if failures or len(sys.argv) < 2 else 0


sys.exit(main())
