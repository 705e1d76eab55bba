"""Kombu's transports, mended for processes and brokers that are killed.

Messages in files of DATA_DIR are for an installation without a broker. Kombu's own channel writes a message where a
worker looks for it, and keeps a table of queues that each process writes anew. A worker that reads half of either, or
what a killed process left, ends; it would at its next start too. Here a message appears and disappears at once, and
queues are known by name.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections import defaultdict
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem, redis
from kombu.utils.json import dumps, loads

log = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    def get_table(self, exchange: str) -> list[Any]:
        return []

    def _queue_bind(self, *_: object) -> None:
        pass

    # kombu's classes name the argument differently
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns():020}_{uuid.uuid4().hex}.{queue}.msg"
        draft = folder / f".{name}"
        draft.write_text(dumps(payload))
        draft.rename(folder / name)

    @cached_property
    def _listed(self) -> defaultdict[str, list[str]]:
        return defaultdict(list)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        names = self._listed[queue]
        if not names:
            waiting = (name for name in os.listdir(self.data_folder_in) if _is_for(queue, name))
            names += sorted(waiting, reverse=True)
        while names:
            path = Path(self.data_folder_in) / names.pop()
            with suppress(FileNotFoundError):  # another worker was quicker
                text = path.read_text(errors="replace")
                path.unlink()
                try:
                    return loads(text)
                except ValueError:
                    log.warning(
                        "The message %s cannot be read, as after a power failure; it is skipped.", path
                    )
        raise Empty


def _is_for(queue: str, name: str) -> bool:
    return name.partition(".")[2] == f"{queue}.msg"  # so a draft is nobody's


class FilesTransport(filesystem.Transport):
    Channel = Channel


class RedisTransport(redis.Transport):
    # What a worker meets that acknowledges a message while its connection is being replaced; it would end.
    connection_errors = (*redis.Transport.connection_errors, AttributeError)
