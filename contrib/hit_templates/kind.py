"""The kind of HIT templates, in which workers fill in a page that the researcher wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from common.amounts import with_noun
from common.errors import DesignError
from contrib.hit_templates.answers import answer_of_form, checked_answer
from contrib.hit_templates.controls import (
    control_contradictions,
    find_known_items,
    make_known_control,
)
from contrib.hit_templates.expected_answers import expectation_text, expected_on_repeat, meets_expectation
from contrib.hit_templates.filling import filled_questions
from contrib.hit_templates.questions import FormQuestion
from contrib.hit_templates.reading import TemplateForm, TemplateProblem, read_template
from contrib.hit_templates.results import AnswersByQuestion, ResultsByQuestion, TemplatePart
from judgments.drawing.controls.makers import KNOWN_GOOD, ControlMakers
from judgments.drawing.draws import draw_images, rng_for
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, Image, Material, UnitSpec
from judgments.kinds.base import (
    AnswerFileFormat,
    Kind,
    MetricComparison,
    OpenKind,
    Page,
    ShownContent,
)

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

# The template in the form of a new study.
INITIAL_TEMPLATE = """<blockquote>${text}</blockquote>
<fieldset>
  <legend>Does this text make sense?</legend>
  <label><input type="radio" name="sense" value="yes" required> Yes</label>
  <label><input type="radio" name="sense" value="no" required> No</label>
</fieldset>
"""


class TemplateColumns(TemplatePart, AnswerFileFormat):
    """The format of exported answers, to which the cells of the row are added as columns."""

    def fields(self, content: Mapping[str, Any]) -> dict[str, str]:
        return dict(content.get("fields", {}))


class ShownRow(ShownContent):
    """What a unit shows: the cells of a row of inputs, by column."""

    fields: dict[str, str]


class HITTemplate(OpenKind):
    """Fill in a form that the researcher wrote in HTML. An answer is an object with a value for each question.

    Args:
        source: the HTML of a study's template; "" for the kind without a study.
    """

    name = "template"
    title = "HIT template: your own HTML page, with ${field} for the cells of a row"
    no_source_reason = "a HIT template shows what its own fields say"  # why a source text cannot be shown
    defaults = {
        "question": "Please fill in this form.",
        "units_per_hit": 1,
        "seconds_per_unit": 30.0,
        "template": {"html": INITIAL_TEMPLATE},
        "controls": {"kinds": [KNOWN_GOOD]},
    }
    page = Page(
        "annotation/kinds/template.html",
        script="js/kinds/template.js",
        style="css/kinds/template.css",
        keys=(
            (("1", "…", "9"), _("choose a button, if the form has one row of buttons")),
            (("Tab",), _("go to the next field")),
        ),
        shows_picture=False,
        custom=True,  # the researcher supplies the page
    )
    comparison = MetricComparison(
        refusal=(
            "the answers are values of a form, and metrics do not score such values. The results "
            "show the consensus of each question. The exports contain the answers."
        )
    )
    specific_keys = ("template.html",)
    content = ShownRow

    def __init__(self, source: str = "") -> None:
        self._source = source
        self.aggregation = AnswersByQuestion(self)
        self.results = ResultsByQuestion(self)
        self.exchange = TemplateColumns(self)

    # The setting of this kind is the template's HTML, which never depends on answers.
    def setting(self, design: StudyDesign) -> str:
        return design.template.html

    def with_setting(self, setting: str) -> Kind:
        return HITTemplate(setting)

    def extend_setting(self, setting: str | None, answer: Any) -> str:
        return self._source

    @property
    def form(self) -> TemplateForm:
        assert self._source, "the kind of a study knows its template: KINDS[...].for_design(design)"
        return read_template(self._source)

    def questions(self, unit: Any) -> tuple[FormQuestion, ...]:
        return filled_questions(self.form.questions, unit.content["fields"])

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        if not design.template.html:
            yield pgettext(
                "staff", "template.html is empty; expected HTML with ${field} for the cells of a row"
            )
            return
        try:
            template = read_template(design.template.html)
        except TemplateProblem as error:
            yield pgettext("staff", "template.html cannot be used: %(problem)s") % {
                "problem": str(error).rstrip(".")
            }
            return
        yield from control_contradictions(template, design)

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        """Return one unit for each row. If the design asks for it, rows with expected answers are control items."""
        # an "image" of such a dataset is a row of inputs, and its fields are the cells
        rows = [image for image in material.images if image.fields]
        if not rows:
            raise DesignError(
                pgettext(
                    "staff",
                    "dataset %(name)r has no rows of inputs; import a CSV file of inputs.",
                )
                % {"name": material.name},
                field="dataset",
            )
        template = self.form
        columns = {name for name, _ in rows[0].fields}
        missing_fields = [name for name in template.fields if name not in columns]
        if missing_fields:
            raise DesignError(
                pgettext(
                    "staff",
                    "template.html has the field ${%(missing)s}, but dataset %(name)r has no such "
                    "column; its columns are %(columns)s.",
                )
                % {
                    "missing": missing_fields[0],
                    "name": material.name,
                    "columns": ", ".join(sorted(columns)),
                },
                field="template.html",
            )
        has_controls = bool(design.controls.per_hit) and KNOWN_GOOD in design.controls.kinds
        known_items = find_known_items(template, rows, material.name) if has_controls else []
        control_names = {item.image.name for item in known_items}
        judged_rows = [row for row in rows if row.name not in control_names]
        if not judged_rows:
            raise DesignError(
                pgettext(
                    "staff",
                    "every row of dataset %(name)r has a right answer, so no row is left to be "
                    "judged; expected some rows without a right answer.",
                )
                % {"name": material.name},
                field="dataset",
            )
        drawn_rows = draw_images(judged_rows, design.sampling.images, rng_for(design.seed, "images"))
        groups = [Group(image.name, (self.unit(design, image),)) for image in drawn_rows]
        hits = self.hits(design, groups, known_items=known_items)
        return Batch(hits=hits, notes={"sentences": list(template.omission_notes)})

    def control_items(self, design: StudyDesign) -> ControlMakers:
        return ControlMakers(known_good=make_known_control)

    def unit(self, design: StudyDesign, image: Image) -> UnitSpec:
        fields = dict(image.fields)
        return UnitSpec(
            key=content_key("unit", self.name, design.seed, image.name, fields),
            image=image.name,
            content={"fields": fields},
        )

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """Return the questions, and the cells of the columns that the template has as fields."""
        cells = unit.content["fields"]
        return {
            "fields": {name: cells.get(name, "") for name in self.form.fields},
            "questions": [
                _describe_question(question) for question in self.questions(unit) if question.shape != "fixed"
            ],
            **({"picture": picture_url} if picture_url else {}),
        }

    def clean_answer(self, answer: Any, *, unit: Any, design: StudyDesign | None) -> dict[str, Any]:
        return checked_answer(self._kind_for(design).questions(unit), answer)

    def _kind_for(self, design: StudyDesign | None) -> HITTemplate:
        """Return this kind or, if it is the entry of ``KINDS``, which has no template, one with the design's."""
        return self if self._source or design is None else HITTemplate(design.template.html)

    def read_form(self, form: Mapping[str, Any], position: int, unit: Any) -> dict[str, Any] | None:
        return answer_of_form(form, f"u{position}", self.questions(unit))

    def without_texts(self, answer: Any) -> Any:
        texts = {question.name for question in self.form.questions if question.shape == "text"}
        return {name: value for name, value in answer.items() if name not in texts}

    def describe_answer(self, answer: Any) -> str:
        return "; ".join(f"{name}: {_as_text(value)}" for name, value in answer.items()) or "–"

    def is_right(self, answer: Any, expected: Any) -> bool:
        return meets_expectation(expected, answer)

    def expected_on_repeat(self, answer: Any) -> Any:
        return expected_on_repeat(self.form.questions, answer)

    def describe_consensus(self, answer: Any, *, unit: Any) -> list[str]:
        return [f"{name}: {_outcome_text(outcome)}" for name, outcome in answer.items()]


def _describe_question(question: FormQuestion) -> dict[str, Any]:
    """Return a question as the HTTP interface shows it."""
    bounds = {name: getattr(question, name) for name in ("low", "high", "step")}
    return {
        "name": question.name,
        "shape": question.shape,
        "label": question.label,
        "required": question.required,
        **({"options": [option.value for option in question.options]} if question.options else {}),
        **({name: value for name, value in bounds.items() if value is not None}),
    }


def _as_text(value: Any) -> str:
    """Return the answer to a question, or the expectation of one, as text."""
    if isinstance(value, Mapping):
        return expectation_text(value)
    return ", ".join(value) or "–" if isinstance(value, list) else str(value)


def _outcome_text(outcome: Mapping[str, Any]) -> str:
    """Return the outcome of a question in a consensus (``AnswersByQuestion.combine``) as text."""
    if "mean" in outcome:
        return f"mean {outcome['mean']:g}"
    if "answer" in outcome:
        return "tied" if outcome["answer"] is None else _as_text(outcome["answer"])
    return with_noun(outcome["n"], "answer")
