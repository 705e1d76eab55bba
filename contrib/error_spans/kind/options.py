"""The options of a design of marked errors, and the check of answers against them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeGuard

from django.utils.translation import gettext

from contrib.error_spans.kind.answers import CATEGORY, END, SEVERITIES, SEVERITY, START, Span, sort_spans

MAX_SPANS = 200  # spans of an answer
MAX_CATEGORIES, MAX_NAME_LENGTH = 60, 80  # categories of a design, and characters of a category's name


@dataclass(frozen=True, slots=True)
class SpanOptions:
    """The options of a design on which answers depend.

    Attributes:
        severities: the severities that can be chosen, from the least severe on.
        categories: names with labels; empty if errors have no category.
        score: whether an answer has a score from 0 to 100.
        missing: whether missing parts can be marked.
        weights: the weights that differ from those of MQM, by category ("" for all others) and severity.
    """

    severities: tuple[str, ...] = ("minor", "major")
    categories: tuple[tuple[str, str], ...] = ()
    score: bool = True
    missing: bool = True
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def as_text(self) -> str:
        """Return the options as JSON, in which form they are the setting of a kind."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> SpanOptions:
        if not text:
            return cls()
        values = json.loads(text)
        return cls(
            severities=tuple(values["severities"]),
            categories=tuple((name, label) for name, label in values["categories"]),
            score=values["score"],
            missing=values["missing"],
            weights=values.get("weights", {}),  # settings of earlier releases have no weights
        )

    def with_marks(self, marks: Sequence[Span]) -> SpanOptions:
        """Return options that also allow the marks of an imported answer.

        Either all marks of a file have categories, or none has one: the first answer with marks decides. Until then,
        ``severities`` is empty, because ``extend_setting`` begins a file with ().
        """
        categories = dict(self.categories)
        if categories or not self.severities:
            categories |= {name: name for span in marks if _is_name(name := span.get(CATEGORY))}
        if len(categories) > MAX_CATEGORIES:
            raise ValueError(f"the file names more; expected at most {MAX_CATEGORIES} categories")
        severities = SEVERITIES if marks else self.severities
        return replace(self, severities=severities, categories=tuple(categories.items()))

    def clean_answer(self, answer: Any, *, length: int) -> dict[str, Any]:
        """Return an answer about a text of this length in its stored form: spans by position, then missing parts.

        Raises:
            ValueError: the answer is invalid; the message ends with what was expected.
        """
        keys = {"spans", "score"} if self.score else {"spans"}
        if (
            not isinstance(answer, Mapping)
            or not isinstance(answer.get("spans"), list)
            or not set(answer) <= keys
        ):
            expected_form = '{"spans": [...], "score": 0 to 100}' if self.score else '{"spans": [...]}'
            raise ValueError(gettext("expected %(wanted)s") % {"wanted": expected_form})
        if len(answer["spans"]) > MAX_SPANS:
            raise ValueError(gettext("expected at most %(most)d spans") % {"most": MAX_SPANS})
        spans = sort_spans(self._checked_span(span, length) for span in answer["spans"])
        if not self.score:
            return {"spans": spans}
        score = answer.get("score")
        if score is None:
            raise ValueError(gettext("the score is missing; expected a whole number from 0 to 100"))
        if type(score) is not int or not 0 <= score <= 100:
            raise ValueError(gettext("expected %(wanted)s") % {"wanted": "a whole number from 0 to 100"})
        return {"spans": spans, "score": score}

    def _checked_span(self, span: Any, length: int) -> dict[str, Any]:
        """Return a span with its keys in the stored order. Raise ValueError if it is invalid."""
        keys = {START, END, SEVERITY, CATEGORY} if self.categories else {START, END, SEVERITY}
        if not isinstance(span, Mapping) or set(span) != keys:
            raise ValueError(
                gettext("a span has unexpected keys; expected %(keys)s") % {"keys": ", ".join(sorted(keys))}
            )
        start, end = span[START], span[END]
        has_offsets = type(start) is int and type(end) is int and 0 <= start < end <= length
        is_missing = start is None and end is None and self.missing
        if not has_offsets and not is_missing:
            raise ValueError(
                gettext("a span from %(start)s to %(end)s is not valid; positions run from 0 to %(length)d")
                % {"start": start, "end": end, "length": length}
            )
        for key, allowed_values in ((SEVERITY, self.severities), (CATEGORY, tuple(dict(self.categories)))):
            if key in keys and span[key] not in allowed_values:
                raise ValueError(
                    gettext("the %(key)s of a span is %(value)s; expected %(allowed)s")
                    % {"key": key, "value": str(span[key])[:80], "allowed": ", ".join(allowed_values)}
                )
        return {key: span[key] for key in (START, END, SEVERITY, CATEGORY) if key in keys}


def _is_name(name: Any) -> TypeGuard[str]:
    return (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME_LENGTH
        and name == name.strip()
        and name.isprintable()
    )
