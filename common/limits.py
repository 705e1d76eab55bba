"""The limits of what is read from outside; the settings import them, so that nothing here may need settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read at most; the setting INCOMING_BYTES sets another `bytes`, and so on.

    Attributes:
        bytes: of a file, and of all files of an archive, once unpacked.
        growth: how many times more bytes there are once unpacked; text packs to about a tenth.
        lines: of a file, blank ones too.
        line: characters of a line, of a table's record, and of an entry of a JSON document.
        files: of an archive.
        depth: lists and objects of JSON within each other; what reads them may take a step of the stack for each.
        pixels, picture_bytes: of a picture.
        seconds: that reading a file may take, with what is done meanwhile.
    """

    bytes: int = 10 * 2**30
    growth: int = 200
    lines: int = 20_000_000
    line: int = 2 * 2**20
    files: int = 200_000
    depth: int = 100
    pixels: int = 64_000_000
    picture_bytes: int = 50 * 2**20
    seconds: int = 6 * 3600


DEFAULTS = Limits()
