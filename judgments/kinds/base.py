"""The base class of protocols (kinds of HIT), and the classes of its parts.

Each part serves one group of callers: ``page`` and ``sides`` serve the worker's page, ``aggregation`` and ``results``
the consensus, ``comparison`` and ``relevance`` the metrics, and ``exchange`` exports and imports. Other packages use
these parts and do not compare names of kinds.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext
from pydantic import BaseModel, ConfigDict

from judgments.design.numbers import display_number, number_text
from judgments.design.scale import Scale
from judgments.design.wordings import Wording
from judgments.drawing.controls.makers import ControlMakers, ControlSlot, KnownItem
from judgments.drawing.hits import build_hits
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, HITSpec, Image, Material, UnitSpec
from judgments.kinds.consensus import Consensus
from quorum.statistics.stopping import UNDECIDED_RANGE

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

# The arguments of ``Aggregation.consensus``: the row id of the unit of each judgment, and the answers.
Units = Sequence[int] | npt.NDArray[np.int64]
Answers = Sequence[Any] | npt.NDArray[Any]
# The columns of an exported judgments file, in CSV order.
JUDGMENT_COLUMNS = (
    "study", "unit", "protocol", "image", "reference", "first", "second", "reference_text", "first_text",
    "second_text", "kind", "pair", "worker", "assignment", "hit", "value", "answer", "control", "expected", "used",
    "presented", "simulated", "accepted_at", "submitted_at", "seconds", "wall_seconds", "comment", "revision",
    "invalidated", "content", "systems", "answers", "chance", "scale", "document",
)  # fmt: skip
# The keys of an answer of a kind that names the best of several captions (``Kind.names_best``), and maybe the worst.
BEST, WORST = "best", "worst"
ENDS = (BEST, WORST)


class RefusedAnswer(ValueError):
    """An answer is invalid.

    ``reason`` is for logs and imports, ``message`` for the person who wrote the answer, in their language.
    """

    def __init__(self, reason: str, message: Any) -> None:
        super().__init__(reason)
        self.message = message


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer that a worker can give.

    Attributes:
        value: the number of the answer. If it stands for a text, the texts are numbered as the worker sees them.
        label: the words for the answer in English; ``text`` is their translation.
        key: the keyboard key that chooses the answer.
        letter: the letter of the chosen text on the page; it is a second keyboard key.
    """

    value: float
    label: str
    key: str = ""
    letter: str = ""

    @property
    def code(self) -> str:
        """The value as form data, in the same notation for every language."""
        return number_text(self.value)

    @property
    def number(self) -> str:
        """The value as people read it, in the notation of the current language."""
        return display_number(self.value)

    @property
    def has_label(self) -> bool:
        """Whether the label is more than the value itself."""
        return self.label != self.code

    @property
    def text(self) -> str:
        """The translated label, with the letter in place of ``%(letter)s``."""
        label = gettext(self.label)
        return label % {"letter": self.letter} if "%(letter)s" in label else label


@dataclass(frozen=True, slots=True)
class IncludedJudgment:
    """A judgment that counts in results. ``unit`` is a ``Unit`` row, and ``worker`` is the worker's row id."""

    unit: Any
    worker: int
    answer: Any


@dataclass(frozen=True, slots=True)
class KindResults:
    """The results of a kind besides consensus and agreement, as JSON.

    Attributes:
        units: further figures about each unit, by the unit's row id.
        study: figures about the study as a whole.
    """

    units: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaptionScore:
    """A human score of a caption.

    Attributes:
        item: row id of the item.
        key: id of the caption.
        score: the mean of the ratings.
        ratings: pairs of a worker's row id and the caption's rating by the worker.
        systems: the systems that an imported file credits (``judgments.models.credits.credited_systems``).
    """

    item: int
    key: str
    text: str
    score: float
    ratings: tuple[tuple[int, float], ...]
    systems: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """How the worker's page shows the units of a kind.

    Attributes:
        template: the path of the page's template below templates/.
        script: the path of the page's script below static/ (docs/adding-a-kind.md).
        style: the path of a stylesheet below static/, which is loaded after app.css.
        guide: a template that is shown after the instructions.
        keys: help about keyboard keys, as pairs of keys and words, such as ``(("←", "→"), "decrease or increase")``;
            () to show the keys of the choices.
        letters: the letters by which the page names a unit's texts, such as ("A", "B").
        shows_picture: whether the page shows the item's image.
        custom: whether the researcher supplies the page.
        self_contained: whether the page works without this server and its scripts, as MTurk's HTMLQuestion.
    """

    template: str
    script: str = ""
    style: str = ""
    guide: str = ""
    keys: tuple[tuple[tuple[Any, ...], Any], ...] = ()
    letters: tuple[str, ...] = ()
    shows_picture: bool = True
    custom: bool = False
    self_contained: bool = True


class Sides:
    """The order in which a worker sees the candidates of a unit, and the translation of answers to the stored order.

    The stored order is called canonical. This base class shows the candidates in that order. Subclasses draw another
    order for each unit and worker, called the side: for two candidates, whether the second is shown first; for a list,
    the positions in the order shown.
    """

    def draw(self, units: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        """Draw a side for each unit. Return [] if all units are shown in their stored order."""
        return []

    def mirror(self, side: Any) -> Any:
        """Return the opposite of a side, to counterbalance pages."""
        return side

    def to_canonical(self, answer: Any, *, side: Any) -> Any:
        """Map an answer from the worker's order to the stored order."""
        return answer

    def from_canonical(self, answer: Any, *, side: Any) -> Any:
        """Map an answer from the stored order to the worker's. This is the inverse of ``to_canonical``."""
        return answer


class Aggregation(ABC):
    """The computation of consensus from judgments, and the coding of answers to measure agreement.

    Attributes:
        rule, tie_rule: the names of the rules in the judgment signature, by which results state their settings.
        level: the level of measurement for agreement.
        no_alpha: a sentence about why agreement cannot be measured; "" if it can.
        supports_early_stopping: whether a consensus can be certain before all votes are in (``outcome_range``).
    """

    rule: ClassVar[str]
    tie_rule: ClassVar[str] = "no-ties"
    level: ClassVar[str] = "nominal"
    no_alpha: ClassVar[str] = ""
    supports_early_stopping: ClassVar[bool] = False

    @abstractmethod
    def consensus(self, units: Units, values: Answers) -> Mapping[int, Consensus]:
        """Return the consensus of each unit.

        Args:
            units: (N,) row id of the unit of each of N judgments.
            values: (N,) answers. They are a list, or an array of integers or floats.
        """

    def outcome_range(self, values: Sequence[float], remaining: int) -> tuple[int, int]:
        """Return the lowest and highest outcome that a unit can get with up to ``remaining`` more answers.

        Outcome 1 is the first answer, -1 the second answer, and 0 a tie. By default, each of them is possible.
        """
        return UNDECIDED_RANGE

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        """Return an answer's parts as numbers, to measure agreement, by the name of the part.

        An answer with a single part has the name "". Return {} if answers have no parts that can be compared.
        """
        return {"": answer}


class OpenAggregation(Aggregation):
    """The computation of consensus from open answers, unit by unit."""

    @abstractmethod
    def combine(self, answers: list[Any]) -> Consensus:
        """Return the consensus of a unit's answers."""

    def consensus(self, units: Units, values: Answers) -> dict[int, Consensus]:
        answers: dict[int, list[Any]] = {}
        for unit, value in zip(units, values, strict=True):
            answers.setdefault(unit, []).append(value)
        return {unit: self.combine(answers_of_unit) for unit, answers_of_unit in answers.items()}


class Results:
    """The computation of a kind's results besides consensus and agreement."""

    def figures(self, judgments: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        """Return the results of the judgments. ``seed`` is for random draws, such as those of a bootstrap."""
        return KindResults()

    def caption_scores(self, judgments: Sequence[IncludedJudgment]) -> list[CaptionScore] | None:
        """Return the human scores of captions. Return None if the consensus of a unit is the score of its caption."""
        return None


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """The settings by which ``evaluate`` compares caption metrics with the answers.

    Attributes:
        cuts: thresholds that make human scores binary, to compute kappa with a metric.
        per_image: whether scores are also compared within each image.
        refusal: advice if metrics cannot be compared with the answers; "" if they can.
    """

    cuts: tuple[float, ...] = ()
    per_image: bool = False
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class RelevanceScale:
    """The meaning of the consensus about a caption.

    Attributes:
        is_relevant: a function that returns whether a consensus value says that the caption describes its item.
        grade: a function that returns the TREC relevance of a consensus value, a whole number; 0 means "not relevant".
        is_mean: whether the consensus is a mean.
        ends: the lowest and the highest answer.
        least_share: if the consensus is no mean, the smallest share of yes for which a caption describes its item.
    """

    is_relevant: Callable[[float], bool]
    grade: Callable[[float], int] = int
    is_mean: bool = False
    ends: tuple[float, float] = (0.0, 1.0)
    least_share: float = 1.0

    @classmethod
    def of_means(cls, scale: Scale) -> RelevanceScale:
        """Return the meaning of means on a scale. A mean in its upper half says that the caption describes its item."""
        return cls(
            is_relevant=scale.is_upper, grade=scale.steps_to, is_mean=True, ends=(scale.low, scale.high)
        )

    def is_relevant_mean(self, mean: float) -> bool:
        """Return whether answers with this mean say that the caption describes its item."""
        return self.is_relevant(mean) if self.is_mean else mean >= self.least_share


class ShownContent(BaseModel):
    """The content that a unit shows besides captions (``Unit.content``)."""

    model_config = ConfigDict(strict=True)


class AnswerFileFormat:
    """The form of answers in exported and imported files. This class keeps their stored form."""

    def to_file(self, answer: Any, *, content: Mapping[str, Any]) -> Any:
        """Convert an answer or a consensus to its form in files. ``content`` is the content of its unit."""
        return answer

    def from_file(self, answer: Any, *, content: Mapping[str, Any]) -> Any:
        """Convert an answer from its form in files. Raise ValueError, with the expected form, if it is invalid."""
        return answer

    def fields(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return the named texts that a unit shows besides captions."""
        return {}


class ErrorMarks(ABC):
    """The functions of a kind whose answers mark errors in the unit's first text."""

    @abstractmethod
    def weighted_errors(self, answer: Any) -> Sequence[Mapping[str, Any]]:
        """Return the marked errors of an answer with their weights.

        An error has ``start`` and ``end`` (None if something is missing in the text), ``severity``, ``weight``, and
        ``category`` if the study has categories.
        """

    @abstractmethod
    def similarity(self, first: Any, second: Any) -> float:
        """Return the similarity of the marks of two answers, from 0 to 1."""

    @abstractmethod
    def shift(self, answer: Any, *, written: str, stored: str) -> Any:
        """Return an answer about the text ``written`` with the offsets that its marks have in the text ``stored``.

        ``stored`` is the same text as the dataset stores it, for example without outer blanks.
        """

    @abstractmethod
    def instructions(self) -> str:
        """Return the instructions to a language model about the form of its reply."""

    @abstractmethod
    def read_reply(self, reply: str, *, text: str) -> Any:
        """Return the unchecked answer in a model's reply. Raise ValueError or another error if it has none."""


class Kind(ABC):
    """A protocol: its page, its answers, their consensus, and their comparison with metrics.

    Attributes of answers:
        values: the numbers that are allowed as stored answers, such as 1 and 2 for the first and the second candidate;
            empty if answers are JSON.
        scale: the usual scale of a kind whose studies may have another; None for other kinds.
        choices: the answers that a worker chooses from, in the order of the page; empty if there is no such list.
        confidences: the choices of a second part of each answer.
        labelled_values: the answers that the study-file key ``labels`` renames, in order.
        names_best: whether an answer names the best of the captions in ``unit.content["options"]`` by its position,
            from 1, under the key ``BEST``.
        writes_captions: whether an answer is a caption of the unit's image.
        marks_text: whether answers are about places in the unit's first text.
        marks: the functions for marked errors; None unless answers mark errors.
        relevance: the meaning of the consensus about a caption; None unless a unit is one caption of one image.

    Attributes of the page:
        two_sided: whether a unit has two candidates, whose order on the page is drawn.
        grouped: whether a HIT has images with several captions each.
        balances_page_lengths: whether the lengths of pages differ by at most one; otherwise all pages but the last
            are full.
        no_source_reason: why the page cannot show a source text; "" if it can.
        wordings: the titles, questions and labels by type of judged text, such as "summary"; {} if all types have the
            same.
        wording: the member of ``wordings`` that is used now (``with_wording``).

    Attributes of drawing:
        compares_pairs: whether units belong to candidate pairs.
        defaults: study-file values that differ from the design's defaults.
        specific_keys: study-file keys that only this kind uses.
        required_item_content: what the items must have besides captions: "texts" or "boxes".
        system_content: what both systems and people name for an item, "boxes" or "keywords" (``SystemContent.Kind``);
            "" for other kinds.
        min_options: the smallest number of systems whose captions a unit shows together.
        content: the pydantic model of a unit's content, to check imported units.

    Attributes of export:
        specific_formats: export formats for this kind only.
    """

    name: ClassVar[str]
    title: str
    page: Page
    sides: Sides = Sides()
    aggregation: Aggregation
    results: Results | None = None
    comparison: MetricComparison = MetricComparison()

    values: tuple[float, ...] = ()
    scale: Scale | None = None
    choices: tuple[Choice, ...] = ()
    confidences: tuple[Choice, ...] = ()
    labelled_values: tuple[float, ...] = ()
    names_best: ClassVar[bool] = False
    writes_captions: ClassVar[bool] = False
    marks_text: ClassVar[bool] = False
    marks: ErrorMarks | None = None
    relevance: RelevanceScale | None = None

    two_sided: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    balances_page_lengths: ClassVar[bool] = False
    no_source_reason: ClassVar[str] = ""
    wordings: Mapping[str, Wording] = {}
    wording: Wording | None = None

    compares_pairs: ClassVar[bool] = False
    defaults: ClassVar[dict[str, Any]] = {}
    specific_keys: ClassVar[tuple[str, ...]] = ()
    required_item_content: ClassVar[tuple[str, ...]] = ()
    system_content: ClassVar[str] = ""
    min_options: ClassVar[int] = 0
    content: ClassVar[type[ShownContent]] = ShownContent

    specific_formats: ClassVar[tuple[str, ...]] = ()
    exchange: AnswerFileFormat = AnswerFileFormat()

    @property
    def is_open(self) -> bool:
        """Whether answers are stored as JSON in ``answer``, and not as numbers in ``value``."""
        return not self.values

    @property
    def outcomes(self) -> tuple[float, ...]:
        """The values of answers without their strength and confidence."""
        return self.values

    @property
    def judges_one_caption(self) -> bool:
        """Whether a unit is one caption of one image; ``sampling.pairs_from`` then says which captions."""
        return self.relevance is not None

    @property
    def unused_known_item_keys(self) -> frozenset[str]:
        """The keys of a ``KnownItem`` that this kind does not use. A page with a picture shows no reference."""
        if not self.two_sided:
            return frozenset({"reference", "second"})
        return frozenset({"reference"}) if self.page.shows_picture else frozenset()

    @property
    def supports_unit_ids(self) -> bool:
        """Whether ``sampling.only`` can name candidate pairs or units."""
        return self.compares_pairs or self.judges_one_caption

    def for_design(self, design: StudyDesign) -> Kind:
        """Return this kind with the form of answers, the wording and the labels of a design."""
        return with_wording(self.with_setting(self.setting(design)), design.judged, design.labels)

    def question_for(self, study_file: Mapping[str, Any]) -> Any:
        """Return the question of a study file, or the default question for its type of judged text."""
        question = study_file.get("question", "")
        wording = self.wordings.get(str(study_file.get("judged")))
        return wording.question if wording and question == self.defaults.get("question") else question

    def defaults_for(self, study_file: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``defaults`` adapted to the parsed study file and its preset."""
        return self.defaults

    def setting(self, design: StudyDesign) -> str:
        """Return the design options on which the form of answers depends, as a text; "" for the usual form.

        Exports include this text. The kind determines its format, such as "no_difference,strength" for pairs.
        """
        return ""

    def with_setting(self, setting: str) -> Kind:
        """Return this kind, or a changed copy, with the form of answers that ``setting()`` describes."""
        return self

    def extend_setting(self, setting: str | None, answer: Any) -> str:
        """Return the setting that allows an answer of a file and all answers before it.

        Args:
            setting: the setting that allows the answers before it; None for the first answer.

        Raises:
            ValueError: no setting allows all of these answers.
        """
        return ""

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        """Return the study-file tables that correspond to the kind's setting, a text such as "neither,confidence".

        The result is like ``{"answers": {"neither": True, "confidence": True}}``.
        """
        return {}

    def scale_problem(self, scale: Scale) -> str:
        """Return what was expected instead of a scale that this kind cannot show; "" if it can show the scale."""
        return ""

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        """Yield a clause for each contradiction between a design and this kind.

        A clause begins with a study-file key, as in "scale.low is 0, but ...".
        """
        return iter(())

    @abstractmethod
    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        """Return the units, controls and HITs of a design.

        Raises:
            DesignError: the dataset cannot supply the units or the controls.
        """

    def hits(
        self,
        design: StudyDesign,
        groups: Sequence[Group],
        *,
        control_images: Sequence[Image] = (),
        known_items: Sequence[KnownItem] = (),
    ) -> tuple[HITSpec, ...]:
        """Build the HITs of a design from groups of judged units, and add its control items.

        ``control_images`` are the images of the control split, ``known_items`` the known items of the study file.
        """
        return build_hits(
            groups,
            design=design,
            size=self.hit_size(design),
            shows_picture=self.page.shows_picture,
            balance_lengths=self.balances_page_lengths,
            control_images=control_images,
            makers=self.control_items(design),
            known_items=known_items,
        )

    def hit_size(self, design: StudyDesign) -> int:
        """Return the number of groups on a full page, including control items."""
        return design.images_per_hit if self.grouped else design.units_per_hit

    def control_items(self, design: StudyDesign) -> ControlMakers:
        """Return the functions that make items with a known answer, for HITs and for a quiz."""
        return ControlMakers()

    def control_unit(
        self,
        slot: ControlSlot,
        image: Image,
        parts: Sequence[Any],
        expected: Any,
        control_kind: str,
        **unit_fields: Any,
    ) -> UnitSpec:
        """Return a control item, whose key is derived from its place (``slot``), the image and ``parts``."""
        return UnitSpec(
            key=content_key("control", self.name, slot.design.seed, slot.position, image.name, *parts),
            image=image.name,
            control=True,
            control_kind=control_kind,
            expected=expected,
            **unit_fields,
        )

    def passage(self, unit: Any) -> str:
        """Return the name of the document, or other sequence, within which the unit is shown; "" if there is none."""
        return ""

    @abstractmethod
    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """Return the unit as a worker sees it (docs/api.md), without position, protocol and question.

        ``unit`` is a ``Unit`` row or, in a preview, a ``UnitSpec``.
        """

    @abstractmethod
    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> Any:
        """Check an answer, and return it in its stored form, except that it still refers to the order on the page.

        If ``design`` is None, as for a file, the form of answers is that of the kind's present setting.

        Raises:
            ValueError: the answer is invalid; the message ends with "expected ...".
        """

    @abstractmethod
    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        """Return the unchecked answer at ``position`` of the page, or None, from a posted form."""

    def without_texts(self, answer: Any) -> Any:
        """Return an open answer without its free text; None if it consists of free text."""
        return None if self.writes_captions else answer

    def describe_answer(self, answer: Any) -> str:
        """Return an answer as a person reads it: the label of its choice or, if it is no integer, its text."""
        labels = {choice.value: choice.text for choice in self.choices}
        return labels.get(answer, str(answer)) if isinstance(answer, int) else str(answer)

    def describe_expected(self, expected: Any) -> str:
        """Describe the expected answer, or range of answers, of a control item."""
        return expected if isinstance(expected, str) else self.describe_answer(expected)

    def advise(self, answer: Any, design: StudyDesign) -> str:
        """Return advice on how to improve a valid answer; "" if there is none."""
        return ""

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        """Return the parts of an open consensus as texts. The most frequent part is first."""
        return []

    def is_right(self, answer: Any, expected: Any) -> bool:
        return bool(answer == expected)

    def check_expected(self, expected: Any, *, answer: Any, unit: Any) -> None:
        """Raise an error if answers cannot be compared with the expected answer of an imported control item."""
        self.is_right(answer, expected)

    @property
    def expected_choices(self) -> tuple[Any, ...]:
        """The answers that a study file can expect for a known item."""
        return ()

    def count_right(self, expected: Any) -> int:
        """Return the number of answers in ``values`` that are right if a control item expects ``expected``."""
        return sum(self.is_right(value, expected) for value in self.values)

    def outcome_of(self, answer: Any) -> Any:
        """Return an answer without its strength or confidence: one of ``outcomes``."""
        return answer

    def expected_on_repeat(self, answer: Any) -> Any:
        """Return the answer, or range of answers, that is right for a repeated unit if this was the first answer."""
        return answer


class ChoiceKind(Kind):
    """A kind whose answers are a few whole numbers."""

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> float:
        if type(answer) is not int or answer not in self.values:
            raise ValueError(gettext("expected %(values)s") % {"values": self._expected})
        return answer

    @property
    def _expected(self) -> str:
        low, high = min(self.values), max(self.values)
        if len(self.values) > 10:
            return gettext("%(low)d to %(high)d") % {"low": low, "high": high}
        return gettext(" or ").join(map(str, sorted(self.values)))

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> Any:
        """Return the field ``u<position>`` as a number. Return other texts unchanged; ``clean_answer`` refuses them."""
        text = form.get(f"u{position}")
        if text in (None, ""):
            return None
        is_number = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10
        return int(text) if is_number else text


class OpenKind(Kind):
    """A kind whose answers are open: texts, lists or tables instead of a few numbers."""

    comparison = MetricComparison(
        refusal="its answers are open; docs/evaluation.md says what to use instead."
    )


def answer_cell(answer: object) -> str:
    """Return an open answer as JSON for a cell of a table; "" for None."""
    return "" if answer is None else json.dumps(answer, ensure_ascii=False)


def sort_by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts from the largest down; equal counts are in alphabetical order of their keys."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def with_wording(kind: Kind, text_type: str, labels: Sequence[str]) -> Kind:
    """Return the kind with the wording for a type of judged text, such as "translation".

    Args:
        labels: the study's labels for the choices or, if there are none, for the two ends of the scale; empty to use
            those of the wording. They are empty for a kind without wordings.
    """
    wording = kind.wordings.get(text_type)
    if wording is None or (wording is kind.wording and not labels):
        return kind
    new_kind = copy(kind)
    new_kind.title = wording.title
    new_kind.wording = replace(wording, poles=tuple(labels)) if labels and wording.poles else wording
    labels_of_choices = (labels or wording.choices) if kind.choices else ()
    new_kind.choices = tuple(
        replace(choice, label=word) for choice, word in zip(kind.choices, labels_of_choices, strict=True)
    )
    if kind.page.keys and wording.keys:
        keys = zip(kind.page.keys, wording.keys, strict=True)
        new_kind.page = replace(kind.page, keys=tuple((key_names, words) for (key_names, _), words in keys))
    return new_kind
