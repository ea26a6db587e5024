"""A bake as a process of its own: the `firn` program, followed through its JSON log.

A host stays alive whatever happens in there, its interface never waits, and what is cooked is the
very file that a farm would cook.
"""

import json
import os
import signal
import subprocess
import threading

from .capi import program_path


_OF_EVENTS = {"event", "frame", "skipped", "fraction"}  # what is no number of a frame


class BakeProcess:
    """Starts `firn cook` and keeps track of it. Attributes may be read at any time.

        bake = BakeProcess("shot.firn", resume=True)
        while bake.running:
            show(bake.frame, bake.fraction, bake.seconds_left)
    """

    def __init__(self, scene, first=None, last=None, resume=False, threads=0,
                 overwrite=False):
        self.frame = None         # in progress
        self.fraction = 0.0       # of all frames, 0 to 1
        self.seconds_left = None  # None: too early to tell
        self.frames_done = []
        self.first = self.last = None
        self.folder = ""
        self.stats = {}
        self.messages = []        # (level, node, message)
        self.exit_code = None
        self.failed_node = ""
        self.failure = ""         # the sentence, "" while all is well
        self.cancelled = False
        command = [program_path(), "cook", os.fspath(scene), "--log-json"]
        if first is not None and last is not None:
            command += ["--frames", f"{first}-{last}"]
        if resume:
            command.append("--resume")
        if overwrite:
            command.append("--overwrite")
        if threads > 0:
            command += ["--threads", str(threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         start_new_session=True)
        self._errors = []
        self._readers = [threading.Thread(target=self._read_events, daemon=True),
                         threading.Thread(target=self._read_errors, daemon=True)]
        for reader in reversed(self._readers):  # the first one waits for the other at the end
            reader.start()

    @property
    def running(self):
        return self.exit_code is None

    def cancel(self):
        """Asks for a checkpoint and the end; resume continues from there."""
        if self._process.poll() is None and not self.cancelled:
            self._process.send_signal(signal.SIGINT)  # a second one would end it at once
        self.cancelled = True

    def kill(self):
        """Ends it at once; resume continues from the last checkpoint."""
        if self._process.poll() is None:
            self._process.kill()

    def wait(self, timeout=None):
        """Waits for the end; the exit code, or None when it still runs."""
        self._readers[0].join(timeout)
        return self.exit_code

    def _read_errors(self):
        with self._process.stderr as lines:
            for line in lines:
                self._errors.append(line.decode("utf-8", "replace").rstrip())

    def _read_events(self):
        with self._process.stdout as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                self._take(event)
        code = self._process.wait()
        self._readers[1].join()
        if code != 0 and not self.failure:
            self.failure = self._explain(code)
        self.exit_code = code

    def _explain(self, code):
        errors = [line for line in self._errors if line.startswith(("error: ", "firn: "))]
        if errors:
            return errors[0].split(": ", 1)[1]
        if code < 0:
            return f"the simulation was ended by {signal.Signals(-code).name}"
        return self._errors[-1] if self._errors else f"the simulation ended with code {code}"

    def _take(self, event):
        kind = event.get("event")
        if kind == "start":
            self.first, self.last = int(event["first"]), int(event["last"])
            self.folder = event["folder"]
        elif kind == "progress":
            self.frame, self.fraction = int(event["frame"]), event["fraction"]
            self.seconds_left = event["seconds_left"]
            self.stats = event.get("stats") or self.stats  # some nodes have none
        elif kind == "frame":
            self.frames_done.append(int(event["frame"]))
            self.frame, self.fraction = int(event["frame"]), event["fraction"]
            self.stats = {name: event[name] for name in event.keys() - _OF_EVENTS}
        elif kind == "log":
            self.messages.append((event["level"], event["node"], event["message"]))
        elif kind == "failed":
            self.failed_node, self.failure = event.get("node", ""), event["message"]
