"""Read, check, complete and compare designs, by presets and the rules of the kinds.

A preset is a paper's protocol as a file of study_presets/, or of a feature: a study file without ``name`` and
``dataset``. Its table ``[about]`` holds what lists show; its ``ours`` names the keys that the paper does not give, so
that they are not cited as published. Most instructions are in our words, from what the paper says its workers were
told. No paper prints worked examples, and an example teaches what to prefer, so that no preset has any.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args

import tomli_w
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.utils.translation import gettext, pgettext
from pydantic import BaseModel, ValidationError

from common.errors import DesignError, did_you_mean
from common.features import feature_settings
from judgments.design.crowds import crowd_labels, feature_of_crowd, installed_crowds
from judgments.design.panel_links import SIGNATURE, makes_own_links
from judgments.design.requirements import REQUIREMENT_PRESETS
from judgments.design.study_design import StudyDesign, contradictions_of_translations
from judgments.design.tables.controls import Controls, Writing, usual_least
from judgments.design.tables.participants import SHORTEST_CODE, Access
from judgments.design.tables.questions import AnswerOptions
from judgments.design.tables.sampling import CROSSED
from judgments.kinds import KINDS, AbsentKind, Kind
from quorum.numeric.names import nearest_name

PRESET_FOLDER = Path(__file__).with_name("study_presets")
# In display order.
PRESET_NAMES = (
    "vedantam-2015-triplet",
    "vedantam-2015-pairwise",
    "hodosh-2013-relevance",
    "hodosh-2013-graded",
    "hodosh-2013-captions",
    "vedantam-2015-captions",
    "mason-charniak-2012-keywords",
    "wang-gaizauskas-2015-grounding",
    "our-best-worst",
    "our-slider",
    "direct-assessment-translation",
    "our-summaries",
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A published protocol.

    Attributes:
        ours: dotted keys whose values the paper does not give.
        choose: when to choose it, as the end of a sentence.
        suits: purposes that it suits; the smaller the number, the plainer the way.
    """

    title: str
    source: str
    values: dict[str, Any]
    ours: tuple[str, ...] = ()
    choose: str = ""
    suits: Mapping[str, int] = dataclass_field(default_factory=dict)


def _read_preset(path: Traversable) -> Preset:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    about = values.pop("about")
    return Preset(values=values, ours=tuple(about.pop("ours")), **about)


PRESETS: dict[str, Preset] = {
    **{name: _read_preset(PRESET_FOLDER / f"{name}.toml") for name in PRESET_NAMES},
    **{
        name: _read_preset(files(feature.name) / "presets" / f"{name}.toml")
        for feature in feature_settings.FEATURES.values()
        for name in feature.presets
    },
}


NO_PRESETS: Mapping[str, Preset] = {}
# the tables of a design that Quorum wrote, which names every key of its version; nobody types all of them
COMPLETE_TABLES = {
    "access", "controls", "crowd", "filter", "keywords", "panel", "quiz", "sampling", "stopping", "template",
    "workers",
}  # fmt: skip
# where pydantic's own words speak of its insides
PLAIN_WORDS = {
    "^([A-Z]{3})?$": "three capital letters, such as USD",
    "^[A-Z]{2}$": "two capital letters, such as DE",
    "string_pattern_mismatch": "letters, digits, hyphens and underscores",
    "model_type": "a table",
    "dict_type": "a table",
}
MOST_PROBLEMS = 200
LONGEST_QUOTATION = 200  # characters


def slugify_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "study"


def contradictions_of(design: StudyDesign) -> Iterator[str]:
    """Yield the contradictions of a design; each clause begins with its key."""
    kind = KINDS.get(design.protocol)
    if kind is None and isinstance(absent := KINDS[design.protocol], AbsentKind) and absent.feature:
        yield gettext("protocol is %(protocol)r, which is off; expected %(feature)s in CONTRIB_APPS") % {
            "protocol": design.protocol,
            "feature": absent.feature,
        }
        return
    if kind is None:
        yield gettext(
            "protocol is %(protocol)r; this version knows %(listed)s; the nearest one is %(near)r"
        ) % {
            "protocol": design.protocol,
            "listed": ", ".join(KINDS),
            "near": nearest_name(design.protocol, KINDS, cutoff=0.0),
        }
        return
    yield from _contradictions_of_crowd(design)
    yield from kind.contradictions(design)
    yield from _contradictions_of_unused_tables(design, kind)
    if design.arena.pages:
        yield from _contradictions_of_arena(design, kind)
    if design.by_hand and (design.arena.pages or design.chosen is not None):
        yield gettext(
            "by_hand changes single items, but these are drawn while people work, or were chosen by chance; "
            "expected no arena and no choice beside it"
        )
    yield from _contradictions_of_scale(design, kind)
    yield from _contradictions_of_labels(design, kind)
    yield from contradictions_of_translations(design)
    if design.crowd.backend == "mturk" and design.crowd.question == "html":
        yield from _contradictions_of_html_question(design, kind)
    size = kind.hit_size(design)
    if design.controls.per_hit >= size:
        yield gettext(
            "controls.per_hit is %(per_hit)s, which leaves no item on a page of work of %(size)s"
        ) % {"per_hit": design.controls.per_hit, "size": size}
    yield from _contradictions_of_sampling(design, kind)
    if design.filter.audit and not design.filter.bleu_pre:
        yield gettext("filter.audit is %(audit)s, but filter.bleu_pre is 0, so that nothing is left out") % {
            "audit": design.filter.audit
        }
    yield from _contradictions_of_stopping(design, kind)
    yield from _contradictions_of_panel(design)


def _contradictions_of_unused_tables(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.source.show and kind.no_source:
        yield gettext("source.show is true, but %(no_source)s; expected false") % {
            "no_source": kind.no_source
        }
    of_pairs = design.answers.model_copy(update={"worst": True})
    if of_pairs != AnswerOptions() and not kind.compares_pairs:
        yield gettext("answers is for pairs, and %(name)s compares none; expected no such table") % {
            "name": kind.name
        }
    if not design.answers.worst and not kind.names_best:
        yield pgettext(
            "staff", "answers.worst is false, but %(name)s asks for no worst; expected no such key"
        ) % {"name": kind.name}
    if design.writing != Writing() and not kind.writes_captions:
        yield gettext(
            "writing is for answers that people write, and %(name)s has none; expected no such table"
        ) % {"name": kind.name}


def _contradictions_of_labels(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.labels and design.scale is None and len(design.labels) != len(kind.labelled):
        wanted = f"one for each of {', '.join(map(str, kind.labelled))}" if kind.labelled else "none"
        yield gettext("labels has %(n)s texts; for %(name)s, expected %(wanted)s") % {
            "n": len(design.labels),
            "name": kind.name,
            "wanted": wanted,
        }
    elif len(set(design.labels)) < len(design.labels):
        yield gettext("labels has the same text twice, so two answers could not be distinguished")


def _contradictions_of_html_question(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.writing != Writing():
        yield gettext(
            "writing is set, but a page of Mechanical Turk's own (crowd.question = 'html') notices nothing and is the "
            "same for everybody; expected 'external', or no such table"
        )
    if not kind.page.self_contained:
        yield (
            gettext(
                "crowd.question is 'html', but %(name)s cannot be asked on a page that stands alone; "
                "expected 'external'"
            )
            % {"name": kind.name}
        )


def _contradictions_of_sampling(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.sampling.only and not kind.supports_unit_ids:
        yield gettext("sampling.only names %(n)s ids, but %(name)s has none that could be chosen") % {
            "n": len(design.sampling.only),
            "name": kind.name,
        }
    if design.chosen is not None and set(design.chosen.chances) != set(design.sampling.only):
        apart = min(set(design.chosen.chances) ^ set(design.sampling.only))
        yield gettext(
            "chosen.chances and sampling.only name different items, such as %(apart)r; choose the items "
            "again, or take the choice back"
        ) % {"apart": apart}
    reads_list = kind.judges_one_caption and design.sampling.pairs_from == "list"
    if reads_list and not design.sampling.listed:
        yield gettext(
            "sampling.listed is empty; sampling.pairs_from = 'list' needs pairs of an image and "
            "a caption there"
        )
    if design.sampling.listed and not reads_list:
        yield (
            gettext(
                "sampling.listed holds %(n)s pairs, which sampling.pairs_from = %(pairs_from)r of "
                "%(name)s does not use; expected none"
            )
            % {"n": len(design.sampling.listed), "pairs_from": design.sampling.pairs_from, "name": kind.name}
        )


def _contradictions_of_stopping(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.stopping.rule != "none" and not kind.aggregation.settles:
        yield (
            gettext(
                "stopping.rule is %(rule)r, but the consensus of %(name)s has no winner that could "
                "be settled early; expected 'none'"
            )
            % {"rule": design.stopping.rule, "name": kind.name}
        )
    if design.stopping.rule == "margin" and design.stopping.minimum > design.judgments_per_unit:
        yield (
            gettext("stopping.minimum is %(minimum)s, more than judgments_per_unit = %(judgments_per_unit)s")
            % {"minimum": design.stopping.minimum, "judgments_per_unit": design.judgments_per_unit}
        )


def _contradictions_of_crowd(design: StudyDesign) -> Iterator[str]:
    name = design.crowd_name
    if feature := feature_of_crowd(name):
        yield pgettext(
            "staff", "%(key)s asks for the crowd %(name)r, which is off; expected %(feature)s in CONTRIB_APPS"
        ) % {"key": "panel.api" if design.panel.api else "crowd.backend", "name": name, "feature": feature}
    elif design.crowd.backend not in crowd_labels():
        yield gettext("crowd.backend: there is no crowd %(name)r; there are %(listed)s") % {
            "name": design.crowd.backend,
            "listed": ", ".join(crowd_labels()),
        }


def _contradictions_of_panel(design: StudyDesign) -> Iterator[str]:
    for other in installed_crowds().values():
        for key in other.keys if other.name != design.crowd_name else ():
            if key != "panel.api" and attrgetter(key)(design):
                yield gettext("%(key)s is for %(crowd)s (%(named_by)s) alone") % {
                    "key": key,
                    "crowd": gettext(other.label),
                    "named_by": other.named_by,
                }
    if design.panel.api and design.crowd.screen_out_cents >= max(
        1, design.crowd.reward_cents * design.panel.hits
    ):
        yield (
            gettext(
                "crowd.screen_out_cents is %(screen_out_cents)s; expected less than the pay of a "
                "session, %(what)s"
            )
            % {
                "screen_out_cents": design.crowd.screen_out_cents,
                "what": design.crowd.reward_cents * design.panel.hits,
            }
        )
    with_api = [name for name, offer in installed_crowds().items() if offer.panel]
    if design.panel.api and (design.crowd.backend != "external" or design.panel.preset not in with_api):
        yield gettext(
            'panel.api is true, which is for crowd.backend = "external" with panel.preset = %(presets)s alone'
        ) % {"presets": " or ".join(f'"{name}"' for name in with_api) or "none"}


def _contradictions_of_scale(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.scale is None:
        return
    if kind.scale is None:
        yield gettext("scale is for graded and slider, and %(name)s has none; expected no such table") % {
            "name": kind.name
        }
        return
    if problem := kind.scale_problem(design.scale):
        yield gettext("scale has %(n)s points; %(problem)s") % {"n": len(design.scale), "problem": problem}
    if design.labels:
        yield gettext(
            "labels has %(n)s texts, but the words of a study's own scale stand in scale.labels; expected none"
        ) % {"n": len(design.labels)}
    if len(set(design.scale.labels.values())) < len(design.scale.labels):
        yield gettext("scale.labels has the same text twice, so two answers could not be distinguished")


def _contradictions_of_arena(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if not kind.compares_pairs:
        yield gettext("arena is for pairs, and %(name)s compares none; expected no such table") % {
            "name": kind.name
        }
    if others := sorted(set(design.sampling.pairs) - {"MM"}):
        yield gettext(
            "sampling.pairs names %(kind)s, but an arena compares systems with one another; expected MM alone"
        ) % {"kind": others[0]}
    if design.stopping.rule != "none":
        yield gettext(
            "stopping.rule is %(rule)r, but an arena draws each page by all answers so far, and decides no item; "
            "expected 'none'"
        ) % {"rule": design.stopping.rule}
    if design.chosen is not None:
        yield gettext(
            "items were chosen by their usefulness, but an arena draws them by the answers; expected one of the two"
        )
    if "repeated" in design.controls.kinds and design.controls.per_hit:
        yield gettext(
            "controls.kinds has 'repeated', but the check questions of an arena are made before the items of a page; "
            "expected other kinds"
        )
    if design.crowd.backend == "mturk":
        yield gettext(
            "crowd.backend is 'mturk', whose HITs are made before anybody asks for work; expected 'local' or "
            "'external', where an arena can draw a page when it is taken"
        )


def make_design(values: dict[str, Any], *, saved: Mapping[str, Preset] = NO_PRESETS) -> StudyDesign:
    """Check ``values`` (a study file as nested dicts) and complete them from preset and protocol.

    Args:
        saved: presets of this installation.

    Raises:
        DesignError: with the dotted key in ``field``.
    """
    try:
        design = StudyDesign.model_validate(_completed(values, saved))
    except ValidationError as error:
        raise _as_design_errors(error)[0] from None
    for sentence in contradictions_of(design):
        raise _sentence_error([], sentence)
    return design


def refuse_guessable_code(access: Access) -> None:
    """Check new designs; older studies keep their codes."""
    code = access.code.strip()
    if code and access.is_guessable:
        raise DesignError(
            gettext(
                "access.code has %(n)s characters; expected %(shortest_code)s or more, or none: one "
                "is made then."
            )
            % {"n": len(code), "shortest_code": SHORTEST_CODE},
            field="access.code",
        )
    if access.join == "code" and (code.isdecimal() or code.lower() in _common_passwords()):
        raise DesignError(
            gettext(
                "access.code is a common password or has digits alone; expected one that nobody guesses, or none: "
                "one is made then."
            ),
            field="access.code",
        )


@cache
def _common_passwords() -> set[str]:
    return CommonPasswordValidator().passwords


def problems_in(values: dict[str, Any]) -> list[DesignError]:
    """Return all errors of ``make_design``, one for each key."""
    try:
        design = StudyDesign.model_validate(_completed(values, NO_PRESETS))
    except ValidationError as error:
        return _as_design_errors(error)
    except DesignError as error:
        return [error]
    problems = [_sentence_error([], sentence) for sentence in contradictions_of(design)]
    try:
        refuse_guessable_code(design.access)
    except DesignError as error:
        problems.append(error)
    return problems


def _completed(values: dict[str, Any], saved: Mapping[str, Preset]) -> dict[str, Any]:
    preset_name = values.get("preset", "")
    preset: dict[str, Any] = {}
    presets = {**saved, **PRESETS}
    complete = values.keys() >= COMPLETE_TABLES
    if complete:
        values = _with_pairs_from(values)
        values = _merge({"controls": {"least": 1}}, values)
    if not isinstance(preset_name, str) or (preset_name and not complete and preset_name not in presets):
        raise DesignError(
            gettext("preset is %(preset_name)s; there are %(listed)s.")
            % {"preset_name": _quoted(preset_name), "listed": ", ".join(presets)}
            + did_you_mean(preset_name, presets),
            field="preset",
        )
    if preset_name in (PRESETS if complete else presets):
        preset = presets[preset_name].values
        stated = values.get("protocol", preset["protocol"])
        if stated != preset["protocol"]:
            raise DesignError(
                gettext("preset %(preset_name)r is for protocol %(preset)r, the file says %(stated)s.")
                % {"preset_name": preset_name, "preset": preset["protocol"], "stated": _quoted(stated)},
                field="protocol",
            )
    merged = _merge(preset, values)
    kind = KINDS.get(str(merged.get("protocol", "")))
    if kind is not None:
        merged = _merge(kind.defaults_for(merged), merged)
        if "question" not in values:
            merged["question"] = kind.question_for(merged)
    merged = _with_requirements(merged)
    if not complete:
        merged = _with_usual_least(merged, presets.get(preset_name))
    if not complete and makes_own_links(merged):
        merged["panel"] = {"signature": SIGNATURE} | merged.get("panel", {})
    if isinstance(merged.get("name"), str):
        merged.setdefault("slug", slugify_name(merged["name"]))
    return merged


def _with_usual_least(values: dict[str, Any], preset: Preset | None) -> dict[str, Any]:
    """Complete ``controls.least``, but for a published rule, which has none."""
    controls = values.get("controls", {})
    published = preset and "controls.threshold" not in preset.ours and preset.values.get("controls", {})
    if not isinstance(controls, dict) or (published and "threshold" in published):
        return values
    threshold = controls.get("threshold", Controls().threshold)
    valid = type(threshold) in (float, int) and 0 <= threshold <= 1  # true is an int, and no share
    return values | {"controls": {"least": usual_least(threshold) if valid else 1} | controls}


def stored_design(values: dict[str, Any]) -> StudyDesign:
    """Read a design that an earlier version stored, or one with a crowd that is off by now."""
    return StudyDesign.model_validate(_with_pairs_from(values))


def _with_pairs_from(values: dict[str, Any]) -> dict[str, Any]:
    """Complete a design from before 0.6, which had no ``sampling.pairs_from`` and crossed texts and images."""
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
    workers = values.get("workers")
    named = workers.get("requirements") if isinstance(workers, dict) else None
    preset = REQUIREMENT_PRESETS.get(named) if isinstance(named, str) else None
    if not isinstance(workers, dict) or preset is None:
        return values
    filled = {key: value for key, value in preset.values.items() if not workers.get(key)}
    return values | {"workers": workers | filled}


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge table by table; ``sampling.pairs`` and ``chosen`` are one value each."""
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        merged[key] = (
            _merge(under, value)
            if isinstance(under, dict) and isinstance(value, dict) and key not in ("pairs", "chosen")
            else value
        )
    return merged


def _as_design_errors(error: ValidationError) -> list[DesignError]:
    # each is compared with all, and a body can hold a hundred thousand
    problems = error.errors(include_url=False)[:MOST_PROBLEMS]
    errors: list[DesignError] = []
    seen: set[tuple[str, ...]] = set()
    for problem in problems:
        path = _path(problem["loc"])
        if problem["type"] == "extra_forbidden":  # a stranger's key may look like one of pydantic's marks
            path = [*_path(problem["loc"][:-1]), str(problem["loc"][-1])]
        if tuple(path) in seen:
            continue  # a key that takes 'all' or a number fails once for each
        seen.add(tuple(path))
        errors.append(_as_design_error(problem, path, problems))
    return errors


def _sentence_error(path: list[str], sentence: str) -> DesignError:
    """Find the key in the sentence if ``path`` is empty."""
    key = ".".join(path)
    named = re.findall(r"^[a-z_]+(?:\.[a-z_]+)?", sentence)
    field = key or next((name for name in named if name.split(".")[0] in StudyDesign.model_fields), "")
    return DesignError(f"{key}: {sentence}." if key else f"{sentence}.", field=field)


def _as_design_error(problem: Any, path: list[str], problems: list[Any]) -> DesignError:
    key = ".".join(path)
    if problem["type"] == "extra_forbidden":
        near = nearest_name(path[-1], _keys_beside(path), cutoff=0.0)
        return DesignError(
            gettext("%(key)s is not a key of a study file; the nearest one is %(near)r.")
            % {"key": key, "near": near},
            field=key,
        )
    if problem["type"] == "missing":
        return DesignError(
            gettext("%(key)s is missing; name, dataset and protocol have no default.") % {"key": key},
            field=key,
        )
    if problem["type"] == "value_error":
        return _sentence_error(path, problem["msg"].removeprefix("Value error, "))
    wanted = [
        PLAIN_WORDS.get(other.get("ctx", {}).get("pattern"))
        or PLAIN_WORDS.get(other["type"])
        or re.sub(r"^(Input|String|Value) should (be|have) ", "", other["msg"])
        for other in problems
        if _path(other["loc"]) == path
    ]
    return DesignError(
        gettext("%(key)s is %(problem)s; expected %(listed)s.")
        % {"key": key, "problem": _quoted(problem["input"]), "listed": " or ".join(wanted)},
        field=key,
    )


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTATION else f"{text[:LONGEST_QUOTATION]}…"


def _path(location: tuple[int | str, ...]) -> list[str]:
    return [str(part) for part in location if not re.search(r"[\[\]]|^constrained-|^int$", str(part))]


def _keys_beside(path: list[str]) -> list[str]:
    model: type[BaseModel] = StudyDesign
    for part in path[:-1]:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        tables = [table for table in (annotation, *get_args(annotation)) if isinstance(table, type)]
        model = next((table for table in tables if issubclass(table, BaseModel)), model)
    return list(model.model_fields)


def read_toml(
    text: str, *, source: str = "study file", saved: Mapping[str, Preset] = NO_PRESETS
) -> StudyDesign:
    """Return the design of TOML text.

    Raises:
        DesignError: it is not TOML, or not a design.
    """
    return make_design(toml_values(text, source=source), saved=saved)


def toml_values(text: str, *, source: str = "study file") -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
        repr(
            values
        )  # sentences quote values: here a number too long to be written fails, and too deep a table
    except (ValueError, RecursionError) as error:
        raise DesignError(
            gettext("%(source)s is not TOML: %(error)s.") % {"source": source, "error": error}
        ) from None
    return values


def write_toml(design: StudyDesign) -> str:
    return dump_toml(design.model_dump(mode="json"))


def dump_toml(values: Mapping[str, Any]) -> str:
    return tomli_w.dumps(values, multiline_strings=True)


def line_of(text: str, key: str) -> int:
    """Return the line, from 1, of a dotted key or of the nearest table around it; 0 if there is none."""
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


@dataclass(frozen=True, slots=True)
class DesignDifference:
    """A key with two values as in a study file; '' if a side lacks it."""

    key: str
    this: str
    that: str


@dataclass(frozen=True, slots=True)
class DesignComparison:
    """The differences by table ('' for top-level keys), and a unified diff of the study files."""

    tables: dict[str, list[DesignDifference]]
    lines: list[str]

    @property
    def count(self) -> int:
        return sum(map(len, self.tables.values()))


def compare_designs(
    this: StudyDesign | dict[str, Any],
    that: StudyDesign | dict[str, Any],
    *,
    names: tuple[str, str] = ("this", "that"),
) -> DesignComparison:
    first, second = _values(this), _values(that)
    tables: dict[str, list[DesignDifference]] = {}
    before, after = dict(_keys(first)), dict(_keys(second))
    for key in _in_file_order(before, after):
        if key in before and key in after and before[key] == after[key]:
            continue
        table, _, _ = key.rpartition(".")
        difference = DesignDifference(
            key=key,
            this=_written(before[key]) if key in before else "",
            that=_written(after[key]) if key in after else "",
        )
        tables.setdefault(table, []).append(difference)
    lines = difflib.unified_diff(
        dump_toml(first).splitlines(), dump_toml(second).splitlines(), *names, lineterm="", n=2
    )
    return DesignComparison(tables=tables, lines=list(lines))


def changed_keys(this: dict[str, Any], that: dict[str, Any]) -> list[str]:
    return [difference.key for rows in compare_designs(this, that).tables.values() for difference in rows]


def _values(design: StudyDesign | dict[str, Any]) -> dict[str, Any]:
    return design.model_dump(mode="json") if isinstance(design, StudyDesign) else design


def _keys(values: dict[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        dotted = f"{table}.{key}" if table else key
        if isinstance(value, dict) and value:
            yield from _keys(value, dotted)
        elif value != {}:
            yield dotted, value


def _in_file_order(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Put top-level keys first."""
    keys = [*before, *(key for key in after if key not in before)]
    roots = [*StudyDesign.model_fields]

    def position(key: str) -> tuple[int, int]:
        root, _, inner = key.partition(".")
        return roots.index(root) + 1 if inner and root in roots else 0, keys.index(key)

    return sorted(keys, key=position)


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value if "\n" in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        rows = [cell for cell in value if isinstance(cell, dict)]
        if rows:
            filled_rows = [
                {key: cell for key, cell in row.items() if cell not in ("", [], {}, None)} for row in rows
            ]
            return "\n\n".join(dump_toml(row).strip() for row in filled_rows)
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
