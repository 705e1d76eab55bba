"""Systems' ranked lists: TREC runs into outputs, and the designs of H13 §4 that judge their first items."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from contrib.published_sets.flickr8k import SPLIT_FILES, TOKEN_FILE
from judgments.models import Output, System
from quorum.metrics import bleu_pre_matrix
from tests.annotation.casting import make_dataset
from tests.installations import Installation
from tests.judgments.flickr8k_systems import Run, write_runs
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

RUN = """\
secret-file-00.jpg Q0 capkey-1-0 3 0.2 bow
secret-file-00.jpg Q0 capkey-0-0 0 0.9 bow

secret-file-00.jpg Q0 capkey-2-0 7 0.1 bow
secret-file-01.jpg Q0 capkey-1-0 1 0.5 bow
secret-file-00.jpg Q0 capkey-4-1 1 1.5 kcca
"""


def imported(folder: Path, text: str, task: str = "annotation", **options: int) -> None:
    path = folder / "systems.run"
    path.write_text(text)
    call_command("import_rankings", path, dataset="shapes", task=task, **options)


def rows(task: str) -> list[tuple[str, str, str, int]]:
    found = Output.objects.filter(task=task, system__name__in=("bow", "kcca"))
    return sorted(found.values_list("system__name", "item__name", "caption__key", "rank"))


def test_ranks_count_from_one_in_the_order_of_the_file_s_ranks(tmp_path: Path) -> None:
    make_dataset(pictures=False)
    imported(tmp_path, RUN)
    assert rows("annotation") == [
        ("bow", "secret-file-00.jpg", "capkey-0-0", 1),
        ("bow", "secret-file-00.jpg", "capkey-1-0", 2),
        ("bow", "secret-file-00.jpg", "capkey-2-0", 3),
        ("bow", "secret-file-01.jpg", "capkey-1-0", 1),
        ("kcca", "secret-file-00.jpg", "capkey-4-1", 1),
    ]
    assert Output.objects.get(rank=3).score == pytest.approx(0.1)


def test_a_search_run_is_the_other_way_round_and_beside_the_other_task(tmp_path: Path) -> None:
    make_dataset(pictures=False)
    imported(tmp_path, RUN)
    imported(
        tmp_path,
        "capkey-0-0 Q0 secret-file-03.jpg 1 2 bow\ncapkey-0-0 Q0 secret-file-00.jpg 2 1 bow\n",
        task="search",
    )
    assert rows("search") == [
        ("bow", "secret-file-00.jpg", "capkey-0-0", 2),
        ("bow", "secret-file-03.jpg", "capkey-0-0", 1),
    ]
    assert len(rows("annotation")) == 5


def test_the_same_file_again_changes_nothing_and_another_one_is_refused(tmp_path: Path) -> None:
    make_dataset(pictures=False)
    imported(tmp_path, RUN)
    imported(tmp_path, RUN)
    assert Output.objects.filter(system__name="bow").count() == 4
    with refuses(CommandError, "bow", "annotation"):
        imported(tmp_path, "secret-file-00.jpg Q0 capkey-1-0 1 0.2 bow\n")


@pytest.mark.parametrize(("rank", "completed"), [(3, True), (2, False)])
def test_lists_that_a_judgments_file_brought_in_part_are_completed_where_they_agree(
    tmp_path: Path, rank: int, completed: bool
) -> None:
    dataset = make_dataset(pictures=False)
    dataset.notes = {"known_in_part": {"annotation": ["bow", "other"]}}
    dataset.save()
    known = System.objects.create(dataset=dataset, name="bow")
    Output.objects.create(
        system=known,
        item=dataset.items.get(name="secret-file-00.jpg"),
        caption=dataset.captions.get(key="capkey-2-0"),
        rank=rank,
    )
    if completed:
        imported(tmp_path, RUN)
        assert len(rows("annotation")) == 5
        assert (
            Output.objects.get(system=known, rank=3).pk
            == Output.objects.filter(system=known).earliest("pk").pk
        )
    else:
        with pytest.raises(CommandError, match="with other lists"):
            imported(tmp_path, RUN)
    dataset.refresh_from_db()
    assert dataset.known_in_part == {"annotation": ["other"] if completed else ["bow", "other"]}


def test_a_depth_keeps_the_first_of_each_list(tmp_path: Path) -> None:
    make_dataset(pictures=False)
    imported(tmp_path, RUN, depth=1)
    assert len(rows("annotation")) == 3


@pytest.mark.parametrize(
    ("line", "place", "found"),
    [
        ("secret-file-00.jpg Q0 capkey-0-0 1 0.5", None, "5 columns"),
        ("nowhere.jpg Q0 capkey-0-0 1 0.5 bow", "qid", "nowhere.jpg"),
        ("secret-file-00.jpg Q0 capkey-99-0 1 0.5 bow", "docid", "capkey-99-0"),
        ("secret-file-00.jpg Q0 capkey-1-0 first 0.5 bow", "rank", "first"),
        ("secret-file-00.jpg Q0 capkey-1-0 -1 0.5 bow", "rank", "-1"),
        ("secret-file-00.jpg Q0 capkey-1-0 1 nan bow", "score", "nan"),
        ("secret-file-05.jpg Q0 capkey-5-0 9 0.5 bow", "rank", "rank that its list has already"),
        ("secret-file-05.jpg Q0 capkey-5-1 8 0.5 bow", "docid", "docid that its list has already"),
        (f"secret-file-00.jpg Q0 capkey-1-0 1 0.5 {'s' * 81}", "system", "81 characters"),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_kept(
    tmp_path: Path, line: str, place: str | None, found: str
) -> None:
    make_dataset(pictures=False)
    before = System.objects.count()
    whole = f"secret-file-05.jpg Q0 capkey-5-1 9 0.5 bow\n\n{line}\n"
    with pytest.raises(CommandError) as refused:
        imported(tmp_path, whole)
    said = str(refused.value)
    assert "line 3" in said
    assert found in said
    assert place is None or f", {place}:" in said
    assert System.objects.count() == before
    assert not Output.objects.filter(system__name="bow").exists()


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_lines_is_refused(tmp_path: Path, text: str) -> None:
    make_dataset(pictures=False)
    with pytest.raises(CommandError, match="no lines"):
        imported(tmp_path, text)


# SHA-256 of the HITs of the relevance design below
TENS = "9283641ee83ce65aa0d987b3bc3841a4cc0c484135b020643621a95921533b10"
STUDY = """\
name = "{slug}"
dataset = "flickr8k"
preset = "{preset}"
seed = 13
[sampling]
images = {images}
{more}
"""


@pytest.fixture(scope="module")
def flickr8k(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The images of the dev and the test split alone: no study draws from the others."""
    folder, data = tmp_path_factory.mktemp("flickr8k"), shared / "data" / "flickr8k"
    images: set[str] = set()
    for split in ("dev", "test"):
        text = (data / SPLIT_FILES[split]).read_text(encoding="utf-8")
        (folder / SPLIT_FILES[split]).write_text(text, encoding="utf-8")
        images |= set(text.split())
    lines = (data / TOKEN_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if f"{line.partition('.jpg')[0]}.jpg" in images]
    (folder / TOKEN_FILE).write_text("".join(kept), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(flickr8k: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two systems' top tens for 60 images and 60 captions of the test split."""
    return write_runs(flickr8k, tmp_path_factory.mktemp("runs"), queries=60)


def test_h13_s_protocols_on_flickr8k_judge_what_two_systems_proposed(
    installation_on: Callable[[str], Installation],
    runs: list[Run],
    flickr8k: Path,
    tmp_path: Path,
    database: str,
) -> None:
    installation = installation_on(database)
    installation.manage("import_dataset", "flickr8k", str(flickr8k), "--name", "flickr8k")
    for run in runs:
        installation.manage("import_rankings", str(run.path), "--dataset", "flickr8k", "--task", run.task)
    captions = {key: text for run in runs for key, text in run.captions.items()}

    def generated(
        slug: str, preset: str, images: int | str, more: str = ""
    ) -> tuple[bytes, list[dict[str, object]]]:
        path = tmp_path / f"{slug}.toml"
        path.write_text(STUDY.format(slug=slug, preset=preset, images=json.dumps(images), more=more))
        installation.manage("create_study", str(path))
        hits = tmp_path / f"{slug}.jsonl"
        installation.manage("generate_hits", slug, "--output", str(hits))
        lines = [json.loads(line) for line in hits.read_text().splitlines()]
        units = [
            unit for line in lines if line["type"] == "hit" for unit in line["units"] if not unit["control"]
        ]
        return hits.read_bytes(), units

    # graded: the first caption of each system, five images
    _, units = generated("firsts", "hodosh-2013-graded", 5)
    assert len({unit["image"] for unit in units}) == 5
    first = {
        (image, captions[key])
        for run in runs
        if run.task == "annotation"
        for image, ranked in run.lists.items()
        for key in ranked[:1]
    }
    chosen = {unit["image"] for unit in units}
    assert {(unit["image"], unit["first_text"]) for unit in units} == {
        one for one in first if one[0] in chosen
    }
    assert len(units) <= 10

    # relevance: the union of the first tens of both systems in both directions, filtered, filled up to tens
    tens, units = generated("tens", "hodosh-2013-relevance", "all")
    union = {
        (query, captions[item]) if run.task == "annotation" else (item, captions[query])
        for run in runs
        for query, ranked in run.lists.items()
        for item in ranked[:10]
    }
    judged = {(unit["image"], unit["first_text"]) for unit in units if not unit["filtered"]}
    texts = sorted({text for _, text in union})
    images = sorted({image for image, _ in union})
    hits, totals = bleu_pre_matrix(texts, [runs[0].references[image] for image in images], order="stem-first")
    passed = {
        (image, text)
        for row, image in enumerate(images)
        for column, text in enumerate(texts)
        if (image, text) in union and totals[column] and 4 * hits[row, column] >= totals[column]
    }
    assert judged == passed
    groups: dict[object, int] = {}
    for unit in units:
        groups[unit["image"]] = groups.get(unit["image"], 0) + 1
    assert all(count % 10 == 0 for count in groups.values())
    # the same bytes on every database, and the same as when this was written
    assert hashlib.sha256(tens).hexdigest() == TENS
