"""Log lines that stay lines: a message with a line break in it cannot pass for two."""

import logging


class OneLine(logging.Formatter):
    """Writes line breaks of a message as `\\n`; a traceback follows on lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """The message on one line."""
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")
