"""The texts of a study's design in the reader's language.

They are the study's own, in whatever language they were written. The built-in ones (questions of the kinds, texts of
the presets, the ready test) stand in the catalogues: where a design says just the same, its worker reads it translated.
"""

from __future__ import annotations

from django.utils.translation import gettext


def worded(text: str) -> str:
    """``text`` of a design without white space around it, translated where it is a built-in one."""
    text = text.strip()
    return gettext(text) if text else ""
