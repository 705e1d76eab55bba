"""Mark the errors of a text, then score it from 0 to 100 (ESA), or let their weights score it (MQM).

Its results are the agreement on spans, and the frequencies of errors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import ceil
from typing import (
    TYPE_CHECKING,
    Any,  # pydantic reads typing's from Python 3.12 on
)

import numpy as np
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from common.errors import DesignError
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.controls import (
    DEGRADED,
    REFERENCE,
    REPEATED,
    ControlSlot,
    Known,
    Makers,
    control_dealer,
    divide_images,
    make_hits,
    pack_runs,
)
from judgments.drawing.material import (
    LARGEST_PAGE,
    SCREEN,
    SCREENS,
    Batch,
    Group,
    HITSpec,
    Image,
    Material,
    Text,
    UnitSpec,
    candidate_key,
    content_key,
    content_keys,
    draw_images,
    first_of_documents,
    rng_for,
    screen_of,
    shuffled,
)
from judgments.drawing.pairing import draw_captions
from judgments.kinds.base import (
    CaptionScore,
    Comparison,
    Consensus,
    IncludedJudgment,
    Kind,
    KindResults,
    OpenAggregation,
    OpenKind,
    Page,
    Rehearsal,
    Results,
    Shown,
    or_none,
)
from judgments.kinds.spans.answers import (
    CATEGORY,
    END,
    MQM,
    SEVERITIES,
    SEVERITY,
    START,
    Mqm,
    Options,
    f1,
    in_order,
    joined_words,
    placed,
    together,
    value_of,
    words_of,
)
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.agreement import SpanAgreement, span_alpha, span_f1

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


SAME = 15  # points by which two scores of one text may differ, as on a slider
ALIKE = 0.5  # F1 from which two answers without scores mark the same
NEAR = 10  # points within which a rehearsal's score is found
DAMAGED = 0.25  # share of a text's words that a control item replaces
LEAST_DAMAGED, LEAST_WORDS = 2, 4
TEXTS_ON_A_SCREEN = 2  # texts on a screen where they are judged side by side
MISSED, MOVED, INVENTED = 0.15, 0.2, 0.1  # how often a careful simulated worker errs about a span
SEVERITY_KEYS = dict(zip(SEVERITIES, "mjk", strict=True))
SIDE_KEYS = ("A", "B"), _("go to the first or the second text")
SEVERITY_WORDS = {"minor": _("Minor"), "major": _("Major"), "critical": _("Critical")}


class MajorityOfCharacters(OpenAggregation):
    """The mean score and the majority's marks; agreement is that of the scores."""

    rule = "majority-of-characters"
    tie_rule = "unmarked"
    level = "interval"

    def __init__(self, mqm: Mqm = MQM) -> None:
        self.mqm = mqm

    def combine(self, answers: list[dict[str, Any]]) -> Consensus:
        return together(answers, self.mqm)

    def codes(self, unit: Any, answer: Any) -> dict[str, float]:
        return {"": value_of(answer, self.mqm)}


class SpanResults(Results):
    def __init__(self, mqm: Mqm = MQM) -> None:
        self.mqm = mqm

    def figures(self, judged: Sequence[IncludedJudgment], *, seed: int) -> KindResults:
        return _figures_of(judged, self.mqm, seed=seed)

    def caption_scores(self, judged: Sequence[IncludedJudgment]) -> list[CaptionScore]:
        """Return the mean score of each text, item and credited systems."""
        ratings: defaultdict[tuple[int, str, str, tuple[Any, ...]], list[tuple[int, float]]] = defaultdict(
            list
        )
        for judgment in judged:
            unit = judgment.unit
            of = (unit.item_id, unit.first.key, unit.first.text, tuple(unit.systems))
            ratings[of].append((judgment.worker, value_of(judgment.answer, self.mqm)))
        return [
            CaptionScore(item, key, text, float(np.mean([value for _, value in rows])), tuple(rows), systems)
            for (item, key, text, systems), rows in ratings.items()
        ]


class SpanRehearsal(Rehearsal):
    def __init__(self, options: Options) -> None:
        self.options = options

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> dict[str, Any]:
        """Draw more errors and a lower score for worse texts."""
        text, quality = unit.first.text, qualities[0]
        spans = [self._span(text, rng) for _ in range(int(rng.poisson(0.6 * (4.2 - quality))))]
        score = 25 * quality - 8 * len(spans) + float(rng.normal(0, 5))
        return self._answer([span for span in spans if span], score)

    def draw_answer(
        self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        """Miss, move or invent spans with a near score (right) or a far one (wrong), or draw anything."""
        text = unit.first.text
        anything = [span for span in (self._span(text, rng) for _ in range(int(rng.integers(0, 4)))) if span]
        if right is None:
            return self._answer(anything, float(rng.integers(0, 101)))
        if "within" in truth:
            start, end = truth["within"]
            beside = [span for span in anything if span[END] <= start or span[START] >= end]
            there = [{**self._marks(rng), START: start, END: end}] if right else []
            return self._answer([*beside, *there], 30.0 if right else 90.0)
        spans = [self._read(text, span, rng) for span in truth["spans"] if rng.random() >= MISSED]
        if rng.random() < INVENTED and anything:
            spans.append(anything[0])
        score = truth.get("score", 0) + float(rng.normal(0, 4))
        if right:
            return self._answer(spans, score)
        far = float(rng.integers(SAME + 1, 41))
        aside = [span for span in anything if not f1([span], truth["spans"])]
        return self._answer(aside, score - far if score > far else score + far)

    def recovers(self, consensus: Consensus, truth: Any) -> bool:
        if consensus.value is None:
            return False
        if self.options.score:
            return abs(consensus.value - truth["score"]) <= NEAR
        return f1(consensus.answer["spans"], truth["spans"]) >= ALIKE

    def _answer(self, spans: Sequence[Mapping[str, Any]], score: float) -> dict[str, Any]:
        scored = {"score": min(100, max(0, round(score)))} if self.options.score else {}
        return {"spans": in_order(spans), **scored}

    def _span(self, text: str, rng: np.random.Generator) -> dict[str, Any]:
        """Draw one to three words; {} if there are none."""
        tokens = words_of(text)
        if not tokens:
            return {}
        first = int(rng.integers(len(tokens)))
        last = min(first + int(rng.integers(3)), len(tokens) - 1)
        return {START: tokens[first][0], END: tokens[last][1], **self._marks(rng)}

    def _marks(self, rng: np.random.Generator) -> dict[str, str]:
        options = self.options
        marks = {SEVERITY: options.severities[int(rng.integers(len(options.severities)))]}
        if options.categories:
            marks[CATEGORY] = options.categories[int(rng.integers(len(options.categories)))][0]
        return marks

    def _read(self, text: str, span: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """Move the end at times."""
        ends = [end for _, end in words_of(text) if span[START] is not None and end > span[START]]
        if not ends or rng.random() >= MOVED:
            return dict(span)
        return {**span, END: ends[min(int(rng.integers(len(ends))), 2)]}


@dataclass(frozen=True, slots=True)
class _Run:
    """The texts of one document, in order, by the systems that gave the same ones."""

    document: str
    column: int
    segments: tuple[tuple[Image, Text], ...]


class Document(Shown):
    name: str
    part: int
    of: int
    before: str
    passage: str | None = None


class ShownPart(Shown):
    document: Document | None = None
    screen: str | None = None


class Spans(OpenKind):
    """Mark one text of a system.

    ``content`` holds its place in a document, if documents are judged, and its screen (``screen_of``), if two texts
    stand side by side. Each is a unit of its own all the same.
    """

    name = "spans"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    labelled = (0, 100)
    defaults = {"question": wording.question, "units_per_hit": 10, "seconds_per_unit": 45.0}
    content = ShownPart
    marks_text = True
    page = Page(
        "annotation/kinds/spans.html",
        script="js/kinds/spans.js",
        keys=(
            (("←", "→"), _("choose a word")),
            ((_("Shift ←"), _("Shift →")), _("choose more words, or fewer")),
            (("M", "J", "K"), _("mark as a minor, major or critical error")),
            (("X",), _("mark that something is missing")),
            ((_("Delete"),), _("take the chosen mark away")),
            (("0", "…", "9"), _("0, 10, 20 … 90")),
            (("7", "5"), "75"),
        ),
        self_contained=False,
    )
    comparison = Comparison(per_image=True)
    own_formats = ("spans",)
    own_keys = (
        "spans.severities", "spans.categories", "spans.own", "spans.weights", "spans.score", "spans.missing",
        "spans.reference", "spans.documents", "spans.contrastive",
    )  # fmt: skip

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.rehearsal = SpanRehearsal(self.options)
        mqm = MQM.with_weights(self.options.weights)
        self.aggregation, self.results = MajorityOfCharacters(mqm), SpanResults(mqm)

    @property
    def judges_one_caption(self) -> bool:
        return True

    def setting(self, design: StudyDesign) -> str:
        table = design.spans
        categories = {"none": {}, "mqm": MQM.labels, "own": {name: name for name in table.own}}
        return Options(
            severities=tuple(severity for severity in SEVERITIES if severity in table.severities),
            categories=tuple(categories[table.categories].items()),
            score=table.score,
            missing=table.missing,
            weights=table.weights_by_category,
        ).as_text()

    def for_design(self, design: StudyDesign) -> Kind:
        kind = super().for_design(design)
        if design.spans.contrastive:
            kind.page = replace(kind.page, keys=(SIDE_KEYS, *kind.page.keys))
        return kind

    def setting_with(self, before: str | None, answer: Any) -> str:
        answer = answer if isinstance(answer, Mapping) else {}
        options = Options.of_text(before) if before else Options(severities=(), score="score" in answer)
        spans = answer.get("spans")
        marks = [span for span in spans if isinstance(span, Mapping)] if isinstance(spans, list) else []
        return options.with_marks(marks).as_text()

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        options = Options.of_text(setting)
        names = [name for name, _ in options.categories]
        categories = "none" if not names else "mqm" if set(names) <= set(MQM.labels) else "own"
        table = {
            "categories": categories,
            "own": names if categories == "own" else [],
            "score": options.score,
        }
        return {"spans": table | ({"severities": list(options.severities)} if options.severities else {})}

    def with_setting(self, setting: str) -> Spans:
        return Spans(Options.of_text(setting))

    @property
    def question_of_score(self) -> Any:
        judged = next(judged for judged, wording in self.wordings.items() if wording.title == self.title)
        scale = WORDINGS["slider"][judged]
        return gettext(scale.question)

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        table, source = design.spans, design.sampling.pairs_from
        if table.categories == "own" and not table.own:
            yield pgettext(
                "staff",
                "spans.own is empty; expected the names of your categories, as spans.categories is 'own'",
            )
        if len(table.weights_by_category) < len(table.weights):
            yield pgettext("staff", "spans.weights has a category twice; expected each once")
        if len(set(table.own)) < len(table.own):
            yield pgettext("staff", "spans.own has a name twice; expected each once")
        if table.contrastive:
            counts = {"units_per_hit": design.units_per_hit, "controls.per_hit": design.controls.per_hit}
            for key, count in counts.items():
                if count % TEXTS_ON_A_SCREEN:
                    yield pgettext(
                        "staff",
                        "%(key)s is %(count)d, but it counts texts, and two of them stand side by side "
                        "(spans.contrastive); expected an even number",
                    ) % {"key": key, "count": count}
        if not table.documents:
            return
        if source != "outputs":
            yield pgettext(
                "staff",
                "spans.documents is true, so that a document is one system's; "
                "expected sampling.pairs_from = 'outputs', not %(source)r",
            ) % {"source": source}
        if design.filter.bleu_pre or design.sampling.only:
            yield pgettext(
                "staff",
                "spans.documents is true, and filter.bleu_pre or sampling.only would leave out parts of documents",
            )
        if design.controls.per_hit and REPEATED in design.controls.kinds:
            yield pgettext(
                "staff",
                "controls.kinds names 'repeated', which would repeat whole documents (spans.documents); "
                "expected 'reference' or 'degraded'",
            )

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        if design.spans.documents:
            return self._batch_of_documents(design, material)
        draw = draw_captions(design, material, partial(self._keys, design))
        groups = [
            Group(captions.image.name, units)
            for captions in draw.images
            for units in self._screens(
                design,
                captions.image.name,
                [
                    self._unit(design, captions.image, text, audited=audited)
                    for text, audited in captions.judged(
                        rng_for(design.seed, f"captions {captions.image.name}"),
                        rng_for(design.seed, f"audited {captions.image.name}"),
                    )
                ],
            )
        ]
        hits = self.hits(design, groups, control_images=draw.division.controls)
        if not design.spans.contrastive:
            return Batch(hits=hits, notes=draw.notes)
        sentences = [*draw.notes.get("sentences", []), *_notes_of_screens(design, hits)]
        return Batch(
            hits=hits, notes={**draw.notes, "sentences": sentences, SCREENS: max(map(_screen_count, hits))}
        )

    def _screens(
        self, design: StudyDesign, name: str, units: Sequence[UnitSpec]
    ) -> list[tuple[UnitSpec, ...]]:
        """Return an item's units by screen: single ones, or two drawn by chance."""
        if not design.spans.contrastive:
            return [(unit,) for unit in units]
        mixed = shuffled(units, rng_for(design.seed, f"screens {name}"))
        return [
            _on_one_screen(mixed[at : at + TEXTS_ON_A_SCREEN])
            for at in range(0, len(mixed), TEXTS_ON_A_SCREEN)
        ]

    def _batch_of_documents(self, design: StudyDesign, material: Material) -> Batch:
        division = divide_images(design, material)
        runs = _runs(division.judged)
        names = list(dict.fromkeys(run.document for run in runs))
        if not runs:
            raise DesignError(
                pgettext(
                    "staff",
                    "spans.documents is true, but no item of split %(split)r of dataset %(name)r names its document "
                    "and has a text of a system; expected a column document (docs/spans.md).",
                )
                % {"split": design.sampling.split, "name": material.name},
                field="spans.documents",
            )
        images = [Image(name, "", ()) for name in names]
        drawn = {
            image.name
            for image in draw_images(images, design.sampling.images, rng_for(design.seed, "images"))
        }
        chosen = [run for run in runs if run.document in drawn]
        groups = self._documents(design, chosen, division.judged)
        hits = self.hits(design, groups, control_images=division.controls)
        sentences = [
            f"Documents: {len(drawn):,}, judged as {len(chosen):,} texts of systems, each by one person in its order."
        ]
        sizes = [len(hit.units) for hit in hits]
        largest, minutes = max(sizes), design.crowd.lease_minutes
        if largest * design.seconds_per_unit > minutes * 60:
            raise DesignError(
                pgettext(
                    "staff",
                    "The largest page has %(n)d texts, as documents stay whole, which at seconds_per_unit = "
                    "%(seconds)g take longer than crowd.lease_minutes = %(minutes)d; expected at least "
                    "%(least)d minutes.",
                )
                % {
                    "n": largest,
                    "seconds": design.seconds_per_unit,
                    "minutes": minutes,
                    "least": ceil(largest * design.seconds_per_unit / 60),
                },
                field="crowd.lease_minutes",
            )
        if longer := sum(size > design.units_per_hit for size in sizes):
            sentences.append(
                f"Pages longer than units_per_hit: {longer:,}, of up to {largest:,} texts; pay and lease_minutes are "
                "per page."
            )
        notes: dict[str, Any] = {LARGEST_PAGE: largest}
        if design.spans.contrastive:
            sentences += _notes_of_screens(design, hits)
            notes[SCREENS] = max(map(_screen_count, hits))
        return Batch(hits=hits, notes={"sentences": sentences, **notes})

    def _documents(self, design: StudyDesign, runs: Sequence[_Run], images: Sequence[Image]) -> list[Group]:
        """Return each run as a group, or two of a document drawn by chance, item by item."""
        if not design.spans.contrastive:
            return [Group(run.document, self._units_of(design, run)) for run in runs]
        order = {image.name: number for number, image in enumerate(images)}
        by_document: dict[str, list[_Run]] = {}
        for run in runs:
            by_document.setdefault(run.document, []).append(run)
        groups = []
        for document, runs_of_document in by_document.items():
            mixed = shuffled(runs_of_document, rng_for(design.seed, f"screens {document}"))
            for at in range(0, len(mixed), TEXTS_ON_A_SCREEN):
                sides = mixed[at : at + TEXTS_ON_A_SCREEN]
                passage = f"{document}#{'+'.join(str(run.column) for run in sides)}"
                by_image: dict[str, list[UnitSpec]] = {}
                for run in sides:
                    for unit in self._units_of(design, run, passage=passage):
                        by_image.setdefault(unit.image, []).append(unit)
                units = [
                    unit
                    for part, name in enumerate(sorted(by_image, key=order.__getitem__), start=1)
                    for unit in _on_one_screen(
                        [_as_part(unit, part, len(by_image)) for unit in by_image[name]]
                    )
                ]
                groups.append(Group(document, tuple(units)))
        return groups

    def _units_of(self, design: StudyDesign, run: _Run, *, passage: str = "") -> tuple[UnitSpec, ...]:
        before, units = "", []
        for part, (image, text) in enumerate(run.segments, start=1):
            document = {
                "name": f"{run.document}#{run.column}",
                "part": part,
                "of": len(run.segments),
                "before": before,
                **({"passage": passage} if passage else {}),
            }
            units.append(self._unit(design, image, text, content={"document": document}))
            before = text.text
        return tuple(units)

    def _keys(self, design: StudyDesign, image: Image, texts: Sequence[Text]) -> list[str]:
        return content_keys("unit", self.name, design.seed, image.name, last=[text.key for text in texts])

    def _unit(
        self,
        design: StudyDesign,
        image: Image,
        text: Text,
        *,
        audited: bool = False,
        content: Mapping[str, Any] | None = None,
    ) -> UnitSpec:
        (key,) = self._keys(design, image, [text])
        if content:
            key = content_key(key, content["document"]["name"])
        shown: dict[str, Any] = {"content": content} if content else {}
        if design.spans.reference:
            if not image.references:
                raise DesignError(
                    pgettext(
                        "staff",
                        "spans.reference is true, but item %(name)r has no reference; expected false.",
                    )
                    % {"name": image.name},
                    field="spans.reference",
                )
            shown["reference"] = image.references[0]
        return UnitSpec(key=key, image=image.name, first=text, audited=audited, **shown)

    def hits(
        self,
        design: StudyDesign,
        groups: Sequence[Group],
        *,
        control_images: Sequence[Image] = (),
        known: Sequence[Known] = (),
    ) -> tuple[HITSpec, ...]:
        """Keep documents and screens whole if they are judged."""
        documents, contrastive = design.spans.documents, design.spans.contrastive
        if not documents and not contrastive:
            return super().hits(design, groups, control_images=control_images, known=known)
        deal = control_dealer(
            _with_control_screens(design) if contrastive else design,
            control_images,
            makers=self.control_items(design),
            known=known,
            shows_picture=not documents,
        )
        size = design.units_per_hit - design.controls.per_hit
        pages = pack_runs(groups, size=size, rng=rng_for(design.seed, "packing"))
        places = rng_for(design.seed, "control places")
        return tuple(make_hits(pages, seed=design.seed, protocol=self.name, controls=deal, rng=places))

    def passage(self, unit: Any) -> str:
        document = {} if unit.control else unit.content.get("document", {})
        return str(document.get("passage") or document.get("name", ""))

    def control_items(self, design: StudyDesign) -> Makers:
        return Makers(
            reference=self._reference_control,
            degraded=self._degraded_control,
            least_references=0,
            quiz_usable=lambda image: any(len(words_of(text.text)) >= LEAST_WORDS for text in _texts(image)),
        )

    def _reference_control(self, slot: ControlSlot, image: Image) -> Group:
        """Damage a person's text, else a system's."""
        group = self._damaged(slot, image, image.references or _texts(image), REFERENCE)
        if group is None:
            raise DesignError(
                pgettext(
                    "staff",
                    "item %(name)r has no text of %(least)d words or more that others' words could stand in for, so "
                    "that it gives no check question; set controls.per_hit and quiz.items to 0.",
                )
                % {"name": image.name, "least": LEAST_WORDS},
                field="controls.split",
            )
        return group

    def _degraded_control(self, slot: ControlSlot, image: Image) -> Group | None:
        texts = [text for _, text in image.outputs] or list(image.references)
        return self._damaged(slot, image, texts, DEGRADED)

    def _damaged(
        self, slot: ControlSlot, image: Image, texts: Sequence[Text], control_kind: str
    ) -> Group | None:
        """Replace a run of words by another item's; they must be marked (Kocmi et al. 2024, section 3).

        Two texts side by side are both damaged, so that neither can be left unread: of ``texts``, else of all.
        """
        others: list[Text] = []
        spans = slot.design.spans
        if spans.contrastive:  # equal texts would show by their difference what is damaged
            texts = _different(texts)
            known = {text.text for text in texts}
            others = _different([text for text in _texts(image) if text.text not in known])
        damages: dict[str, tuple[Text, dict[str, Any]]] = {}
        for damaged, expected in chain(*(_damages(slot, image, some) for some in (texts, others))):
            damages.setdefault(damaged.key, (damaged, expected))
            if len(damages) == (TEXTS_ON_A_SCREEN if spans.contrastive else 1):
                break
        units = []
        for damaged, expected in damages.values():
            shown: dict[str, Any] = {"first": damaged}
            if spans.reference and image.references:
                shown["reference"] = image.references[0]
            units.append(self.control_unit(slot, image, (damaged.key,), expected, control_kind, **shown))
        return Group(image.name, _on_one_screen(units)) if units else None

    def expected_on_repeat(self, answer: Any) -> dict[str, Any]:
        return {"again": answer}

    def check_expected(self, expected: Any, *, answer: Any, unit: Any) -> None:
        if "again" in expected:
            self.clean_answer(expected["again"], unit=unit, design=None)
        super().check_expected(expected, answer=answer, unit=unit)

    def is_right(self, answer: Any, expected: Any) -> bool:
        """Look for a span over the damage, or compare with the first answer to a repeated text."""
        if "within" in expected:
            start, end = expected["within"]
            return any(span[START] < end and start < span[END] for span in placed(answer["spans"]))
        first = expected["again"]
        if "score" in answer and "score" in first:
            return bool(abs(answer["score"] - first["score"]) <= SAME)
        return f1(answer["spans"], first["spans"]) >= ALIKE

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        text, options = unit.first.text, self.options
        document = {} if unit.control else unit.content.get("document", {})
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "caption": {"text": text},
            "words": [[start, end] for start, end in words_of(text)],
            "severities": list(options.severities),
            "categories": [{"name": name, "label": gettext(label)} for name, label in options.categories],
            "missing": options.missing,
            "scored": options.score,
            **({"reference": {"text": unit.reference.text}} if unit.reference else {}),
            **({"document": {key: document[key] for key in ("part", "of", "before")}} if document else {}),
            **({SCREEN: unit.content[SCREEN]} if SCREEN in unit.content else {}),
        }

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> dict[str, Any]:
        options = self.options if design is None else Options.of_text(self.setting(design))
        return options.clean_answer(answer, length=len(unit.first.text))

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> dict[str, Any] | None:
        """Read ``u<position>`` (the score), ``-w<word>`` (severity), ``-k<word>`` (category), ``-m`` and ``-mk``
        (missing parts), and ``-none`` (no error).
        """
        name, text = f"u{position}", unit.first.text
        marks: dict[int, tuple[str, ...]] = {}
        asks_kind = any(key.startswith((f"{name}-k", f"{name}-mk")) for key in form)
        keys = (SEVERITY, CATEGORY) if asks_kind else (SEVERITY,)
        for word in range(len(words_of(text))):
            if severity := form.get(f"{name}-w{word}"):
                marks[word] = (severity, form.get(f"{name}-k{word}", "")) if asks_kind else (severity,)
        spans = joined_words(text, marks, keys)
        if severity := form.get(f"{name}-m"):
            category = {CATEGORY: form.get(f"{name}-mk", "")} if asks_kind else {}
            spans.append({START: None, END: None, SEVERITY: severity, **category})
        score = str(form.get(name) or "")
        if not spans and not score and f"{name}-none" not in form:
            return None
        short = score.isascii() and score.isdigit() and len(score) < 10
        return {"spans": spans, **({"score": int(score) if short else score} if score else {})}

    def describe_answer(self, answer: Any) -> str:
        if "within" in answer:  # what is expected of a check question
            return "–".join(map(str, answer["within"]))
        marks = [
            f"{span[START]}–{span[END]} {span[SEVERITY]}"
            if span[START] is not None
            else f"… {span[SEVERITY]}"
            for span in answer["spans"]
        ]
        return ", ".join([*marks, *([f"{answer['score']:g}"] if "score" in answer else [])]) or "–"

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        text = unit.first.text
        lines = []
        for span in answer["spans"]:
            what = (
                f"“{text[span[START] : span[END]]}”"
                if span[START] is not None
                else gettext("something missing")
            )
            category = f", {span[CATEGORY]}" if span.get(CATEGORY) else ""
            lines.append(f"{what} ({span[SEVERITY]}{category})")
        return lines


def _texts(image: Image) -> list[Text]:
    return [*image.references, *(text for _, text in image.outputs)]


def _different(texts: Sequence[Text]) -> list[Text]:
    return list({text.text: text for text in texts}.values())


def _damages(slot: ControlSlot, image: Image, texts: Sequence[Text]) -> Iterator[tuple[Text, dict[str, Any]]]:
    """Yield damaged texts with what is expected of their judges."""
    rng = slot.rng
    donors = [text.text for other in slot.images if other.name != image.name for text in _texts(other)]
    for base in shuffled(texts, rng):
        tokens = words_of(base.text)
        count = max(LEAST_DAMAGED, round(DAMAGED * len(tokens)))
        if len(tokens) < LEAST_WORDS:
            continue
        first = int(rng.integers(len(tokens) - count + 1))
        start, end = tokens[first][0], tokens[first + count - 1][1]
        for donor in shuffled(donors, rng):
            taken = words_of(donor)
            if len(taken) < count:
                continue
            at = int(rng.integers(len(taken) - count + 1))
            strange = donor[taken[at][0] : taken[at + count - 1][1]]
            if strange in base.text:
                continue
            damaged = base.text[:start] + strange + base.text[end:]
            yield Text(candidate_key(damaged), damaged), {"within": [start, start + len(strange)]}
            break


def _on_one_screen(units: Sequence[UnitSpec]) -> tuple[UnitSpec, ...]:
    """Put two units on one screen; a single one stays alone."""
    if len(units) < TEXTS_ON_A_SCREEN:
        return tuple(units)
    mark = content_key(SCREEN, *(unit.key for unit in units))
    return tuple(replace(unit, content={**unit.content, SCREEN: mark}) for unit in units)


def _as_part(unit: UnitSpec, part: int, of: int) -> UnitSpec:
    """Count the parts of a document by those of both texts side by side."""
    document = {**unit.content["document"], "part": part, "of": of}
    return replace(unit, content={**unit.content, "document": document})


def _with_control_screens(design: StudyDesign) -> StudyDesign:
    """Return the design with its check questions counted as screens."""
    screens = design.controls.per_hit // TEXTS_ON_A_SCREEN
    return design.model_copy(update={"controls": design.controls.model_copy(update={"per_hit": screens})})


def _screen_count(hit: HITSpec) -> int:
    return len({screen_of(unit) or unit.key for unit in hit.units})


def _notes_of_screens(design: StudyDesign, hits: Sequence[HITSpec]) -> list[str]:
    units = [unit for hit in hits for unit in hit.units if not unit.control]
    alone = sum(screen_of(unit) is None for unit in units)
    if alone == len(units):
        raise DesignError(
            pgettext(
                "staff",
                "spans.contrastive is true, but no item has two texts to stand side by side; expected texts of two "
                "systems or more.",
            ),
            field="spans.contrastive",
        )
    short = sum(len(hit.units) < design.units_per_hit for hit in hits)
    sentences = [f"Screens with two texts side by side: {(len(units) - alone) // TEXTS_ON_A_SCREEN:,}."]
    return [
        *sentences,
        *([f"Texts alone on their screen, as no other of their item was left: {alone:,}."] if alone else []),
        *(
            [f"Pages with fewer texts than units_per_hit, as an item stands on a page once: {short:,}."]
            if short
            else []
        ),
    ]


def _runs(images: Sequence[Image]) -> list[_Run]:
    """Group images by document, in import order; equal runs are one."""
    documents: dict[str, list[Image]] = {}
    for image in images:
        if (name := dict(image.fields).get("document", "").strip()) and image.outputs:
            documents.setdefault(name, []).append(image)
    runs: list[_Run] = []
    for name, segments in documents.items():
        best: dict[str, dict[str, Text]] = {}  # of several texts of a system, the one that it ranks first
        for image in segments:
            for system, text in image.outputs:
                best.setdefault(system, {}).setdefault(image.name, text)
        columns: dict[tuple[str, ...], _Run] = {}
        for texts in best.values():
            parts = tuple((image, texts[image.name]) for image in segments if image.name in texts)
            marks = tuple(f"{image.name} {text.key}" for image, text in parts)
            columns.setdefault(marks, _Run(name, len(columns) + 1, parts))
        runs += columns.values()
    return runs


RESAMPLES = 1000


def _figures_of(judged: Sequence[IncludedJudgment], weights: Mqm, *, seed: int) -> KindResults:
    """Return the study's ``spans``, and each unit's mean MQM and standardised score.

    Documents, else items, are resampled together.
    """
    if not judged:
        return KindResults()
    texts = [judgment.unit.pk for judgment in judged]
    workers = [judgment.worker for judgment in judged]
    lengths = [len(judgment.unit.first.text) for judgment in judged]
    marked = [placed(judgment.answer["spans"]) for judgment in judged]
    spans = [[(span[START], span[END]) for span in marks] for marks in marked]
    items = {judgment.unit.item.name: _document_of(judgment.unit) for judgment in judged}
    documents = first_of_documents(items.items())
    clusters = [documents.get(name, name) for name in (judgment.unit.item.name for judgment in judged)]
    severities = [[span[SEVERITY] for span in marks] for marks in marked]
    columns: dict[str, Any] = {"items": clusters, "resamples": RESAMPLES, "seed": seed}
    data = (texts, workers, lengths, spans)
    every = [span for judgment in judged for span in judgment.answer["spans"]]
    mqm: defaultdict[int, list[float]] = defaultdict(list)
    for judgment in judged:
        mqm[judgment.unit.pk].append(weights.score(judgment.answer["spans"]))
    standard = standardised_mean(texts, workers, [value_of(judgment.answer, weights) for judgment in judged])
    rows = zip(standard.units.tolist(), standard.z.tolist(), strict=True)
    z = {unit: or_none(value) for unit, value in rows}
    return KindResults(
        units={unit: {"mqm": sum(marks) / len(marks), "z": z[unit]} for unit, marks in mqm.items()},
        study={
            "spans": {
                "f1": _as_dict(span_f1(*data, **columns)),
                "f1_same_severity": _as_dict(span_f1(*data, labels=severities, **columns)),
                "alpha_u": _as_dict(span_alpha(*data, **columns)),
                "alpha_u_same_severity": _as_dict(span_alpha(*data, labels=severities, **columns)),
                "judgments": len(judged),
                "spans": len(every),
                "without": sum(not judgment.answer["spans"] for judgment in judged),
                "missing": sum(span[START] is None for span in every),
                "severities": dict(sorted(Counter(span[SEVERITY] for span in every).items())),
                "categories": dict(
                    sorted(Counter(span[CATEGORY] for span in every if CATEGORY in span).items())
                ),
                "workers_without_z": standard.left_out,
            }
        },
    )


def _document_of(unit: Any) -> str:
    """Return the unit's document; of releases that name none, that of its run of segments."""
    run = unit.content.get("document")
    document: str = unit.item.document or (run["name"].rpartition("#")[0] if run else "")
    return document


def _as_dict(agreement: SpanAgreement) -> dict[str, Any]:
    return {
        "value": or_none(agreement.value),
        "low": or_none(agreement.low),
        "high": or_none(agreement.high),
        "n": agreement.texts,
        "clusters": agreement.items,
        "judgments": agreement.judgments,
        "confidence": agreement.confidence,
        "resamples": agreement.resamples,
        "seed": agreement.seed,
        "reason": agreement.reason,
        "signature": agreement.signature,
    }
