"""What a kind of HIT answers.

A kind is one strategy object in ``KINDS``: what it makes of a dataset, which control items it has, which answers
are allowed, how they are shown, and what several of them say together. Nothing outside this package asks for a
kind's name. An answer is a whole number (``ChoiceKind``) or JSON (``OpenKind``); "given" below is either.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from django.utils.translation import gettext

from evaluation.statistics.aggregation.stopping import OPEN
from judgments.design.wordings import Wording
from judgments.drawing.material import Batch, Group, Image, Material

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer a worker can give.

    Attributes:
        value: what the API carries; what the worker sees, not yet mapped to the unit's order.
        label: its words on the page, in English.
        key: the key that gives it, where a key does.
    """

    value: int
    label: str
    key: str = ""

    @property
    def words(self) -> str:
        """The label in the reader's language."""
        return gettext(self.label)


@dataclass(frozen=True, slots=True)
class Entry:
    """How a key of the study file is asked for in a form."""

    label: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Consensus:
    """What the used judgments of a unit say together.

    Attributes:
        n: how many there are.
        value: the winner, 0/1, or the mean grade; None on a tie or without judgments.
        share: share of the winning answer (relevance: of yes; graded: None).
        margin: share of the winner minus share of the runner-up (graded: None).
        tie: no answer has the most votes.
        votes: how often each answer was given.
        answer: what open answers say together, in the form their kind gives it; None for kinds with values.
    """

    n: int
    value: float | None
    share: float | None
    margin: float | None
    tie: bool
    votes: Mapping[str, int]
    answer: Any = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A used judgment: the unit's row with its image and captions, who gave it, and the canonical answer."""

    unit: Any
    worker: int
    given: Any


@dataclass(frozen=True, slots=True)
class Figures:
    """What judgments say beyond consensus and agreement, as JSON.

    Attributes:
        units: unit row id -> what stands in the unit's row besides.
        study: what is said of the study as a whole, by name.
    """

    units: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaptionScore:
    """What people think of a caption of an image: row id of the image, id and text of the caption."""

    item: int
    key: str
    text: str
    score: float


class Kind(ABC):
    """A protocol of PROTOCOLS.md 2.

    Attributes:
        name: the protocol's name in files and addresses.
        values: allowed canonical answers; empty where answers are open.
        level: level of measurement for agreement.
        two_sided: whether a unit has two candidates whose sides are drawn.
        grouped: whether HITs hold images with several captions each.
        shows_picture: whether workers see the image, which then stands on a page once.
        own_pages: whether the page is the researcher's own (``page_source``), with a picture of its own where a row
            brings one.
        compares_pairs: whether units belong to candidate pairs.
        defaults: values of the study file that differ from the design's own defaults.
        template: the worker's page, below templates/.
        self_contained: whether a page without this server and without its scripts can ask it (MTurk's HTMLQuestion).
        asks: keys of the study file that this kind alone uses -> how the form asks for them.
        judges_one_caption: whether a unit is one caption of one image, which ``sampling.pairs_from`` brings together.
        chosen_by_id: whether ``sampling.only`` can name what is judged: candidate pairs, or units.
        settles: whether its consensus can be settled before all votes are in, and ``outcome_range`` tells when.
        writes_captions: whether an answer is a caption of the unit's image.
        own_formats: export formats that hold this kind alone.
        guide: a template with more for the instructions, below templates/; "" where there is none.
        keys: what keys do on its page, for the list of keys: ((keys), words), ...; () where its choices say so.
        script: a script of its own for that page, below static/; "" where it needs none (docs/adding-a-kind.md).
        has_figures: whether ``figures`` or ``caption_scores`` say anything; they are asked only then.
        no_alpha: why agreement cannot be measured, where answers have no parts to compare.
        people_cuts: where people's scores of captions are cut to compare them with a metric (kappa).
        guessed_right: the share of control items that somebody gets right who answers at random, each value as likely
            as the others; None where that has no number.
        per_image: whether scores are compared within each image as well as over all.
        aggregation: how the judgments of a unit become its consensus, in a word, as the judgment signature has it.
        tie_rule: what becomes of a unit whose judgments are tied, in a word.
        instead_of_evaluate: what to do instead, in one sentence, where metrics of captions cannot be held against the
            answers; "" where they can.
        wordings: the words of its page for each value of the design's ``judged``; {} where they fit every text.
        wording: those that it uses.
        labelled: answers that ``labels`` of the study file name, in their order; () where it names none.
        no_source: why the page shows no source text beside what is judged; "" where it can.
    """

    name: ClassVar[str]
    title: str
    values: ClassVar[tuple[int, ...]] = ()
    level: ClassVar[str]
    choices: tuple[Choice, ...] = ()
    two_sided: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    shows_picture: ClassVar[bool] = True
    own_pages: ClassVar[bool] = False
    compares_pairs: ClassVar[bool] = False
    defaults: ClassVar[dict[str, Any]] = {}
    template: ClassVar[str]
    self_contained: ClassVar[bool] = True
    asks: ClassVar[Mapping[str, Entry]] = {}
    keys: tuple[tuple[tuple[Any, ...], Any], ...] = ()
    letters: ClassVar[tuple[str, ...]] = ()
    script: ClassVar[str] = ""
    settles: ClassVar[bool] = False
    judges_one_caption: ClassVar[bool] = False
    chosen_by_id: ClassVar[bool] = False
    writes_captions: ClassVar[bool] = False
    own_formats: ClassVar[tuple[str, ...]] = ()
    guide: ClassVar[str] = ""
    has_figures: ClassVar[bool] = False
    no_alpha: ClassVar[str] = ""
    people_cuts: ClassVar[tuple[float, ...]] = ()
    guessed_right: ClassVar[float | None] = None
    per_image: ClassVar[bool] = False
    aggregation: ClassVar[str]
    tie_rule: ClassVar[str] = "no-ties"
    instead_of_evaluate: ClassVar[str] = ""
    wordings: ClassVar[Mapping[str, Wording]] = {}
    wording: Wording | None = None
    labelled: ClassVar[tuple[int, ...]] = ()
    no_source: ClassVar[str] = ""

    @property
    def is_open(self) -> bool:
        """Whether answers are JSON, under the key ``answer``, and no numbers under ``value``."""
        return not self.values

    def of(self, design: StudyDesign) -> Kind:
        """The kind as a study asks it: knowing what of the design its answers and its words depend on."""
        return worded(self.with_setting(self.setting(design)), design.judged, design.labels)

    def question_for(self, values: Mapping[str, Any]) -> Any:
        """The question of a design that states none: its preset's, or the built-in one for what it judges."""
        question, wording = values.get("question", ""), self.wordings.get(str(values.get("judged")))
        return wording.question if wording and question == self.defaults.get("question") else question

    def defaults_for(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """``defaults``, given what the study file and its preset say."""
        return self.defaults

    def setting(self, design: StudyDesign) -> str:
        """What of a design its answers depend on besides their units; files carry it along."""
        return ""

    def with_setting(self, setting: str) -> Kind:
        """The kind that knows this ``setting``."""
        return self

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        """What of a design does not fit this kind, each in a clause that begins with the key it is about."""
        return iter(())

    @abstractmethod
    def batch(self, design: StudyDesign, material: Material) -> Batch:
        """Units, controls and HITs for a design.

        Raises:
            DesignError: the dataset cannot give what the design asks for.
        """

    def quiz_usable(self, image: Image) -> bool:
        """Whether items for the quiz can be made of ``image``: a caption to compare, and one to compare it with."""
        return len(image.references) > 1

    def quiz_group(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group | None:
        """Items about ``image`` whose right answer is known, for the quiz; None where the kind has none.

        Args:
            place: tells equal items apart.
            images: whose captions may stand as wrong answers.
        """
        return None

    @abstractmethod
    def shown(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """The unit as its worker sees it (docs/api.md), without position, protocol and question.

        ``unit`` is a ``Unit`` row or a ``UnitSpec`` (a preview): both have the same names. ``side`` is what
        ``sides`` drew for it, None where it draws nothing.
        """

    def sides(self, units: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        """Per unit, what is drawn anew for each worker: sides, or the order of options; empty where nothing is."""
        return []

    def mirrored(self, side: Any) -> Any:
        """The opposite of what ``sides`` drew, for a page that is shown to half of its workers the other way round."""
        return side

    @abstractmethod
    def checked(self, given: Any, *, unit: Any, design: StudyDesign) -> Any:
        """An answer as it is kept, still as the worker sees it.

        Raises:
            ValueError: it is none; the sentence's end says what was expected ("expected 1 or 2").
        """

    @abstractmethod
    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        """The answer that a plain form holds at ``position``, not checked yet; None where it holds none."""

    def canonical(self, given: Any, *, side: Any) -> Any:
        """The answer in the unit's order, for one as the worker saw it."""
        return given

    def seen(self, given: Any, *, side: Any) -> Any:
        """The answer as a worker sees it, for one in the unit's order; undoes ``canonical``."""
        return given

    def in_words(self, given: Any) -> str:
        """An answer as a worker sees it, in the words of its choice where it has one."""
        words = {choice.value: choice.words for choice in self.choices}
        return words.get(given, str(given)) if isinstance(given, int) else str(given)

    def said_together(self, answer: Any, *, unit: Any) -> list[str]:
        """What an open consensus of ``unit`` says (``Consensus.answer``), for people; [] where a number says it.

        Each piece stands for itself, the weightiest first.
        """
        return []

    @abstractmethod
    def consensus(self, units: Sequence[int], values: Sequence[Any]) -> dict[int, Consensus]:
        """What the judgments of each unit say together.

        Args:
            units: (N,) the unit of each judgment.
            values: (N,) canonical answers, numbers or open ones.

        Returns:
            unit -> consensus, for the units that occur.
        """

    def outcome_range(self, values: Sequence[int], remaining: int) -> tuple[int, int]:
        """The lowest and highest outcome that up to ``remaining`` more answers can still make of a unit: 1 for the
        first answer, -1 for the second, 0 for a tie (evaluation.statistics.aggregation.stopping).

        Where a kind ``settles`` nothing, as a mean moves with each answer, anything may come of it.
        """
        return OPEN

    def codes(self, unit: Any, given: Any) -> dict[str, float]:
        """A canonical answer as numbers on smaller things, by name: what agreement is measured on.

        A kind whose answers have no parts to compare gives none.
        """
        return {"": given}

    def figures(self, judged: Sequence[Judged], *, seed: int) -> Figures:
        """What the used judgments of a study say beyond its consensus; ``seed`` is for what is drawn."""
        return Figures()

    def caption_scores(self, judged: Sequence[Judged]) -> list[CaptionScore] | None:
        """People's scores of captions, for ``evaluate``; None where the consensus of a unit is that of its caption."""
        return None

    def exported(self, given: Any, *, content: Mapping[str, Any]) -> Any:
        """A canonical answer, or the answer of a consensus, as files carry it; ``content`` is the unit's."""
        return given

    def imported(self, given: Any, *, content: Mapping[str, Any]) -> Any:
        """The canonical answer that a file carries; undoes ``exported``.

        Raises:
            ValueError: it is none; the sentence says what was expected.
        """
        return given

    def results_names(self) -> list[str]:
        """The columns that ``results_cells`` may fill, in their order."""
        return []

    def results_cells(self, given: Any) -> dict[str, str]:
        """A canonical answer as columns of its own in Mechanical Turk's result files; none where one cell holds it."""
        return {}

    def results_inputs(self, content: Mapping[str, Any]) -> dict[str, str]:
        """The same for what a unit shows besides captions; ``content`` is the unit's."""
        return {}

    def relevance(self, value: float) -> int:
        """A consensus as a whole number of TREC relevance, 0 for none."""
        return int(value)

    @abstractmethod
    def is_right(self, given: Any, expected: Any) -> bool:
        """Whether a canonical answer is the right one of a control item."""

    def expectations(self) -> tuple[Any, ...]:
        """What a known item of one or two captions can expect; none where it cannot be said in a study file."""
        return ()

    def again(self, given: Any) -> Any:
        """What is expected of a unit that is shown again, for a canonical answer on it: ``is_right`` takes it."""
        return given

    @abstractmethod
    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> Any:
        """A rehearsal's right answer, drawn leaning the way people's answers do.

        Args:
            qualities: of the unit's first and, where there is one, second candidate, on the scale of grades 1 to 4.
        """

    @abstractmethod
    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> Any:
        """A simulated worker's canonical answer: right or not, or (None) given without looking."""

    @abstractmethod
    def recovers(self, found: Consensus, truth: Any) -> bool:
        """Whether a rehearsal's consensus is its truth."""


class ChoiceKind(Kind):
    """One of a few whole numbers."""

    def checked(self, given: Any, *, unit: Any, design: StudyDesign) -> int:
        """One of ``values``."""
        if type(given) is not int or given not in self.values:
            raise ValueError(gettext("expected %(values)s") % {"values": self._expected})
        return given

    @property
    def _expected(self) -> str:
        low, high = min(self.values), max(self.values)
        if len(self.values) > 10:
            return gettext("%(low)d to %(high)d") % {"low": low, "high": high}
        return gettext(" or ").join(map(str, sorted(self.values)))

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        """Field ``u<position>``: a whole number where it is one; anything else goes on and is refused by name."""
        text = form.get(f"u{position}")
        if text in (None, ""):
            return None
        short = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10
        return int(text) if short else text

    def is_right(self, given: Any, expected: Any) -> bool:
        """Equal to what is expected."""
        return bool(given == expected)

    @abstractmethod
    def leaning(self, qualities: Sequence[float]) -> list[float]:
        """The chance of each of ``values`` to be a rehearsal's truth, given how good the unit's captions are."""

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> int:
        """One of ``values``, with the chances of ``leaning``."""
        return int(rng.choice(self.values, p=self.leaning(qualities)))

    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> int:
        """Without looking: any value; on a scale, mistakes are near misses."""
        if right is None:
            return int(rng.choice(self.values))
        good = [value for value in self.values if self.is_right(value, truth)]
        wrong = [value for value in self.values if value not in good]
        if right or not wrong:
            return int(rng.choice(good))
        distance = {value: min(abs(value - one) for one in good) for value in wrong}
        return int(rng.choice([value for value in wrong if distance[value] == min(distance.values())]))

    def recovers(self, found: Consensus, truth: Any) -> bool:
        """The value, or the grade nearest to the mean (a half going down), is right."""
        return found.value is not None and self.is_right(math.ceil(found.value - 0.5), truth)


class OpenKind(Kind):
    """Answers of the worker's own: a text, keywords, links."""

    has_figures = True
    instead_of_evaluate = "its answers are open; docs/evaluation.md says what to use instead."

    def is_right(self, given: Any, expected: Any) -> bool:
        """Equal to what is expected, where the kind has control items at all."""
        return bool(given == expected)


K = TypeVar("K", bound=Kind)


def worded(kind: K, judged: str, labels: Sequence[str]) -> K:
    """Return ``kind`` with the words for ``judged`` and, where a study has them, with its own ``labels``."""
    wording = kind.wordings.get(judged)
    if wording is None or (wording is kind.wording and not labels):
        return kind
    own = copy(kind)
    own.title = wording.title
    own.wording = replace(wording, poles=tuple(labels)) if labels and wording.poles else wording
    words = (labels or wording.choices) if kind.choices else ()
    own.choices = tuple(replace(choice, label=word) for choice, word in zip(kind.choices, words, strict=True))
    if kind.keys and wording.keys:
        own.keys = tuple((keys, does) for (keys, _), does in zip(kind.keys, wording.keys, strict=True))
    return own
