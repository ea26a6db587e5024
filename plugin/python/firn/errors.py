"""The one exception of the package."""

# firn_result of base.h; the numbers never change their meaning.
NAMES = ["ok", "argument", "stale", "memory", "not_found", "io", "disk_full", "format",
         "unsupported", "diverged", "cancelled", "timeout", "locked", "exists"]
CODES = {name: code for code, name in enumerate(NAMES)}


class FirnError(Exception):
    """What went wrong: a sentence, the code (such as "not_found"), and where."""

    def __init__(self, message, code="argument", node="", param=""):
        super().__init__(message)
        self.message = message
        self.code = code
        self.node = node
        self.param = param

    @classmethod
    def from_result(cls, result, message, node="", param=""):
        code = NAMES[result] if 0 <= result < len(NAMES) else "unknown"
        return cls(message, code, node, param)
