"""The kind in which people mark the errors of a text.

People then score the text from 0 to 100 (ESA), or the weights of the errors give a score (MQM).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.texts import word_bounds
from contrib.error_spans.kind.agreement import SpanResults
from contrib.error_spans.kind.answers import (
    CATEGORY,
    END,
    MIN_F1,
    SCORE_TOLERANCE,
    SEVERITIES,
    SEVERITY,
    START,
    character_f1,
    spans_of_words,
    spans_with_offsets,
)
from contrib.error_spans.kind.consensus import MajorityOfCharacters
from contrib.error_spans.kind.contradictions import span_contradictions
from contrib.error_spans.kind.controls import degraded_control, has_text_to_damage, reference_control
from contrib.error_spans.kind.documents import draw_documents
from contrib.error_spans.kind.drawing import KIND_NAME, draw_texts
from contrib.error_spans.kind.marks import SpanMarks
from contrib.error_spans.kind.mqm import MQM
from contrib.error_spans.kind.options import SpanOptions
from contrib.error_spans.kind.packing import pack_groups
from contrib.error_spans.kind.screens import with_control_screens
from judgments.design.wordings import CAPTION, WORDINGS, read_wordings
from judgments.drawing.controls.dealing import ControlDealer
from judgments.drawing.controls.makers import ControlMakers, KnownItem
from judgments.drawing.draws import rng_for
from judgments.drawing.hits import make_hits
from judgments.drawing.material import SCREEN, Batch, Group, HITSpec, Image, Material
from judgments.kinds.base import Kind, MetricComparison, OpenKind, Page, ShownContent

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


SIDE_KEYS = ("A", "B"), _("go to the first or the second text")  # an entry of Page.keys


class DocumentPlace(ShownContent):
    """The place of a text in a document.

    Attributes:
        name: the document and the number of its version (``kind/documents.py``).
        part: number of the text in the document, from 1.
        of: number of texts of the document.
        before: the previous text; "" for the first one.
        passage: for texts side by side, the document and the numbers of both versions.
    """

    name: str
    part: int
    of: int
    before: str
    passage: str | None = None


class SpanContent(ShownContent):
    """The content of a unit.

    Attributes:
        document: its place in a document; None if no documents are judged.
        screen: the key of the screen that it shares with another unit; None if it is shown alone.
    """

    document: DocumentPlace | None = None
    screen: str | None = None


class SpanAnnotation(OpenKind):
    """Mark the errors in one text of a system. Two texts that are shown side by side are two units."""

    name = KIND_NAME
    wordings = read_wordings(Path(__file__).with_name("wordings.toml"))[KIND_NAME]
    wording = wordings[CAPTION]
    title = wording.title
    labelled_values = (0, 100)  # the ends of the scale of scores, whose labels a study file can set
    defaults = {"question": wording.question, "units_per_hit": 10, "seconds_per_unit": 45.0}
    content = SpanContent
    marks_text = True
    page = Page(
        "annotation/kinds/spans.html",
        script="js/kinds/spans.js",
        style="css/kinds/spans.css",
        keys=(
            (("←", "→"), _("choose a word")),
            ((_("Shift ←"), _("Shift →")), _("choose more or fewer words")),
            (("M", "J", "K"), _("mark as a minor, major or critical error")),
            (("X",), _("mark that something is missing")),
            ((_("Delete"),), _("remove the chosen mark")),
            (("0", "…", "9"), _("0, 10, 20 … 90")),
            (("7", "5"), "75"),
        ),
        self_contained=False,  # it needs its script from this server
    )
    comparison = MetricComparison(per_image=True)
    specific_formats = ("spans",)
    specific_keys = (
        "spans.severities", "spans.categories", "spans.own", "spans.weights", "spans.score", "spans.missing",
        "spans.reference", "spans.documents", "spans.contrastive",
    )  # fmt: skip

    def __init__(self, options: SpanOptions | None = None) -> None:
        self.options = options or SpanOptions()
        mqm = MQM.with_weights(self.options.weights)
        self.aggregation, self.results = MajorityOfCharacters(mqm), SpanResults(mqm)
        self.marks = SpanMarks(self.options, mqm)

    @property
    def judges_one_caption(self) -> bool:
        return True

    def setting(self, design: StudyDesign) -> str:
        """Return the options of a design on which answers depend, as text."""
        table = design.spans
        categories = {"none": {}, "mqm": MQM.labels, "own": {name: name for name in table.own}}
        return SpanOptions(
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

    def extend_setting(self, setting: str | None, answer: Any) -> str:
        """Return a setting that also allows the marks of an answer in a file."""
        answer = answer if isinstance(answer, Mapping) else {}
        # Before the first answer, there is no setting. Then the answer decides whether there are scores.
        options = (
            SpanOptions.from_text(setting) if setting else SpanOptions(severities=(), score="score" in answer)
        )
        spans = answer.get("spans")
        marks = [span for span in spans if isinstance(span, Mapping)] if isinstance(spans, list) else []
        return options.with_marks(marks).as_text()

    def tables_of_setting(self, setting: str) -> dict[str, dict[str, Any]]:
        """Return the table ``spans`` of a study file for a setting, a text that ``SpanOptions.from_text`` reads."""
        options = SpanOptions.from_text(setting)
        names = [name for name, _ in options.categories]
        categories = "none"
        if names:
            categories = "mqm" if set(names) <= set(MQM.labels) else "own"
        table = {
            "categories": categories,
            "own": names if categories == "own" else [],
            "score": options.score,
        }
        return {"spans": table | ({"severities": list(options.severities)} if options.severities else {})}

    def with_setting(self, setting: str) -> SpanAnnotation:
        return SpanAnnotation(SpanOptions.from_text(setting))

    @property
    def question_of_score(self) -> Any:
        """The question of a slider about the same type of text, which is found by the title of its wording."""
        text_type = next(key for key, wording in self.wordings.items() if wording.title == self.title)
        return gettext(WORDINGS["slider"][text_type].question)

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        return span_contradictions(design)

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        draw = draw_documents if design.spans.documents else draw_texts
        return draw(self, design, material)

    def hits(
        self,
        design: StudyDesign,
        groups: Sequence[Group],
        *,
        control_images: Sequence[Image] = (),
        known_items: Sequence[KnownItem] = (),
    ) -> tuple[HITSpec, ...]:
        """Build HITs. Texts of a document, and texts side by side, stay on one page."""
        has_documents, is_contrastive = design.spans.documents, design.spans.contrastive
        if not has_documents and not is_contrastive:
            return super().hits(design, groups, control_images=control_images, known_items=known_items)
        dealer = ControlDealer(
            with_control_screens(design) if is_contrastive else design,
            control_images,
            makers=self.control_items(design),
            known_items=known_items,
            avoids_images=not has_documents,  # the groups of a document name the document, not an image
        )
        size = design.units_per_hit - design.controls.per_hit
        pages = pack_groups(groups, size=size, rng=rng_for(design.seed, "packing"))
        return tuple(
            make_hits(
                pages,
                seed=design.seed,
                protocol=self.name,
                deal_controls=dealer.deal_controls,
                rng=rng_for(design.seed, "control places"),
            )
        )

    def passage(self, unit: Any) -> str:  # units with the same passage stay together and in order on a page
        document = {} if unit.control else unit.content.get("document", {})
        return str(document.get("passage") or document.get("name", ""))

    def control_items(self, design: StudyDesign) -> ControlMakers:
        return ControlMakers(
            reference=partial(reference_control, self),
            degraded=partial(degraded_control, self),
            min_references=0,
            quiz_usable=has_text_to_damage,
        )

    def expected_on_repeat(self, answer: Any) -> dict[str, Any]:
        return {"again": answer}

    def check_expected(self, expected: Any, *, answer: Any, unit: Any) -> None:
        if "again" in expected:
            self.clean_answer(expected["again"], unit=unit, design=None)
        super().check_expected(expected, answer=answer, unit=unit)

    def is_right(self, answer: Any, expected: Any) -> bool:
        """Return whether the answer is right for a check question.

        For a damaged text, a span must overlap the damage (``within``). For a repeated text, the score or, without
        scores, the spans must resemble those of the first answer (``again``).
        """
        if "within" in expected:
            start, end = expected["within"]
            return any(
                span[START] < end and start < span[END] for span in spans_with_offsets(answer["spans"])
            )
        first_answer = expected["again"]
        if "score" in answer and "score" in first_answer:
            return bool(abs(answer["score"] - first_answer["score"]) <= SCORE_TOLERANCE)
        return character_f1(answer["spans"], first_answer["spans"]) >= MIN_F1

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        text, options = unit.first.text, self.options
        document = {} if unit.control else unit.content.get("document", {})
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "caption": {"text": text},
            "words": [[start, end] for start, end in word_bounds(text)],
            "severities": list(options.severities),
            "categories": [{"name": name, "label": gettext(label)} for name, label in options.categories],
            "missing": options.missing,
            "scored": options.score,
            **({"reference": {"text": unit.reference.text}} if unit.reference else {}),
            **({"document": {key: document[key] for key in ("part", "of", "before")}} if document else {}),
            **({SCREEN: unit.content[SCREEN]} if SCREEN in unit.content else {}),
        }

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> dict[str, Any]:
        # without a design, as for an answer in a file, the kind's own options count
        options = self.options if design is None else SpanOptions.from_text(self.setting(design))
        return options.clean_answer(answer, length=len(unit.first.text))

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> dict[str, Any] | None:
        """Read ``u<position>`` (the score) and the fields whose names begin with it.

        These are ``-w<word>`` (severity), ``-k<word>`` (category), ``-m`` and ``-mk`` (missing parts), and
        ``-none`` (no error).
        """
        name, text = f"u{position}", unit.first.text
        marks: dict[int, tuple[str, ...]] = {}
        asks_category = any(key.startswith((f"{name}-k", f"{name}-mk")) for key in form)
        keys = (SEVERITY, CATEGORY) if asks_category else (SEVERITY,)
        for word in range(len(word_bounds(text))):
            if severity := form.get(f"{name}-w{word}"):
                marks[word] = (severity, form.get(f"{name}-k{word}", "")) if asks_category else (severity,)
        spans = spans_of_words(text, marks, keys)
        if severity := form.get(f"{name}-m"):
            category = {CATEGORY: form.get(f"{name}-mk", "")} if asks_category else {}
            spans.append({START: None, END: None, SEVERITY: severity, **category})
        score = str(form.get(name) or "")
        if not spans and not score and f"{name}-none" not in form:
            return None
        # Other texts and very long numbers are kept as text, which `clean_answer` refuses.
        is_number = score.isascii() and score.isdigit() and len(score) < 10
        return {"spans": spans, **({"score": int(score) if is_number else score} if score else {})}

    def describe_answer(self, answer: Any) -> str:
        if "within" in answer:  # the expected answer of a check question
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
            place = (
                f"“{text[span[START] : span[END]]}”"
                if span[START] is not None
                else gettext("something missing")
            )
            category = f", {span[CATEGORY]}" if span.get(CATEGORY) else ""
            lines.append(f"{place} ({span[SEVERITY]}{category})")
        return lines
