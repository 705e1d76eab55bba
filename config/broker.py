"""A file-system broker that is safe for several processes.

Kombu's own writes a message file under its final name, so that a reader may find it empty. Here messages and
exchange tables appear under their names complete.
"""

import fcntl
import os
import secrets
import time
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps, loads


class FolderChannel(filesystem.Channel):
    """Messages are files `<time>_<word>.<queue>.msg` in one folder; a reader takes one by renaming it."""

    @property
    def _messages(self) -> Path:
        folder = Path(self.data_folder_in)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # kombu's two classes above this one name the argument differently
    def _put(self, queue: str, payload: Any, **kwargs: object) -> None:  # type: ignore[override]
        name = f"{time.time_ns():020d}_{secrets.token_hex(4)}.{queue}.msg"
        _write_whole(self._messages / name, dumps(payload))

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        folder = self._messages
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f".{name}.{os.getpid()}"
            try:
                os.rename(folder / name, taken)
            except FileNotFoundError:
                continue  # another worker was first
            try:
                message: dict[str, Any] = loads(taken.read_text(encoding="utf-8"))
            finally:
                taken.unlink()
            return message
        raise Empty

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        table = self._exchange_file(exchange)
        table.parent.mkdir(parents=True, exist_ok=True)
        with open(table.with_suffix(".lock"), "w") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            bound = [list(entry) for entry in self.get_table(exchange)]
            entry = [routing_key or "", pattern or "", queue or ""]
            if entry not in bound:
                _write_whole(table, dumps([entry, *bound]))

    def _size(self, queue: str) -> int:
        return sum(name.partition(".")[2] == f"{queue}.msg" for name in os.listdir(self._messages))


class FolderTransport(filesystem.Transport):
    Channel = FolderChannel


def _write_whole(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
