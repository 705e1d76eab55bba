"""The wording of a kind's page for each type of judged text."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

CAPTION: Final = "caption"
TEXT_TYPES = (CAPTION, "summary", "translation", "text")


@dataclass(frozen=True, slots=True)
class Wording:
    """A kind's wording for one type of judged text.

    Attributes:
        title: the protocol's name for researchers.
        choices: the English labels of the answers, in the kind's order.
        former_choices: the labels before version 0.7, for designs whose own texts call the candidates B and C.
        poles: the labels of the two ends of a slider, in English.
        label: the heading above a judged text.
        hint: a sentence about how to get to the next item.
        keys: sentences about the page's keyboard shortcuts.
        contradiction: the reason why one option cannot be chosen twice, as the best and as the worst.
    """

    title: str
    question: str
    choices: tuple[str, ...] = ()
    former_choices: tuple[str, ...] = ()
    poles: tuple[str, ...] = ()
    label: str | Promise = ""
    hint: str | Promise = ""
    keys: tuple[str | Promise, ...] = ()
    contradiction: str | Promise = ""

    @property
    def translated_poles(self) -> list[str]:
        return [gettext(pole) for pole in self.poles]


# The other attributes stay in English, since they are compared with the texts of designs.
TRANSLATED_FIELDS = {"label", "hint", "keys", "contradiction"}


def _translate_field(name: str, value: Any) -> Any:
    """Return a value of a TOML table, lazily translated if the field is in ``TRANSLATED_FIELDS``; lists as tuples."""
    if isinstance(value, list):
        return tuple(_translate_field(name, entry) for entry in value)
    return _(value) if name in TRANSLATED_FIELDS else value


def read_wordings(path: Path) -> dict[str, dict[str, Wording]]:
    """Return the wordings in a TOML file with tables such as ``[triplet.caption]``, by kind and type of judged text."""
    wordings: dict[str, dict[str, Wording]] = {}
    for kind, tables in tomllib.loads(path.read_text(encoding="utf-8")).items():
        wordings[kind] = {text_type: _make_wording(values) for text_type, values in tables.items()}
    return wordings


def _make_wording(values: dict[str, Any]) -> Wording:
    return Wording(**{name: _translate_field(name, value) for name, value in values.items()})


WORDINGS = read_wordings(Path(__file__).with_suffix(".toml"))
