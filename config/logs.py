"""One line per log message, so that a line break cannot forge a second message."""

import logging


class OneLine(logging.Formatter):
    """Escapes line breaks of a message; a traceback follows on its own lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")
