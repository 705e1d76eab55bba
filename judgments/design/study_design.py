"""The design of a study: one frozen, validated value, read from and written to TOML (docs/study-files.md).

The model below and its tables (``design_tables``) are the study file key for key. A preset's values are defaults under
the file's own; what is stored on the study is always the complete design, so a preset that changes later changes no
existing study.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

import tomli_w
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from common.errors import DesignError
from judgments.design.plans import Plan
from judgments.design.presets import PRESETS, Preset
from judgments.design.requirements import REQUIREMENT_PRESETS
from judgments.design.tables import (
    Access,
    Controls,
    Crowd,
    Example,
    Filter,
    Keywords,
    Listed,
    Panel,
    Part,
    Quiz,
    RuleSetting,
    Sampling,
    Slug,
    Source,
    Stopping,
    Template,
    Workers,
    checked_judged,
)
from judgments.design.wordings import CAPTION
from judgments.drawing.caption_pairs import CROSSED
from judgments.kinds import KINDS

NO_PRESETS: Mapping[str, Preset] = {}
# the tables of a design that Quorum wrote, which names every key of its version; nobody types all of them
WRITTEN_WHOLE = frozenset(
    (
        *("access", "controls", "crowd", "filter", "keywords", "panel"),
        *("quiz", "sampling", "stopping", "template", "workers"),
    )
)
# where pydantic's own words speak of its insides
PLAIN_WORDS = {
    "string_pattern_mismatch": "letters, digits, hyphens and underscores",
    "model_type": "a table",
    "dict_type": "a table",
}


class Contradictions(ValueError):
    """Everything that does not fit together in a design whose keys are right one by one."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__(sentences[0])
        self.sentences = sentences


class StudyDesign(Part):
    """Everything that decides which HITs a study gets and how their answers are used."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    slug: Slug
    dataset: Slug
    protocol: str
    preset: str = ""
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    judgments_per_unit: Annotated[int, Field(ge=1, le=1000)] = 3
    units_per_hit: Annotated[int, Field(ge=1, le=200)] = 20
    images_per_hit: Annotated[int, Field(ge=1, le=50)] = 6
    captions_per_image: Annotated[int, Field(ge=1, le=50)] = 10
    seconds_per_unit: Annotated[float, Field(gt=0, le=3600)] = 6.0
    question: Annotated[str, Field(max_length=500)] = ""
    instructions: Annotated[str, Field(max_length=20_000)] = ""
    consent: Annotated[str, Field(max_length=20_000)] = ""
    contact: Annotated[str, Field(max_length=300)] = ""
    language: Annotated[str, Field(max_length=20, pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "", description="Of the captions, as a BCP 47 tag; screen readers and fonts go by it."
    )
    judged: Annotated[
        Literal["caption", "summary", "translation", "text"], BeforeValidator(checked_judged)
    ] = Field(CAPTION, description="What the texts are; the page's own words go by it.")
    labels: Listed[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        (),
        description="graded: four texts, from 4 down to 1; slider: two, for 0 and 100; empty: built-in ones.",
    )
    examples: Listed[Example] = ()
    source: Source = Source()
    sampling: Sampling = Sampling()
    controls: Controls = Controls()
    filter: Filter = Filter()
    access: Access = Access()
    quiz: Quiz = Quiz()
    workers: Workers = Workers()
    rules: Listed[RuleSetting] = ()
    stopping: Stopping = Stopping()
    keywords: Keywords = Keywords()
    template: Template = Template()
    crowd: Crowd = Crowd()
    panel: Panel = Panel()
    registration: Plan | None = None

    @property
    def about_pictures(self) -> bool:
        """Whether nobody could judge without the picture: captions, with nothing but the picture beside them."""
        return self.judged == CAPTION and not self.source.show

    @model_serializer(mode="wrap")
    def _without_a_plan_that_is_not_there(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """TOML has no word for nothing, and a design without a plan is written as it always was."""
        values: dict[str, Any] = handler(self)
        if values.get("registration", ...) is None:
            del values["registration"]
        return values

    @model_validator(mode="after")
    def _fits_together(self) -> StudyDesign:
        sentences = list(self._contradictions())
        if sentences:
            raise Contradictions(sentences)
        return self

    def _contradictions(self) -> Iterator[str]:
        """What does not fit together, each in a clause that begins with the key it is about."""
        kind = KINDS.get(self.protocol)
        if kind is None:
            yield f"protocol is {self.protocol!r}; this version knows {', '.join(KINDS)}"
            return
        yield from kind.contradictions(self)
        if self.source.show and kind.no_source:
            yield f"source.show is true, but {kind.no_source}; expected false"
        if self.labels and len(self.labels) != len(kind.labelled):
            wanted = f"one for each of {', '.join(map(str, kind.labelled))}" if kind.labelled else "none"
            yield f"labels has {len(self.labels)} texts; for {kind.name}, expected {wanted}"
        elif len(set(self.labels)) < len(self.labels):
            yield "labels has the same text twice, so that two answers could not be told apart"
        size = self.images_per_hit if kind.grouped else self.units_per_hit
        alone = self.crowd.backend == "mturk" and self.crowd.question == "html"
        if alone and not kind.self_contained:
            yield (
                f"crowd.question is 'html', but {kind.name} cannot be asked on a page that stands alone; "
                "expected 'external'"
            )
        if self.controls.per_hit >= size:
            yield f"controls.per_hit is {self.controls.per_hit}, which leaves no place in a HIT of {size}"
        if self.sampling.only and not kind.chosen_by_id:
            yield f"sampling.only names {len(self.sampling.only)} ids, but {kind.name} has none that could be chosen"
        if kind.judges_one_caption and self.sampling.pairs_from == "list" and not self.sampling.listed:
            yield "sampling.listed is empty; sampling.pairs_from = 'list' needs pairs of an image and a caption there"
        if self.sampling.listed and not (kind.judges_one_caption and self.sampling.pairs_from == "list"):
            yield (
                f"sampling.listed holds {len(self.sampling.listed)} pairs, which sampling.pairs_from = "
                f"{self.sampling.pairs_from!r} of {kind.name} does not use; expected none"
            )
        if self.filter.audit and not self.filter.bleu_pre:
            yield f"filter.audit is {self.filter.audit}, but filter.bleu_pre is 0, so that nothing is left out"
        if self.stopping.rule != "none" and not kind.settles:
            yield (
                f"stopping.rule is {self.stopping.rule!r}, but the consensus of {kind.name} has no winner that could "
                "be settled early; expected 'none'"
            )
        if self.stopping.rule == "margin" and self.stopping.minimum > self.judgments_per_unit:
            yield (
                f"stopping.minimum is {self.stopping.minimum}, more than judgments_per_unit = {self.judgments_per_unit}"
            )
        if self.panel.api and (self.crowd.backend != "external" or self.panel.preset != "prolific"):
            yield 'panel.api is true, which is for crowd.backend = "external" with panel.preset = "prolific" alone'


def slugify_name(name: str) -> str:
    """The slug of a study that names none: lower case, words joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "study"


def make_design(values: dict[str, Any], *, saved: Mapping[str, Preset] = NO_PRESETS) -> StudyDesign:
    """Check ``values`` (a study file as nested dicts) and complete them from preset and protocol.

    Args:
        saved: presets of this installation, beside those that ship (``judgments.design.saved_presets``). Values with
            every key need none: they keep the preset's name to say where they came from.

    Raises:
        DesignError: with the dotted key it is about in ``field``.
    """
    try:
        return StudyDesign.model_validate(_completed(values, saved))
    except ValidationError as error:
        raise _as_design_errors(error)[0] from None


def problems_in(values: dict[str, Any], *, saved: Mapping[str, Preset] = NO_PRESETS) -> list[DesignError]:
    """Everything that ``make_design`` would refuse, one error for each key; empty where it would not."""
    try:
        StudyDesign.model_validate(_completed(values, saved))
    except ValidationError as error:
        return _as_design_errors(error)
    except DesignError as error:
        return [error]
    return []


def _completed(values: dict[str, Any], saved: Mapping[str, Preset]) -> dict[str, Any]:
    preset_name = values.get("preset", "")
    preset: dict[str, Any] = {}
    presets = {**saved, **PRESETS}
    complete = values.keys() >= WRITTEN_WHOLE
    if complete:
        values = _as_it_was_drawn(values)
    if preset_name and (not complete or preset_name in PRESETS):
        if not isinstance(preset_name, str) or preset_name not in presets:
            raise DesignError(f"preset is {preset_name!r}; there are {', '.join(presets)}.", field="preset")
        preset = presets[preset_name].values
        stated = values.get("protocol", preset["protocol"])
        if stated != preset["protocol"]:
            raise DesignError(
                f"preset {preset_name!r} is for protocol {preset['protocol']!r}, the file says {stated!r}.",
                field="protocol",
            )
    merged = _merge(preset, values)
    kind = KINDS.get(str(merged.get("protocol", "")))
    if kind is not None:
        merged = _merge(kind.defaults_for(merged), merged)
        if "question" not in values:
            merged["question"] = kind.question_for(merged)
    merged = _with_requirements(merged)
    if isinstance(merged.get("name"), str):
        merged.setdefault("slug", slugify_name(merged["name"]))
    return merged


def stored_design(values: dict[str, Any]) -> StudyDesign:
    """Read a design that an earlier version stored, perhaps in part: with the keys that came since as they held then.

    Raises:
        DesignError: it contradicts a rule of this version.
    """
    try:
        return StudyDesign.model_validate(_as_it_was_drawn(values))
    except ValidationError as error:
        raise _as_design_errors(error)[0] from None


def _as_it_was_drawn(values: dict[str, Any]) -> dict[str, Any]:
    """A complete design from before 0.6, which says nothing of ``sampling.pairs_from``: it crossed texts and images."""
    kind, sampling = KINDS.get(str(values.get("protocol"))), values["sampling"]
    if (
        kind is None
        or not kind.judges_one_caption
        or not isinstance(sampling, dict)
        or "pairs_from" in sampling
    ):
        return values
    return values | {"sampling": sampling | {"pairs_from": CROSSED}}


def _with_requirements(values: dict[str, Any]) -> dict[str, Any]:
    """A named set of requirements fills what is left empty, in a file as in the form."""
    asked = values.get("workers")
    if not isinstance(asked, dict) or not isinstance(asked.get("requirements"), str):
        return values
    preset = REQUIREMENT_PRESETS.get(asked["requirements"])
    if preset is None:
        return values
    filled = {key: value for key, value in preset.values.items() if not asked.get(key)}
    return values | {"workers": asked | filled}


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """``above`` laid over ``below``, table by table; ``sampling.pairs`` is one value, not a table."""
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        merged[key] = (
            _merge(under, value)
            if isinstance(under, dict) and isinstance(value, dict) and key != "pairs"
            else value
        )
    return merged


def _as_design_errors(error: ValidationError) -> list[DesignError]:
    """What is wrong, in one sentence for each key; an unknown key names the nearest known one."""
    problems = error.errors(include_url=False)
    found: list[DesignError] = []
    told: set[tuple[str, ...]] = set()
    for problem in problems:
        path = _path(problem["loc"])
        if problem["type"] == "extra_forbidden":  # a stranger's key may look like one of pydantic's marks
            path = [*_path(problem["loc"][:-1]), str(problem["loc"][-1])]
        if tuple(path) in told:
            continue  # a key that takes 'all' or a number fails once for each
        told.add(tuple(path))
        contradiction = problem.get("ctx", {}).get("error")
        if isinstance(contradiction, Contradictions):
            found += [_as_said(path, said) for said in contradiction.sentences]
        else:
            found.append(_as_design_error(problem, path, problems))
    return found


def _as_said(path: list[str], said: str) -> DesignError:
    """A sentence of ours, and the key it is about."""
    key = ".".join(path)
    named = re.findall(r"^[a-z_]+(?:\.[a-z_]+)?", said)
    field = key or next((name for name in named if name.split(".")[0] in StudyDesign.model_fields), "")
    return DesignError(f"{key + ': ' if key else ''}{said}.", field=field)


def _as_design_error(problem: Any, path: list[str], problems: list[Any]) -> DesignError:
    key = ".".join(path)
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(path[-1], _keys_beside(path), n=1, cutoff=0.0)
        return DesignError(f"{key} is not a key of a study file; the nearest one is {near[0]!r}.", field=key)
    if problem["type"] == "missing":
        return DesignError(f"{key} is missing; name, dataset and protocol have no default.", field=key)
    if problem["type"] == "value_error":
        return _as_said(path, problem["msg"].removeprefix("Value error, "))
    wanted = [
        PLAIN_WORDS.get(one["type"]) or re.sub(r"^(Input|String|Value) should (be|have) ", "", one["msg"])
        for one in problems
        if _path(one["loc"]) == path
    ]
    return DesignError(f"{key} is {problem['input']!r}; expected {' or '.join(wanted)}.", field=key)


def _path(location: tuple[int | str, ...]) -> list[str]:
    """Where a problem is, without pydantic's own marks for unions and keys of a table."""
    return [str(part) for part in location if not re.search(r"[\[\]]|^constrained-|^int$", str(part))]


def _keys_beside(path: list[str]) -> list[str]:
    """The known keys of the table that ``path`` ends in."""
    model: type[BaseModel] = StudyDesign
    for part in path[:-1]:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        tables = [one for one in (annotation, *get_args(annotation)) if isinstance(one, type)]
        model = next((one for one in tables if issubclass(one, BaseModel)), model)
    return list(model.model_fields)


def read_toml(
    text: str, *, source: str = "study file", saved: Mapping[str, Preset] = NO_PRESETS
) -> StudyDesign:
    """A design from TOML text.

    Raises:
        DesignError: not TOML (with line and column), or not a design.
    """
    return make_design(toml_values(text, source=source), saved=saved)


def toml_values(text: str, *, source: str = "study file") -> dict[str, Any]:
    """What TOML text says, not checked yet.

    Raises:
        DesignError: not TOML, with line and column.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DesignError(f"{source} is not TOML: {error}.") from None


def write_toml(design: StudyDesign) -> str:
    """The complete design as TOML; ``read_toml`` gives the same design back."""
    return dump_toml(design.model_dump(mode="json"))


def dump_toml(values: Mapping[str, Any]) -> str:
    """Values as a study file says them."""
    return tomli_w.dumps(values, multiline_strings=True)


def line_of(text: str, key: str) -> int:
    """The line, from 1, of a study file on which a dotted key is set, or the nearest table around it; 0: nowhere."""
    lines: dict[str, int] = {}
    table, inside = "", False
    for number, line in enumerate(text.splitlines(), start=1):
        if not inside and (header := re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]", line)):
            table = header[1]
            lines.setdefault(table, number)
        elif not inside and (setting := re.match(r"\s*([\w.-]+)\s*=", line)):
            lines.setdefault(f"{table}.{setting[1]}" if table else setting[1], number)
        inside ^= line.count('"""') % 2 == 1
    # rows of a table are numbered in the key of a problem, and have no number in the file
    key = ".".join(part for part in key.split(".") if not part.isdecimal())
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 0)
