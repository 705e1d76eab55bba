"""The words of a kind's page (wordings.toml), by what is judged."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

CAPTION: Final = "caption"
JUDGED = (CAPTION, "summary", "translation", "text")


@dataclass(frozen=True, slots=True)
class Wording:
    """A kind's words for one sort of text.

    Attributes:
        title: for researchers.
        choices: English labels, in the kind's order.
        earlier: labels before 0.7, for designs whose own texts use them.
        poles: the meaning of 0 and 100, in English.
        label: heading above a judged text.
        hint: how a worker goes on.
        keys: what the keys of the page do.
        twice: why two answers contradict each other.
    """

    title: str
    question: str
    choices: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    poles: tuple[str, ...] = ()
    label: str | Promise = ""
    hint: str | Promise = ""
    keys: tuple[str | Promise, ...] = ()
    twice: str | Promise = ""

    @property
    def ends(self) -> list[str]:
        return [gettext(pole) for pole in self.poles]


def _wording(
    *,
    choices: Sequence[str] = (),
    earlier: Sequence[str] = (),
    poles: Sequence[str] = (),
    label: str = "",
    hint: str = "",
    keys: Sequence[str] = (),
    twice: str = "",
    **texts: str,
) -> Wording:
    return Wording(
        choices=tuple(choices),
        earlier=tuple(earlier),
        poles=tuple(poles),
        label=label and _(label),
        hint=hint and _(hint),
        keys=tuple(_(key) for key in keys),
        twice=twice and _(twice),
        **texts,
    )


def _read() -> dict[str, dict[str, Wording]]:
    kinds = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        kind: {judged: _wording(**values) for judged, values in wordings.items()}
        for kind, wordings in kinds.items()
    }


WORDINGS = _read()  # kind -> what is judged -> wording
