"""Identify the process that holds a job, and tell whether it lives."""

import os
import secrets
import socket
from pathlib import Path

_PROC = Path("/proc")
# Owners of this process: it may outlive a lost database connection and its claim.
_held: set[str] = set()


def new_owner() -> str:
    """Return a unique owner: host, process namespace, id, start, and a random word."""
    owner = f"{_this_process()}|{secrets.token_hex(4)}"
    _held.add(owner)
    return owner


def let_go(owner: str) -> None:
    """Give up `owner`, whether or not the database recorded it."""
    _held.discard(owner)


def owner_lives(owner: str) -> bool | None:
    """Return whether the owner's process lives; None if it ran where this process cannot look.

    A process counts its own released owners as dead.
    """
    if owner.rpartition("|")[0] == _this_process():
        return owner in _held
    place, pid, started, _ = owner.rsplit("|", 3)
    if place != _place():
        return None
    return _started(int(pid)) == (started or None) if _PROC.exists() else _exists(int(pid))


def _this_process() -> str:
    pid = os.getpid()
    return f"{_place()}|{pid}|{_started(pid) or ''}"


def _place() -> str:
    """Return host and process namespace: containers may share a host's name and number processes alike."""
    room = _PROC / "self/ns/pid"
    return f"{socket.gethostname()}/{room.stat().st_ino if room.exists() else 0}"


def _started(pid: int) -> str | None:
    """Return the process's start in kernel ticks since boot; None if it is gone."""
    try:
        after_name = (
            (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2]
        )
    except OSError:
        return None
    fields = after_name.split()
    return None if fields[0] in {"Z", "X"} else fields[19]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
