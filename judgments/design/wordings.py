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
JUDGED = (CAPTION, "summary", "translation", "text")


@dataclass(frozen=True, slots=True)
class Wording:
    """A kind's wording for one sort of text.

    Attributes:
        title: the protocol's name for researchers.
        choices: English labels, in the kind's order.
        former_choices: labels before version 0.7, for designs whose own texts refer to them.
        poles: the meaning of 0 and 100, in English.
        label: the heading above a judged text.
        hint: how a worker gets to the next item.
        keys: what the keys of the page do.
        contradiction: why two answers contradict each other.
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
    def ends(self) -> list[str]:
        return [gettext(pole) for pole in self.poles]


TRANSLATED = {"label", "hint", "keys", "contradiction"}  # the others are compared with what designs say


def _as_shown(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_as_shown(name, entry) for entry in value)
    return _(value) if name in TRANSLATED else value


def read_wordings(path: Path) -> dict[str, dict[str, Wording]]:
    """Read a TOML file as kind -> type of judged text -> wording."""
    return {
        kind: {
            judged: Wording(**{name: _as_shown(name, value) for name, value in values.items()})
            for judged, values in wordings.items()
        }
        for kind, wordings in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }


WORDINGS = read_wordings(Path(__file__).with_suffix(".toml"))
