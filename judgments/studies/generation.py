"""Generate the units, control items, quiz items and HITs of a study, change HITs by hand, and stop collecting votes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, chain, repeat
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from common.amounts import thousands
from common.errors import DesignError, WrongState
from common.features import of_features
from common.rows import (
    columns_of,
    indexes_built_after,
    insert_columns,
    insert_rows,
    large_cache,
    many_objects,
    refresh_statistics,
    trusted_keys,
)
from judgments.access.roles import note_event
from judgments.design.quiz import describe_absence
from judgments.design.reading import make_design
from judgments.design.requirements import own_record_needed, requirements_not_stated, requirements_of
from judgments.design.study_design import StudyDesign
from judgments.design.tables import CROSSED, Stopping
from judgments.drawing.by_hand import apply_by_hand
from judgments.drawing.controls import ControlPool, pool_of
from judgments.drawing.material import (
    Batch,
    Group,
    HITSpec,
    Image,
    Material,
    Pair,
    Text,
    UnitSpec,
    content_key,
    rng_for,
)
from judgments.drawing.pairing import system_names
from judgments.kinds import KINDS, Kind
from judgments.models import (
    HIT,
    CandidatePair,
    Caption,
    Dataset,
    HITUnit,
    Item,
    OutcomeBounds,
    Output,
    PublishedPair,
    Study,
    System,
    SystemPair,
    Unit,
)
from judgments.studies.studies import change_design, design_of, discard_hits, lock_study
from quorum.statistics.stopping import expected_votes, leads_enough, simulate_stopping

ASSUMED = 0.8  # assumed probability that an answer is right, for plans


def describe_stopping(design: StudyDesign) -> str:
    """Return the rule and its settings for a signature."""
    rule = design.stopping
    margin = f"-{rule.margin}-from-{rule.minimum}" if rule.rule == "margin" else ""
    return f"{rule.rule}{margin},full-depth-{rule.full_depth:g}"


def unit_range(kind: Kind, stopping: Stopping, values: Sequence[float], remaining: int) -> tuple[int, int]:
    """Return the outcome bounds of ``values`` with up to ``remaining`` more answers.

    Under the rule "margin" a large enough lead is final.
    """
    if stopping.rule == "margin":
        outcomes = Counter(map(kind.outcome_of, values))
        first, second = ([count for _, count in outcomes.most_common(2)] + [0, 0])[:2]
        if leads_enough(first, second, minimum=stopping.minimum, margin=stopping.margin):
            return kind.aggregation.outcome_range(values, 0)
    return kind.aggregation.outcome_range(values, remaining)


def hits_of_row(design: StudyDesign, cells: Mapping[str, str]) -> tuple[HITSpec, ...]:
    """Return the HITs of one row of inputs, before its dataset exists."""
    image = Image(name="row-1", split="", references=(), fields=tuple(cells.items()))
    kind = KINDS[design.protocol].for_design(design)
    return kind.draw_batch(design, Material(design.dataset, (image,))).hits


def full_depth_hits(design: StudyDesign, hits: int) -> frozenset[int]:
    """Draw the 0-based HITs that get all their judgments.

    Units are packed at random, so whole HITs are a random sample of units, and the other HITs can end as a whole,
    which saves their pay.
    """
    share = design.stopping.full_depth
    count = min(hits, max(1, round(share * hits))) if share else 0
    return frozenset(rng_for(design.seed, "full depth").permutation(hits)[:count].tolist())


def expected_share(design: StudyDesign, *, references: int, accuracy: float = ASSUMED) -> float:
    """Return the expected share of votes that a study uses, if answers are right with ``accuracy``.

    ``references`` is the number of units of a candidate pair; 1 for single units.
    """
    stopping, votes = design.stopping, design.judgments_per_unit
    if stopping.rule == "none" or references < 1:
        return 1.0
    kind = KINDS[design.protocol]
    if references > 1:
        share = simulate_stopping(
            accuracy=accuracy, references=references, votes=votes, pairs=400, rule=stopping.rule,
            minimum=stopping.minimum, margin=stopping.margin, seed=design.seed,
        ).share  # fmt: skip
    else:

        def range_of(first: int, second: int, remaining: int) -> tuple[int, int]:
            values = [kind.values[0]] * first + [kind.values[-1]] * second
            return unit_range(kind, stopping, values, remaining)

        # If the two answers differ in kind (relevance), assume equally many units of either truth.
        expected_counts = [
            expected_votes(range_of, votes=votes, accuracy=probability)
            for probability in (accuracy, 1 - accuracy)
        ]
        share = sum(expected_counts) / 2 / votes
    return stopping.full_depth + (1 - stopping.full_depth) * share


def divide_for_quiz(
    design: StudyDesign, material: Material
) -> tuple[Material, Callable[[], tuple[Group, ...]]]:
    """Return the material that the known items of a quiz leave, and a function that makes these items.

    Raise DesignError if the feature of the quiz is off, or the material does not suffice.
    """
    if not design.quiz.items:
        return material, tuple
    if absence := describe_absence(design.quiz):
        raise DesignError(absence, field="quiz.items")
    [divide] = of_features("quiz_items")
    return divide(design, material)


ROWS_AT_ONCE = 2_000

EVERY_PLACE = 2**31 - 1  # of a ranked list

AS_DRAWN = ("kind", "control", "expected", "filtered", "audited", "control_kind", "content")

Progress = Callable[[float, str], None]


def store_batch(study: Study, design: StudyDesign, batch: Batch, progress: Progress) -> None:
    images = dict(Item.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    captions = _captions(study.dataset, batch)
    systems = dict(System.objects.filter(dataset=study.dataset).values_list("name", "pk"))
    insert_rows(
        CandidatePair,
        ("study_id", "key", "position", "kind", "item_id", "first_id", "second_id", "first_system_id",
         "second_system_id", "references"),
        (
            (
                study.pk,
                pair.key,
                position,
                pair.kind,
                images[pair.image],
                captions[pair.first.key],
                captions[pair.second.key],
                systems.get(pair.first_system or ""),
                systems.get(pair.second_system or ""),
                pair.references,
            )
            for position, pair in enumerate(batch.pairs)
        ),
    )  # fmt: skip
    pairs = dict(CandidatePair.objects.filter(study=study).values_list("key", "pk"))
    progress(0.3, "storing units")
    in_order = [unit for hit in batch.hits for unit in hit.units]
    store_system_pairs(study, batch, systems, start=len(in_order))
    in_order += batch.pool
    in_order += [unit for group in batch.quiz for unit in group.units]

    def of_each(name: str) -> Iterator[Any]:
        return map(attrgetter(name), in_order)

    def captions_of_each(name: str) -> list[int | None]:
        return [None if text is None else captions[text.key] for text in of_each(name)]

    with indexes_built_after(Unit, rows=len(in_order)):
        insert_columns(
            Unit,
            {
                "study_id": repeat(study.pk, len(in_order)),
                "key": of_each("key"),
                "position": range(len(in_order)),
                "item_id": map(images.__getitem__, of_each("image")),
                "reference_id": captions_of_each("reference"),
                "first_id": captions_of_each("first"),
                "second_id": captions_of_each("second"),
                "pair_id": map(pairs.get, of_each("pair")),
                **{name: of_each(name) for name in AS_DRAWN},
            },
        )
    progress(0.6, "storing HITs")
    wanted = design.judgments_per_unit
    insert_rows(
        HIT,
        ("study_id", "key", "position", "required", "open_slots"),
        ((study.pk, hit.key, position, wanted, wanted) for position, hit in enumerate(batch.hits)),
    )
    hits, units = _ids_in_order(HIT, study), _ids_in_order(Unit, study)
    ends = np.cumsum([len(hit.units) for hit in batch.hits]).tolist()
    units_of = [units[start:end] for start, end in zip((0, *ends), ends, strict=False)]
    sizes = [len(hit_units) for hit_units in units_of]
    with indexes_built_after(HITUnit, rows=sum(sizes)):
        insert_columns(
            HITUnit,
            {
                "hit_id": np.repeat(hits, sizes).tolist(),
                "unit_id": units[: sum(sizes)].tolist(),
                "position": chain.from_iterable(range(1, size + 1) for size in sizes),
            },
        )
    if design.stopping.rule != "none":
        full = full_depth_hits(design, len(batch.hits))
        insert_rows(
            OutcomeBounds,
            ("unit_id", "full_depth"),
            (
                (pk, number in full)
                for number, (hit, hit_units) in enumerate(zip(batch.hits, units_of, strict=True))
                for unit, pk in zip(hit.units, hit_units.tolist(), strict=True)
                if not unit.control
            ),
        )
    refresh_statistics(CandidatePair, Unit, HIT, HITUnit)
    progress(1.0, f"{len(batch.hits)} HITs")


def store_system_pairs(study: Study, batch: Batch, systems: Mapping[str, int], *, start: int) -> None:
    """Store the pairs of systems of an arena, whose units follow one another in the pool, from ``start``."""
    names = {pair.key: system_names(pair) for pair in batch.pairs}
    sizes = Counter(names[unit.pair] for unit in batch.pool)
    starts = chain((0,), accumulate(sizes.values()))
    insert_rows(
        SystemPair,
        (
            "study_id",
            "position",
            "first_system_id",
            "second_system_id",
            "start",
            "units",
            "wins",
            "ties",
            "losses",
        ),
        (
            (study.pk, position, systems[first], systems[second], start + before, size, 0, 0, 0)
            for position, (((first, second), size), before) in enumerate(
                zip(sizes.items(), starts, strict=False)
            )
        ),
    )


def _ids_in_order(model: type[HIT | Unit], study: Study) -> npt.NDArray[np.int64]:
    rows = model.objects.filter(study=study).order_by("position").values_list("pk")
    return columns_of(rows, 1)[0].astype(np.int64)


def _captions(dataset: Dataset, batch: Batch) -> dict[str, int]:
    """Store new texts of control items, and those written by hand, as candidates of no system."""
    captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    unit_groups = chain((hit.units for hit in batch.hits), (group.units for group in batch.quiz))
    texts = (
        text
        for units in unit_groups
        for unit in units
        if unit.control
        for text in (unit.reference, unit.first, unit.second)
        if text is not None
    )
    lacking = {text.key: text.text for text in chain(texts, batch.new_texts) if text.key not in captions}
    if lacking:
        Caption.objects.bulk_create(
            (
                Caption(dataset=dataset, key=key, text=text, role=Caption.Role.CANDIDATE)
                for key, text in lacking.items()
            ),
            batch_size=ROWS_AT_ONCE,
            ignore_conflicts=True,  # another study of the dataset may store the same ones concurrently
        )
        captions = dict(Caption.objects.filter(dataset=dataset).values_list("key", "pk"))
    return captions


@dataclass(frozen=True, slots=True)
class Plan:
    """The amounts of a design before generation.

    Attributes:
        judgments: answers, controls included.
        asked: expected share of the judgments on units, if the design stops early.
        pool: distinct control items, and HITs per worker before one repeats.
        notes: the kind's notes on the draw (relevance: on the filter).
        asks: requirements for workers, in words.
        unsaid: requirements that the crowd can neither state nor check; they prevent opening.
    """

    units: int
    controls: int
    hits: int
    judgments: int
    hours: float
    asked: float
    pool: ControlPool
    notes: dict[str, Any]
    asks: list[str]
    unsaid: list[str]


def no_progress(share: float, message: str) -> None:
    pass


def load_material(dataset: Dataset, *, ranked: int | None = None, maker: int | None = None) -> Material:
    """Read a dataset for generation with six queries, in import order.

    Args:
        maker: row id of the account that made the study (None: a command); others' unpublished systems are left
            out.
        ranked: places of ranked lists to read. None: none; a ranked reference is then an output only if first, and
            no image is ``retrieved``.
    """
    references: dict[int, list[Text]] = {}
    texts: dict[int, Text] = {}
    rows = Caption.objects.filter(dataset=dataset).order_by("item_id", "position", "id")
    for pk, item, key, text in rows.values_list("pk", "item_id", "key", "text").iterator(ROWS_AT_ONCE):
        texts[pk] = Text(key=key, text=text)
        if item is not None:
            references.setdefault(item, []).append(texts[pk])
    systems = {system.pk: system for system in System.objects.filter(dataset=dataset).open_to(maker)}
    outputs, retrieved = _outputs(dataset, maker, systems, texts, ranked)
    images: list[Image] = []
    names: dict[int, str] = {}
    items = Item.objects.filter(dataset=dataset).order_by("position")
    for pk, name, split, text, boxes, fields in items.values_list(
        "pk", "name", "split", "text", "boxes", "fields"
    ):
        names[pk] = name
        images.append(
            Image(
                name=name,
                split=split,
                references=tuple(references.get(pk, ())),
                outputs=tuple(outputs.get(pk, ())),
                retrieved=tuple(retrieved.get(pk, ())),
                text=text,
                boxes=tuple(boxes),
                fields=tuple((column, cell) for column, cell in fields),
            )
        )
    published = tuple(
        Pair(
            key=pair.key,
            kind=pair.kind,
            image=names[pair.item_id],
            first=texts[pair.first_id],
            second=texts[pair.second_id],
            first_system=systems[pair.first_system_id].name,
            second_system=systems[pair.second_system_id].name,
            references=tuple(text.key for text in references.get(pair.item_id, [])[: pair.references]),
        )
        for pair in PublishedPair.objects.filter(dataset=dataset).order_by("position")
    )
    return Material(
        name=dataset.name,
        images=tuple(images),
        published=published,
        people=frozenset(system.name for system in systems.values() if system.human),
    )


def _outputs(
    dataset: Dataset,
    maker: int | None,
    systems: Mapping[int, System],
    texts: Mapping[int, Text],
    ranked: int | None,
) -> tuple[dict[int, list[tuple[str, Text]]], dict[int, list[tuple[str, Text, int]]]]:
    """Return image row id -> machine outputs and retrievals, in an order independent of import and collation."""
    machines = {pk: system.name for pk, system in systems.items() if not system.human}
    rows = Output.objects.filter(system__dataset=dataset, system__human=False).open_to(maker)
    outputs: dict[int, list[tuple[str, Text]]] = {}
    annotations = rows.annotations().order_by("item_id", "rank", "pk")
    columns = ("system_id", "item_id", "caption_id", "caption__role")
    first: set[tuple[int, int]] = set()
    for system, item, caption, role in annotations.values_list(*columns).iterator(ROWS_AT_ONCE):
        if ranked is None and role == Caption.Role.REFERENCE and (system, item) in first:
            continue
        first.add((system, item))
        outputs.setdefault(item, []).append((machines[system], texts[caption]))
    for of_item in outputs.values():
        of_item.sort(key=lambda output: output[0])
    retrieved: dict[int, list[tuple[str, Text, int]]] = {}
    searches = rows.searches().filter(rank__lte=ranked or 0)
    for system, caption, item, rank in searches.values_list(
        "system_id", "caption_id", "item_id", "rank"
    ).iterator(ROWS_AT_ONCE):
        retrieved.setdefault(item, []).append((machines[system], texts[caption], rank))
    for of_image in retrieved.values():
        of_image.sort(key=lambda retrieval: (retrieval[0], retrieval[1].key))
    return outputs, retrieved


@many_objects()
def build_batch(design: StudyDesign, dataset: Dataset, *, maker: int | None = None) -> Batch:
    """Draw what a study of this account (None: a command) gets.

    Raise DesignError if the dataset cannot supply it.
    """
    wanted = (
        {"top-k": design.sampling.k, CROSSED: EVERY_PLACE}
        if KINDS[design.protocol].judges_one_caption
        else {}
    )
    material = load_material(dataset, ranked=wanted.get(design.sampling.pairs_from), maker=maker)
    if design.sampling.not_in:
        material = _without_items_of(design.sampling.not_in, material, dataset)
    _check_examples(design, material)
    rest, make_quiz = divide_for_quiz(design, material)
    kind = KINDS[design.protocol].for_design(design)
    batch = apply_by_hand(kind.draw_batch(design, rest), design, rest, kind)
    notes = dict(batch.notes)
    if needed := own_record_needed(design.workers, design.crowd.backend):
        notes["sentences"] = [*notes.get("sentences", []), needed]
    quiz = make_quiz()
    _check_sources(design, material, batch, quiz)
    if quiz:
        notes["quiz_items"] = sum(len(group.units) for group in quiz)
    return replace(batch, quiz=quiz, notes=notes)


def _without_items_of(studies: Collection[str], material: Material, dataset: Dataset) -> Material:
    """Leave out the items that studies of the dataset asked about."""
    known = set(Study.objects.filter(dataset=dataset, slug__in=studies).values_list("slug", flat=True))
    for slug in studies:
        if slug not in known:
            raise DesignError(
                gettext("sampling.not_in names study %(slug)r, which dataset %(name)r does not have.")
                % {"slug": slug, "name": dataset.name},
                field="sampling.not_in",
            )
    units = Unit.objects.filter(study__slug__in=known, control=False)
    judged = set(units.order_by().values_list("item__name", flat=True).distinct())
    return replace(
        material,
        images=tuple(image for image in material.images if image.name not in judged),
        published=tuple(pair for pair in material.published if pair.image not in judged),
    )


def _check_examples(design: StudyDesign, material: Material) -> None:
    known = {image.name for image in material.images}
    for number, example in enumerate(design.examples, start=1):
        if example.image and example.image not in known:
            raise DesignError(
                gettext(
                    "examples: example %(number)s names image %(image)r, which dataset %(name)r does not "
                    "have."
                )
                % {"number": number, "image": example.image, "name": material.name},
                field="examples",
            )


def _check_sources(design: StudyDesign, material: Material, batch: Batch, quiz: Sequence[Group]) -> None:
    if not design.source.show:
        return
    shown = {unit.image for hit in batch.hits for unit in hit.units} | {group.image for group in quiz}
    shown |= {unit.image for unit in batch.pool}
    lacking = [image.name for image in material.images if image.name in shown and not image.text.strip()]
    if lacking:
        left = len(lacking) - 1
        more = ngettext(" (nor has one other)", " (nor have %(n)s others)", left) % {"n": thousands(left)}
        others = more if left else ""
        raise DesignError(
            gettext(
                "source.show is true, but item %(lacking)r of dataset %(name)r has no "
                "text%(others)s; expected a source text in the column text of each item that is "
                "shown."
            )
            % {"lacking": lacking[0], "name": material.name, "others": others},
            field="source.show",
        )


def plan_study(design: StudyDesign, dataset: Dataset, *, maker: int | None = None) -> Plan:
    """Count what a real draw of the design gives."""
    batch = build_batch(design, dataset, maker=maker)
    judgments = batch.place_count * design.judgments_per_unit
    return Plan(
        units=batch.unit_count,
        controls=batch.control_count,
        hits=len(batch.hits),
        judgments=judgments,
        hours=judgments * design.seconds_per_unit / 3600,
        asked=expected_share(
            design, references=round(batch.unit_count / len(batch.pairs)) if batch.pairs else 1
        ),
        pool=pool_of(batch.hits, grouped=KINDS[design.protocol].grouped),
        notes=batch.notes,
        asks=list(requirements_of(design.workers).values()),
        unsaid=requirements_not_stated(design.workers, design.crowd_name),
    )


def generate_hits(*, study: Study, progress: Progress = no_progress) -> Batch:
    """Draw and store units, controls and HITs, and freeze the design.

    Drawing only reads, so workers of other studies are not blocked. Storing is one transaction.

    Raises:
        WrongState: the study has HITs. DesignError: the dataset cannot supply the design.
    """
    batch = draw_hits(study=study, progress=progress)
    store_hits(study=study, batch=batch, progress=progress)
    return batch


def generated_already(study: Study) -> WrongState:
    sentence = gettext("Study %(slug)r is %(state)s; HITs are generated once, from a draft.")
    return WrongState(sentence % {"slug": study.slug, "state": gettext(study.state)})


def draw_hits(*, study: Study, progress: Progress = no_progress) -> Batch:
    if study.state != Study.State.DRAFT:
        raise generated_already(study)
    progress(0.05, "drawing")
    return build_batch(design_of(study), study.dataset, maker=study.created_by_id)


@many_objects()
@large_cache()
@trusted_keys()
@transaction.atomic
def store_hits(*, study: Study, batch: Batch, progress: Progress = no_progress) -> None:
    """Store a batch. Raise WrongState if the study has HITs, or its design changed since the draw."""
    drawn_from = study.design
    notes = study.notes | batch.notes
    if batch.control_count:
        pool = pool_of(batch.hits, grouped=KINDS[study.protocol].grouped)
        notes = notes | {"control_pool": asdict(pool)}
    moved = Study.objects.filter(pk=study.pk, state=Study.State.DRAFT).update(
        state=Study.State.GENERATED, generated_at=timezone.now(), notes=notes
    )
    study.refresh_from_db()
    if not moved:
        raise generated_already(study)
    if study.design != drawn_from:
        raise WrongState(
            gettext("The design of study %(slug)r was changed while its HITs were drawn; try again.")
            % {"slug": study.slug}
        )
    store_batch(study, design_of(study), batch, progress)
    note_event(
        study=study,
        what="generated",
        sentence=f"{len(batch.hits)} HITs were generated, with {batch.unit_count} units and {batch.control_count} "
        "control items.",
    )


@transaction.atomic
def withdraw_control(*, study: Study, unit_key: str) -> Unit:
    """Withdraw a control item from scoring and from new assignments.

    After the study was opened it keeps its place in its HIT; its answers no longer count for or against workers.

    Raises:
        WrongState: the study has no HITs of its own, or the unit is no control item of it.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.source != Study.Source.DESIGNED or study.state == Study.State.DRAFT:
        raise WrongState(gettext("Study %(slug)r has no control items to withdraw.") % {"slug": study.slug})
    unit = Unit.objects.filter(study=study, key=unit_key, control=True).first()
    if unit is None:
        raise WrongState(
            gettext("%(unit_key)r is no control item of study %(slug)r.")
            % {"unit_key": unit_key, "slug": study.slug}
        )
    if not unit.withdrawn:
        HIT.objects.filter(places__unit=unit).update(version=F("version") + 1)
    if study.state == Study.State.GENERATED:
        HITUnit.objects.filter(unit=unit).delete()
    if not unit.withdrawn:
        unit.withdrawn = True
        unit.save(update_fields=["withdrawn"])
        note_event(
            study=study, what="struck", sentence=f"Control item {unit.key} was withdrawn.", unit=unit.key
        )
    return unit


def batch_lines(batch: Batch, design: StudyDesign) -> Iterator[str]:
    """Yield the batch as canonical JSON lines: pairs, HITs with units, the pool of an arena, quiz items."""
    for pair in batch.pairs:
        yield _line(
            {
                "type": "pair",
                "pair": pair.key,
                "kind": pair.kind,
                "image": pair.image,
                "first": pair.first.key,
                "second": pair.second.key,
                "first_text": pair.first.text,
                "second_text": pair.second.text,
                "first_system": pair.first_system,
                "second_system": pair.second_system,
                "references": list(pair.references),
            }
        )
    for position, hit in enumerate(batch.hits, start=1):
        yield _line(
            {
                "type": "hit",
                "hit": hit.key,
                "position": position,
                "required": design.judgments_per_unit,
                "units": [_unit_dict(design, number, unit) for number, unit in enumerate(hit.units, start=1)],
            }
        )
    if batch.pool:
        units = [_unit_dict(design, number, unit) for number, unit in enumerate(batch.pool, start=1)]
        yield _line({"type": "pool", "units": units})
    for group in batch.quiz:
        yield _line(
            {
                "type": "quiz",
                "units": [
                    _unit_dict(design, number, unit) for number, unit in enumerate(group.units, start=1)
                ],
            }
        )


def _unit_dict(design: StudyDesign, position: int, unit: UnitSpec) -> dict[str, Any]:
    def key_and_text(name: str, text: Text | None) -> dict[str, str | None]:
        return {name: text.key if text else None, f"{name}_text": text.text if text else None}

    return {
        "unit": unit.key,
        "position": position,
        "protocol": design.protocol,
        "image": unit.image,
        **key_and_text("reference", unit.reference),
        **key_and_text("first", unit.first),
        **key_and_text("second", unit.second),
        "kind": unit.kind or None,
        "pair": unit.pair or None,
        "control": unit.control,
        "expected": unit.expected,
        "filtered": unit.filtered,
        **({"audited": True} if unit.audited else {}),
        **({"content": dict(unit.content)} if unit.content else {}),
        **({"control_kind": unit.control_kind} if unit.control_kind not in ("", "reference") else {}),
    }


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def state_of_hand_changes(study: Study) -> str:
    """Return what a page of the study shows: its design and state, in short."""
    return content_key(study.design, study.state)


@transaction.atomic
def change_by_hand(
    *,
    study: Study,
    change: Mapping[str, Any] | None,
    every: bool = False,
    seen: str = "",
    by: User | None = None,
) -> Study:
    """Add a change (``HandChange``) to the design, and draw its pages of work again if it has any.

    A withdrawn control item stays out.

    Args:
        change: None takes the last one back, or ``every`` one.
        seen: the state that was changed (``state_of_hand_changes``); "" for any.

    Raises:
        WrongState: somebody changed the study meanwhile, or it was opened or registered. DesignError: the change
            cannot be applied.
    """
    lock_study(study, no_key=False)
    if seen and seen != state_of_hand_changes(study):
        raise WrongState(
            gettext(
                "Nothing was changed: somebody changed study %(slug)r since you opened this page; look again, and "
                "repeat your change."
            )
            % {"slug": study.slug}
        )
    changes = list(study.design.get("by_hand", []))
    if change is None and not changes:
        raise WrongState(gettext("Study %(slug)r has no change by hand to take back.") % {"slug": study.slug})
    if change is None:
        del changes[0 if every else -1 :]
    if drawn := study.state != Study.State.DRAFT:
        withdrawn = Unit.objects.filter(study=study, withdrawn=True, places=None).order_by("position")
        changes += [{"item": key, "out": True} for key in withdrawn.values_list("key", flat=True)]
        discard_hits(study=study, by=by)
    changes += [change] if change is not None else []
    design = make_design(study.design | {"by_hand": changes})
    # to take changes back mends a draft that cannot be drawn any more; else what cannot be applied is refused
    batch = build_batch(design, study.dataset, maker=study.created_by_id) if drawn or change else None
    changed = change_design(study=study, design=design, user=by, all_by_hand=True)
    if drawn and batch is not None:
        store_hits(study=changed, batch=batch)
    return changed
