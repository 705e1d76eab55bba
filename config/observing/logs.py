"""Log lines, either as plain text or as a JSON object for each event (LOG_FORMAT)."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from typing import Any

from gunicorn.glogging import Logger
from pythonjsonlogger.json import JsonFormatter

from common.audit import log_context
from config.installation import exposure_warning, find_exposed_paths

LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
# Tickets of pages in a crowd's iframe, and keys of links, which Django would log with addresses of refused requests.
SECRET_PATHS = re.compile(r"/(f|look|shared/\d+)/[^/\s\"'<>]+")
CONTEXT_ATTRIBUTE = "_log_context"  # attribute of requests
ACCESS_FIELDS = ("method", "path", "status", "ms")  # fields of the access log


class PathPatternFilter(logging.Filter):
    """Log the URL pattern instead of the path, and no headers, since people and other sites can put texts into them."""

    def filter(self, record: logging.LogRecord) -> bool:
        request: Any = getattr(record, "request", None)
        if record.name == "django.security.csrf" and isinstance(record.args, tuple):
            # Some reasons end with a header of the request: "Origin checking failed - https://..."
            reason, *other_args = record.args
            record.args = (str(reason).partition(" - ")[0], *other_args)
        elif record.name.startswith("django.security."):
            record.msg = f"Refused: {record.name.rpartition('.')[2]}"
            record.args = ()
            record.exc_info = record.exc_text = None
        if hasattr(request, "resolver_match") and isinstance(record.args, tuple) and record.args:
            match = request.resolver_match  # the last argument is the path
            record.args = (*record.args[:-1], f"/{match.route}" if match is not None else "unknown")
        return True


class OneLineFormatter(logging.Formatter):
    """Escape control characters, since a line break could forge a second message. Keep line breaks of tracebacks."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        return _escape_unprintable(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets("\n".join(map(_escape_unprintable, super().format(record).split("\n"))))


def _escape_unprintable(text: str) -> str:
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


class JSONFormatter(JsonFormatter):
    """Write time, level, logger, message, traceback, and the log fields of the request or job and of the access log.

    Write no other attributes, since Django adds the request to records, and its query may contain codes.
    """

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_data |= {"level": record.levelname, "logger": record.name, "message": record.getMessage()}
        # Django logs a refused request only after its context has ended
        log_data |= log_context() or getattr(vars(record).get("request"), CONTEXT_ATTRIBUTE, {})
        log_data |= {name: vars(record)[name] for name in ACCESS_FIELDS if name in vars(record)}
        if "exc_info" in message_dict:
            log_data["traceback"] = message_dict["exc_info"]

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def without_secrets(text: str) -> str:
    """Return the text with … in place of tickets and keys in addresses."""
    return SECRET_PATHS.sub(r"/\1/…", text)


def log_exposed_files() -> None:
    """Log a warning about data that others may read. A server runs no system checks when it starts."""
    from django.conf import settings  # imported late, since config.settings uses this module

    if exposed_paths := find_exposed_paths(settings.DATA_DIR, settings.SQLITE_FILE):
        logging.getLogger(__name__).warning("%s", exposure_warning(exposed_paths))


class JSONServerLogger(Logger):
    """A logger of gunicorn that writes JSON; config.gunicorn uses it if LOG_FORMAT is json."""

    def _set_handler(self, log: Any, output: Any, fmt: logging.Formatter, stream: Any = None) -> None:
        super()._set_handler(log, output, JSONFormatter(), stream)
