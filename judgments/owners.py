"""Who holds a job: a process, named so that another can tell whether it still lives."""

import os
import secrets
import socket
from pathlib import Path

_PROC = Path("/proc")
# Names this process works under: it may live on after it lost the database, and a hold.
_held: set[str] = set()


def new_owner() -> str:
    """A name for this process's hold, unlike any other: host, process room, id, start, and a random word."""
    owner = f"{_this_process()}|{secrets.token_hex(4)}"
    _held.add(owner)
    return owner


def let_go(owner: str) -> None:
    """This process no longer works under `owner`, whether or not it could write that down."""
    _held.discard(owner)


def owner_lives(owner: str) -> bool | None:
    """Whether the process that took `owner` lives; None when it ran where this process cannot look.

    Of its own names a process knows more: those it let go are dead.
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
    """Host and process room: containers may share a host's name and count their processes alike."""
    room = _PROC / "self/ns/pid"
    return f"{socket.gethostname()}/{room.stat().st_ino if room.exists() else 0}"


def _started(pid: int) -> str | None:
    """When the process began, in the kernel's ticks since boot; None when there is none, or it is dead."""
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
