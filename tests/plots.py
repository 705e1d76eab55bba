"""Plots in tests: fonts of PDFs cut once in a process, and plots that are not drawn where nobody looks at them."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from io import BytesIO
from typing import Any
from unittest.mock import patch

from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from matplotlib.backends import _backend_pdf_ps
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font

_cut = _backend_pdf_ps.get_glyphs_subset
_SHARED = range(32, 127)


@cache
def _cut_once(path: Any, glyphs: frozenset[Any]) -> tuple[bytes, dict[Any, Any]]:
    with _cut(path, set(glyphs)) as found:
        return _backend_pdf_ps.font_as_file(found.font).getvalue(), found.glyph_index_map


def cut_font(path: Any, glyphs: Iterable[Any]) -> AbstractContextManager[Any]:
    """Return a font with these glyphs and all of ASCII, so that most plots take the same."""
    font = get_font(path)
    shared = {font.get_char_index(code) for code in _SHARED}
    data, places = _cut_once(path, frozenset(glyphs) | shared)
    return _backend_pdf_ps.SubsetResults(TTFont(BytesIO(data), recalcTimestamp=False), places)._as_cm()


def cut_fonts_again() -> None:
    """Cut the next fonts anew, where a test compares the bytes of two PDFs."""
    _cut_once.cache_clear()


@contextmanager
def undrawn(*formats: str) -> Iterator[None]:
    """Leave out matplotlib's drawing in all formats or in these; it takes most of the time of a report."""
    save = Figure.savefig

    def saved(figure: Figure, file: Any, *, format: str, **settings: Any) -> None:
        if formats and format not in formats:
            save(figure, file, format=format, **settings)
        else:
            file.write("<svg>\n</svg>\n" if format == "svg" else b"%" + format.upper().encode())

    with patch.object(Figure, "savefig", saved):
        yield
