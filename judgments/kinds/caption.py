r"""Write captions, and score them by metrics against each other (WG16 §4 and §5).

Each caption is scored against the image's other captions: the human upper bound. A caption of another image in its
place gives the lower bound.

The rules of writing are data, shared by the server and the page: a rule is a regular expression or a count, applied
to the text after ``tidy_text``. Expressions use only what Python's ``re`` and JavaScript's ``RegExp`` read alike (no
``\b``, ``\d``, ``\s``, ``\w``, no lookbehind). V15 §5 asks for the main aspects, descriptions instead of dialogue,
nothing overly descriptive, good grammar. H13 §2.2 and §2.3 want visible content in sentences: no names of people or
places, no commentary, not several sentences, not lengthy. COCO is Chen et al. 2015, arXiv:1504.00325, section 2. All
numbers and word lists are our own; "Quorum's choice" as a source marks a rule without a paper.
"""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from common.errors import DesignError
from judgments.drawing.controls import divide_images
from judgments.drawing.material import Batch, Group, Material, UnitSpec, content_key, draw_images, rng_for
from judgments.kinds.base import (
    Comparison,
    Consensus,
    IncludedJudgment,
    KindResults,
    OpenAggregation,
    OpenKind,
    Page,
    Rehearsal,
    Results,
    or_none,
)
from judgments.kinds.spelling import misspellings
from quorum.statistics.significance import ScoreSummary, bootstrap_interval, summary_of_scores

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


BLANKS = "\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANK_RUN = re.compile(f"[{BLANKS}]+")
# Values of {start}, {end} and {quote} in the file's patterns.
PARTS = {"start": "(?:^|[^A-Za-z'’])", "end": "(?![A-Za-z'’])", "quote": '["“”„«»]'}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of caption writing.

    Attributes:
        hard: whether it refuses the caption; otherwise the page only advises.
        says: the message to the worker.
        refused, fine: example captions.
        pattern: a caption breaks the rule if this matches anywhere.
        counts: "words" or "characters" for a count rule.
        languages: primary language subtags it applies to; empty for all but ``besides``.
    """

    id: str
    hard: bool
    says: str | Promise
    refused: str
    fine: str
    source: str
    pattern: str = ""
    ignore_case: bool = True
    counts: str = ""
    least: int = 0
    most: int = 0
    languages: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()

    def is_for(self, language: str) -> bool:
        first = first_part(language)
        return first in self.languages if self.languages else first not in self.besides

    def is_broken_by(self, text: str) -> bool:
        """Return whether a text, as ``tidy_text`` leaves it, breaks the rule."""
        if self.counts:
            count = count_words(text) if self.counts == "words" else len(text)
            return count < self.least or bool(self.most and count > self.most)
        return _compiled(self.pattern, self.ignore_case).search(text) is not None

    def as_data(self) -> dict[str, Any]:
        """Return the fields for the page's script."""
        test: dict[str, Any] = (
            {"counts": self.counts, "least": self.least, "most": self.most}
            if self.counts
            else {"pattern": self.pattern, "flags": "iu" if self.ignore_case else "u"}
        )
        return {"id": self.id, "hard": self.hard, "says": str(self.says), **test}


@lru_cache(maxsize=128)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def tidy_text(text: str) -> str:
    """Strip the text and collapse white space."""
    return _BLANK_RUN.sub(" ", text).strip(" ")


def count_words(text: str) -> int:
    """Count runs between blanks that hold a letter or digit."""
    return sum(any(unicodedata.category(sign)[0] in "LN" for sign in run) for run in text.split(" "))


def _read() -> tuple[Rule, ...]:
    rules = tomllib.loads(Path(__file__).with_name("caption_rules.toml").read_text(encoding="utf-8"))["rules"]
    return tuple(_rule(**values) for values in rules)


def _rule(
    *, says: str, refused: str, pattern: str = "", words: Sequence[str] = (), times: int = 1, **values: Any
) -> Rule:
    whole_words = f"{{start}}(?:{'|'.join(words)}){{end}}" if words else ""
    for name in ("languages", "besides"):
        values[name] = tuple(values.get(name, ()))
    for name, part in PARTS.items():
        pattern, whole_words = (
            expression.replace(f"{{{name}}}", part) for expression in (pattern, whole_words)
        )
    return Rule(
        says=_(says),
        refused=refused * times,
        pattern="|".join(filter(None, (pattern, whole_words))),
        **values,
    )


ENGLISH = ("en",)
ANY_LANGUAGE = ("", "en", "zh")  # one for each set of hard rules
RULES = _read()
MOST_CHARACTERS = next(rule.most for rule in RULES if rule.id == "far-too-long")


def first_part(language: str) -> str:
    """Return the primary language subtag: "pt" of "pt-BR"."""
    return language.split("-")[0].lower()


def rules_for(language: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if rule.is_for(language))


def broken_rules(text: str, language: str) -> tuple[Rule, ...]:
    tidy = tidy_text(text)
    return tuple(rule for rule in rules_for(language) if rule.is_broken_by(tidy))


def first_refusal(rules: Iterable[Rule]) -> Rule | None:
    return next((rule for rule in rules if rule.hard), None)


METRICS = ("cider-d", "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l")
RESAMPLES = 1000
MOST_TYPED = 5 * MOST_CHARACTERS  # an upper limit on the length; longer text is not typed by hand
ALIKE = 0.5  # share of a simulated caption's words that one reference must contain
# Captions of careless simulated workers, and a caption for images without references.
COPIED = (
    "People are doing something in this place.",
    "Some things are in front of other things.",
    "It is a nice day and everything looks fine.",
)
PLAIN = "Several things can be seen close together."
SWAPS = (
    ("A ", "One "), (" a ", " one "), ("Two ", "A couple of "), (" next to ", " beside "), (" near ", " close to "),
    (" man ", " person "), (" woman ", " person "), (" child ", " kid "), (" with ", " along with "),
)  # fmt: skip
WORDS = gettext_noop("number of words")
FLOOR = "other-image"  # what stands in the place of a caption
TOO_FEW = "No item has two captions, so none can be held against the others."


@dataclass(frozen=True, slots=True)
class UpperBound(ScoreSummary):
    """Human performance by one metric; ``floor`` is that of captions of other images (WG16 §5)."""

    metric: str
    floor: float
    floor_low: float
    floor_high: float
    signature: str

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["metric"]
        return {name: or_none(value) if isinstance(value, float) else value for name, value in fields.items()}


@dataclass(frozen=True, slots=True)
class LeaveOneOutScores:
    """Upper bounds by metric; ``left_out`` images have one caption."""

    bounds: tuple[UpperBound, ...]
    images: int
    captions: int
    left_out: int
    seed: int
    warnings: tuple[str, ...] = ()
    orders: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "metrics": {bound.metric: bound.as_json() for bound in self.bounds},
            "images": self.images,
            "captions": self.captions,
            "left_out": self.left_out,
            "resamples": RESAMPLES,
            "seed": self.seed,
            "reason": "" if self.bounds else TOO_FEW,
            "warnings": list(self.warnings),
            "orders": dict(self.orders),
        }


def rank_correlations(scores: Mapping[str, Any], texts: Sequence[str], sizes: Any) -> dict[str, Any]:
    """Return how alike metrics rank the captions of an item, and how they rank long ones (V15 appendices II and IV).

    scores: metric -> (n,) scores of the texts, item by item. sizes: (items,) captions of each. ``rho`` is (metrics + 1,
    metrics) means over items of Spearman's rho, with intervals over items; the last row is the number of words.
    """
    from quorum.statistics.meta.grouped import mean_within

    starts = np.concatenate(([0], np.cumsum(sizes)))
    columns = {**scores, WORDS: np.array([float(count_words(text)) for text in texts])}
    rows = [[mean_within(x, y, starts).as_json() for y in scores.values()] for x in columns.values()]
    return {"names": list(columns), "rho": rows}


def leave_one_out(
    captions: Sequence[Sequence[str]], *, metrics: Iterable[str] = METRICS, seed: int = 0
) -> LeaveOneOutScores:
    """Score each image's captions against its others (WG16 §4), and random captions of other images (§5).

    BLEU is a mean over sentences. CIDEr-D counts documents over all captions, including the one left out.
    """
    # imported lazily: web processes start without the compiler
    from quorum.metrics.held_out import hold_out, of_other_images, score_held_out

    several = [texts for texts in captions if len(texts) > 1]
    if not several:
        return LeaveOneOutScores((), 0, 0, sum(map(len, captions)), seed)
    captions_left_out = hold_out([texts for texts in captions if texts])
    instead = (
        {FLOOR: of_other_images(captions_left_out, np.random.default_rng(seed))} if len(several) > 1 else {}
    )
    scored = score_held_out(captions_left_out, metrics, instead=instead)
    floors = scored.lower.get(FLOOR, {})
    bounds = tuple(
        _upper_bound(name, scores, floors.get(name), captions_left_out.counts, scored.signatures[name], seed)
        for name, scores in scored.upper.items()
    )
    return LeaveOneOutScores(
        bounds,
        len(several),
        len(captions_left_out.texts),
        captions_left_out.alone,
        seed,
        scored.warnings,
        rank_correlations(scored.upper, captions_left_out.texts, captions_left_out.counts),
    )


def _upper_bound(
    metric: str,
    scores: npt.NDArray[np.float64],
    wrong: npt.NDArray[np.float64] | None,
    sizes: npt.NDArray[np.int64],
    signature: str,
    seed: int,
) -> UpperBound:
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    means = np.add.reduceat(scores, starts) / sizes
    floors = np.full(1, math.nan) if wrong is None else np.add.reduceat(wrong, starts) / sizes
    floor = None if wrong is None else bootstrap_interval(floors, resamples=RESAMPLES, seed=seed)
    return UpperBound(
        **asdict(summary_of_scores(scores, means, resamples=RESAMPLES, seed=seed)),
        metric=metric,
        floor=float(floors.mean()),
        floor_low=math.nan if floor is None else floor.low,
        floor_high=math.nan if floor is None else floor.high,
        signature=signature,
    )


class RefusedCaption(ValueError):
    """A caption that breaks a hard rule; ``says`` is the message for its writer."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(f"expected another caption ({rule.id}: {str(rule.says).rstrip('.')})")
        self.says = rule.says


class AllCaptions(OpenAggregation):
    """All captions in order; there is no winner (V15 §5)."""

    rule = "none"
    no_alpha = (
        "sentences have no parts that two people would have to agree on; each caption is held against the "
        "others of its item (WG16 §4)"
    )

    def combine(self, answers: list[str]) -> Consensus:
        return Consensus(n=len(answers), answer=answers)

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        return {}


class HeldAgainstEachOther(Results):
    def figures(self, judged: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        texts: defaultdict[int, list[str]] = defaultdict(list)
        for judgment in judged:
            texts[judgment.unit.pk].append(judgment.answer)
        return KindResults(study={"leave_one_out": leave_one_out(list(texts.values()), seed=seed).as_json()})


class CaptionRehearsal(Rehearsal):
    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> list[str]:
        return list(unit.item.references.order_by("position").values_list("text", flat=True))

    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> str:
        """Vary a reference, truncate it (wrong), or write a stock caption (random)."""
        if right is None:
            return COPIED[int(rng.integers(len(COPIED)))]
        if not truth:
            return PLAIN
        text = tidy_text(truth[int(rng.integers(len(truth)))])
        draft = _varied(text, rng) if right else " ".join(text.split(" ")[:4])
        return next((caption for caption in (draft, text) if not _refused(caption)), PLAIN)

    def recovers(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether over half of the captions share half of their words with a reference."""
        if not truth:
            return True
        about = sum(
            any(_shared(text, reference) >= ALIKE for reference in truth) for text in consensus.answer
        )
        return bool(2 * about > len(consensus.answer))


class CaptionWriting(OpenKind):
    name = "caption"
    title = "Caption writing: describe what is going on in the image"
    writes_captions = True
    defaults = {
        "question": "Describe what is going on in the image.",
        "language": "en",
        "judgments_per_unit": 5,
        "units_per_hit": 5,
        "seconds_per_unit": 40.0,
    }
    page = Page(
        "annotation/kinds/caption.html",
        script="js/kinds/caption.js",
        guide="annotation/kinds/caption_guide.html",
    )
    aggregation = AllCaptions()
    results = HeldAgainstEachOther()
    comparison = Comparison(
        refusal="nobody judged the captions that were written, so no metric can be held against people; the "
        "results hold the captions against each other, and “Adopt captions” lets later studies judge them."
    )
    rehearsal = CaptionRehearsal()

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        """Return one unit per image; a HIT has ``judgments_per_unit`` assignments, so writers differ."""
        if design.controls.per_hit:
            raise DesignError(
                f"controls.per_hit is {design.controls.per_hit}, but no caption is the right one: caption writing "
                "has no control items (a quiz before the work does their part).",
                field="controls.per_hit",
            )
        images = draw_images(
            divide_images(design, material).judged, design.sampling.images, rng_for(design.seed, "images")
        )
        if not images:
            raise DesignError(
                f"dataset {material.name!r} has no image in split {design.sampling.split!r}.",
                field="sampling.split",
            )
        units = [
            UnitSpec(key=content_key("unit", self.name, design.seed, image.name), image=image.name)
            for image in images
        ]
        return Batch(hits=self.hits(design, [Group(unit.image, (unit,)) for unit in units]))

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        return {"image": {"url": picture_url, "alt": gettext("The image to be described")}}

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> str:
        if not isinstance(answer, str):
            raise ValueError(gettext("expected a text, the caption"))
        if len(answer) > MOST_TYPED:
            raise ValueError(gettext("expected at most %(most)d characters") % {"most": MOST_CHARACTERS})
        text = tidy_text(answer)
        # Controls and lone surrogates cannot be stored; unassigned and private characters can.
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
            raise ValueError(gettext("expected a text without control characters"))
        languages = ANY_LANGUAGE if design is None else (design.language,)
        refusals = [first_refusal(broken_rules(text, language)) for language in languages]
        if refusals[0] is not None and all(refusals):
            raise RefusedCaption(refusals[0])
        return text

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> str | None:
        """Read field ``u<position>``; None if it is blank."""
        text = form.get(f"u{position}")
        return text if isinstance(text, str) and tidy_text(text) else None

    def advise(self, answer: Any, design: StudyDesign) -> str:
        suggestions = misspellings(str(answer), first_part(design.language))
        if not suggestions:
            return ""
        quoted = ", ".join(
            f"“{word}” (“{near}”?)" if near else f"“{word}”" for word, near in suggestions.items()
        )
        return gettext("Check the spelling: %(words)s. What is right may stay.") % {"words": quoted}

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        return [f"“{text}”" for text in answer]


def _refused(text: str) -> bool:
    return first_refusal(broken_rules(text, "en")) is not None


def _varied(text: str, rng: np.random.Generator) -> str:
    fitting = [(old, new) for old, new in SWAPS if old in text]
    if not fitting:
        return text
    old, new = fitting[int(rng.integers(len(fitting)))]
    return text.replace(old, new, 1)


def _shared(text: str, other: str) -> float:
    tokens, known = fold_text(text).split(), set(fold_text(other).split())
    return sum(word in known for word in tokens) / len(tokens) if tokens else 0.0


def fold_text(text: str) -> str:
    """Normalise case, punctuation and Unicode, to compare captions."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(sign if sign.isalnum() else " " for sign in plain).split())
