"""Runs of `firn cook` beside Houdini: a crash or lack of memory there leaves the session alone."""

import atexit

import firn

STALE = 8  # exit code of firn
PATIENCE = 20.0  # seconds for a checkpoint

running = {}  # by the folder of the cache: BakeProcess and the hash of its scene


def current(folder, scene_hash):
    """The run that makes this very scene, or None."""
    run, made = running.get(folder, (None, None))
    return run if run is not None and run.running and made == scene_hash else None


def start(store, resume=False, first=None, last=None):
    """Cooks a scene that has been written; a run of the same folder is ended first."""
    stop(store.folder)
    run = firn.BakeProcess(store.scene, first=first, last=last, resume=resume,
                           overwrite=not resume)
    running[store.folder] = run, store.hash()
    return run


def stop(folder):
    """Asks for a checkpoint and the end; insists after a while."""
    run, _ = running.pop(folder, (None, None))
    if run is not None and run.running:
        run.cancel()
        if run.wait(PATIENCE) is None:
            run.kill()
            run.wait()


@atexit.register
def stop_all():
    for folder in list(running):
        stop(folder)
