"""Where METEOR's tables are, and where what was read of them is kept: the environment's word, or the usual place.

`QUORUM_METEOR_DATA`   a folder, a jar or pycocoevalcap's wheel; `none` for no tables at all
`QUORUM_METEOR_CACHE`  a folder for the read tables; else `quorum` in the user's cache folder
"""

import os
from pathlib import Path

DATA = "QUORUM_METEOR_DATA"
CACHE = "QUORUM_METEOR_CACHE"


def data_place() -> str:
    """What the user points to; empty where that is nothing."""
    return os.environ.get(DATA, "")


def cache_folder() -> Path:
    """Where the read tables are kept."""
    given = os.environ.get(CACHE)
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "quorum"
