"""Releases: the same study gives the same bytes, nothing of people's names, and any change is found."""

import fnmatch
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Judgment
from common.rows.append_only import AppendOnlyError
from contrib.comparing.releases import _hash_row
from evaluation.data.releases.bundle import CHECKSUMS, MANIFEST
from evaluation.data.releases.settings import ReleaseSettings
from evaluation.data.releases.terms import ReleaseTerms, next_version
from evaluation.errors import NotReleasable, ReleaseError, VerificationError
from evaluation.models import Release
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import verify_bundle
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import Study, StudyEvent
from tests.evaluation.reporting import contents, lines, rewrite, rolled_back, sum_again
from tests.evaluation.studies import START, StudyOf, candidate, make_dataset
from tests.marks import long_except
from tests.plots import cut_fonts_again, undrawn

pytestmark = pytest.mark.django_db

SALT = b"not a secret in a test"
DAY = date(2026, 11, 20)
HOSTILE = [
    '<script>alert("1")</script>',
    "=cmd|' /C calc'!A0",
    "| pipe \u2028 \x0b line",
    "Zoë's 犬 \ud7ff %0A",
]
NAMES = ("ada@mail.example", "w-0002", "w-0003")


def make_pairwise() -> StudyOf:
    """Four pairs with hostile captions, judged by three people of whom one fails the control item."""
    images = {f"{number}.jpg": ["a dog runs", "one dog"] for number in range(4)}
    study = StudyOf(
        make_dataset("toy", images), "pairwise", controls={"per_hit": 1, "threshold": 0.7}, seed=11
    )
    pairs = [
        study.pair(
            f"p{number}", f"{number}.jpg", text, f"a dog number {number}", kind="HM" if number % 2 else "HC"
        )
        for number, text in enumerate(HOSTILE)
    ]
    control = study.unit(
        "c", "0.jpg", first="own", second=candidate(study.dataset, "other"), control=True, expected=1
    )
    hit = study.hit("h", [*(study.unit(f"u-{pair.key}", pair=pair) for pair in pairs), control])
    left, right = "first-left", "second-left"
    study.answer(
        hit, NAMES[0], [1, 2, 1, 2, 1], presented=[left, right, left, right, left], seconds=[2.0] * 5
    )
    study.answer(hit, NAMES[1], [1, 2, 2, 2, 1], presented=[right, left, left, right, left])
    study.answer(hit, NAMES[2], [2, 2, 2, 2, 2], presented=[right, left, left, right, left])
    return study


@pytest.fixture
def pairwise() -> StudyOf:
    return make_pairwise()


def released(study: Study, path: Path, **terms: Any) -> Release:
    """A release with a known salt and day."""
    stated = ReleaseTerms(**{"version": "1.0", "licence": "CC-BY-4.0", **terms})
    return release_study(study=study, terms=stated, output=path, salt=SALT, released_on=DAY)[0]


class Made(NamedTuple):
    """A bundle, and what the study said when it was made."""

    data: bytes
    signature: str
    metrics: dict[str, Any]
    aggregation: dict[str, Any]


@pytest.fixture(scope="module")
def made_once(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    """A bundle, drawn once for all tests here; the study behind it is gone again."""
    path = tmp_path_factory.mktemp("made_once") / "a.zip"
    with rolled_back(django_db_blocker):
        study = make_pairwise().study
        metrics = evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])["metrics"]
        aggregation = aggregate_study(study=study)
        made = released(study, path, title="Toy pairs", citation="Ada (2026)")
        return Made(path.read_bytes(), made.signature, metrics, aggregation)


@pytest.fixture
def bundle(made_once: Made, tmp_path: Path) -> Path:
    """A copy of the bundle, to be changed."""
    path = tmp_path / "a.zip"
    path.write_bytes(made_once.data)
    return path


@pytest.fixture
def only_svg() -> Iterator[None]:
    """Of a figure's files the SVG alone; that all are the same again is seen of a report."""
    with undrawn("pdf", "png"):
        yield


@pytest.mark.usefixtures("only_svg")
def test_a_version_is_released_once_and_again_with_the_same_bytes(pairwise: StudyOf, tmp_path: Path) -> None:
    study = pairwise.study
    assert next_version(study) == "1.0"
    made = released(study, tmp_path / "a.zip")
    assert next_version(study) == "1.1"
    assert made.size == (tmp_path / "a.zip").stat().st_size
    with pytest.raises(ReleaseError, match=r"such as 1\.1"):
        released(study, tmp_path / "b.zip")
    with pytest.raises(ReleaseError, match="already exists"):
        released(study, tmp_path / "a.zip", version="1.1")
    with pytest.raises(AppendOnlyError):
        made.save()
    with pytest.raises(AppendOnlyError):
        made.delete()
    event = StudyEvent.objects.get(what="released")
    assert event.details == {"version": "1.0", "sha256": made.sha256}
    # the row alone says that this version was released
    Release.objects.all()._raw_delete(Release.objects.db)
    cut_fonts_again()
    assert released(study, tmp_path / "b.zip").sha256 == made.sha256
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_another_salt_gives_other_people_and_the_same_figures(
    pairwise: StudyOf, bundle: Path, tmp_path: Path
) -> None:
    place = str(tmp_path / "b.zip")
    call_command(
        "release", pairwise.study.slug, "--version", "1.1", "--licence", "cc-by-4.0", "--output", place
    )
    one, two = contents(bundle), contents(tmp_path / "b.zip")
    first, second = ({row["worker"] for row in lines(files["judgments.jsonl"])} for files in (one, two))
    assert first.isdisjoint(second)
    assert one["consensus.jsonl"] == two["consensus.jsonl"]


def test_a_bundle_holds_what_it_promises_and_verifies(made_once: Made, bundle: Path) -> None:
    files = contents(bundle)
    matrices = {f"metric-correlation-{end}" for end in ("r", "rho", "tau-b")}
    plots = {
        "agreement",
        "worker-pairs",
        "workers",
        "accuracy",
        "tournament",
        "strengths",
        "halves",
        *matrices,
    }
    assert {"figures/accuracy.csv", "tables/compared.tex", "index.html", "references.bib", "report.json"} <= {
        name.removeprefix("report/") for name in files
    }
    assert {name.rpartition("/")[2].partition(".")[0] for name in files if "/figures/" in name} <= plots
    assert {name for name in files if not name.startswith("report/")} == {
        "units.jsonl", "pairs.jsonl", "scores.jsonl", "captions.jsonl", "judgments.jsonl", "consensus.jsonl",
        "workers.jsonl", "analyses.json", "design.toml", "datasheet.md", "croissant.json", "CITATION.cff", "LICENSE",
        "README.md", MANIFEST, CHECKSUMS,
    }  # fmt: skip
    tables = [name for name in files if name.startswith("report/tables/") and name.endswith(".md")]
    assert all(made_once.signature.encode() in files[name] for name in tables)
    manifest = json.loads(files[MANIFEST])
    assert manifest["signature"] == made_once.signature
    assert manifest["files"]["judgments.jsonl"]["rows"] == 15
    assert set(manifest["versions"]) == {"quorum", "python", "numpy", "scipy"}
    found = verify_bundle(bundle)
    assert found.differences == ()
    assert found.checked > 100
    texts = {row["text"] for row in lines(files["captions.jsonl"])}
    assert set(HOSTILE) <= texts


def test_its_figures_are_those_of_the_study(made_once: Made, bundle: Path) -> None:
    files, result = contents(bundle), made_once.aggregation
    analyses = json.loads(files["analyses.json"])
    assert analyses["metrics"]["bleu-1"]["accuracy"] == made_once.metrics["bleu-1"]["accuracy"]
    for figure in ("value", "n", "judgments", "workers", "units"):
        assert analyses["agreement"]["alpha"][figure] == result["agreement"]["alpha"][figure]
    consensus = lines(files["consensus.jsonl"])
    assert [(row["unit"], row["value"], row["n"]) for row in consensus if row["unit"]] == [
        (row["unit"], row["value"], row["n"]) for row in result["units"]
    ]
    assert [row["value"] for row in consensus if not row["unit"]] == [row["value"] for row in result["pairs"]]

    def of_workers(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        return sorted((row["judgments"], row["controls_right"], row["left_share"]) for row in rows)

    assert of_workers(lines(files["workers.jsonl"])) == of_workers(result["workers"])


@pytest.mark.usefixtures("undrawn")
def test_nothing_of_people_and_no_code_that_lets_them_in_stands_in_a_bundle(
    pairwise: StudyOf, tmp_path: Path
) -> None:
    work = Assignment.objects.get(worker__name=NAMES[0])
    comment = f"Write to {NAMES[0]} or call +49 30 1234567, see https://me.example"
    Judgment._base_manager.filter(assignment=work).update(comment=comment)
    pairwise.study.design["access"] |= {"join": "code", "code": "open-sesame"}
    pairwise.study.save()
    released(pairwise.study, tmp_path / "a.zip")
    for name, data in contents(tmp_path / "a.zip").items():
        text = data.decode(errors="ignore")
        for secret in (*NAMES, SALT.decode(), "Write to", str(work.pk), "open-sesame"):
            assert secret not in text, f"{secret} in {name}"


@pytest.mark.usefixtures("undrawn")
def test_comments_are_scrubbed_and_texts_left_out_where_asked_for(pairwise: StudyOf, tmp_path: Path) -> None:
    work = Assignment.objects.get(worker__name=NAMES[1])
    comment = f"I am {NAMES[1]}, write to me@mail.example or +49 30 1234567, see https://me.example/x or not"
    Judgment._base_manager.filter(assignment=work).update(comment=comment)
    released(pairwise.study, tmp_path / "a.zip", comments=True, texts=False)
    files = contents(tmp_path / "a.zip")
    found = {row["comment"] for row in lines(files["judgments.jsonl"])}
    assert found == {None, "I am […], write to […] or […], see […] or not"}
    assert "captions.jsonl" not in files
    for name in ("judgments.jsonl", "units.jsonl"):
        assert all(row["first_text"] is None for row in lines(files[name]))
    assert "Texts of captions are left out" in files["datasheet.md"].decode()
    assert verify_bundle(tmp_path / "a.zip").differences == ()


@pytest.mark.parametrize(
    "name",
    long_except(
        [
            "judgments.jsonl",
            "consensus.jsonl",
            "report/figures/agreement.svg",
            "LICENSE",
            MANIFEST,
            CHECKSUMS,
        ],
        *("judgments.jsonl", "report/figures/agreement.svg", MANIFEST, CHECKSUMS),
    ),
)
def test_a_changed_byte_of_a_file_is_found(bundle: Path, name: str) -> None:
    size = len(contents(bundle)[name])
    for place in (0, size // 2, size - 1):
        rewrite(bundle, partial(_flip, name=name, place=place))
        assert verify_bundle(bundle).count > 0
        rewrite(bundle, partial(_flip, name=name, place=place))
    assert verify_bundle(bundle).count == 0


def _flip(files: dict[str, bytes], *, name: str, place: int) -> None:
    data = files[name]
    files[name] = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_a_changed_judgment_is_found_by_its_figures_even_where_the_hashes_were_made_again(
    bundle: Path,
) -> None:

    def change(files: dict[str, bytes]) -> None:
        rows = lines(files["judgments.jsonl"])
        row = next(one for one in rows if one["used"] and not one["control"])
        row["value"] = 3 - row["value"]
        text = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in rows)
        files["judgments.jsonl"] = text.encode()

    rewrite(bundle, change, hashed=True)
    found = verify_bundle(bundle)
    assert any(one.startswith("manifest.json.signature: ") for one in found.differences)
    assert any(one.startswith("consensus.jsonl") for one in found.differences)
    assert not any("was changed" in one for one in found.differences)


def test_a_changed_number_beside_a_figure_is_found_even_where_the_hashes_were_made_again(
    bundle: Path,
) -> None:
    name = "report/figures/agreement.csv"
    rewrite(bundle, lambda files: files.update({name: files[name] + b"more,1,1,1\n"}), hashed=True)
    assert verify_bundle(bundle).differences == (f"{name}: its numbers are not those of report/report.json.",)


def _with_other_digit(text: str, at: int = -1) -> str:
    """Return a text with its last digit, or that at ``at``, changed."""
    place = at if at >= 0 else max(index for index, letter in enumerate(text) if letter.isdigit())
    return f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"


@pytest.mark.parametrize(
    "name",
    [
        "report/report.md",
        "report/report.tex",
        "report/methods.md",
        "report/index.html",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("report/tables/*.html", "report/tables/*.tex")
        ),
        "report/tables/*.md",
        "README.md",
        "datasheet.md",
        "croissant.json",
        "CITATION.cff",
    ],
)
def test_a_changed_number_to_read_is_found_even_where_all_hashes_were_made_again(
    bundle: Path, name: str
) -> None:
    for file in fnmatch.filter(contents(bundle), name):

        def change(files: dict[str, bytes], file: str = file) -> None:
            files[file] = _with_other_digit(files[file].decode()).encode()

        data = bundle.read_bytes()
        rewrite(bundle, change, hashed=True)
        expected = f"{file} is not what the rows, manifest.json and report/report.json say."
        assert verify_bundle(bundle).differences == (expected,)
        bundle.write_bytes(data)


@pytest.mark.long
def test_a_changed_number_of_the_manifest_is_found_even_where_the_checksums_were_made_again(
    bundle: Path,
) -> None:
    text = contents(bundle)[MANIFEST].decode()
    files = text.index('"files"')
    places = [at for at, letter in enumerate(text) if letter.isdigit() and (at < files or at % 101 == 0)]
    places = [
        at for at in places if text[at - 1] not in "abcdef0123456789" or at > files
    ]  # one of each number
    assert len(places) > 40
    data = bundle.read_bytes()
    for at in places:

        def change(files: dict[str, bytes], at: int = at) -> None:
            files[MANIFEST] = _with_other_digit(text, at).encode()
            sum_again(files)

        rewrite(bundle, change)
        differences = verify_bundle(bundle).differences
        assert any("manifest.json" in line for line in differences), (
            text[max(at - 40, 0) : at + 20],
            differences,
        )
        bundle.write_bytes(data)


def test_a_file_changed_with_its_checksum_is_not_the_one_of_the_manifest(bundle: Path) -> None:
    name = "report/figures/agreement.svg"

    def change(files: dict[str, bytes]) -> None:
        files[name] = _with_other_digit(files[name].decode()).encode()
        sum_again(files)

    rewrite(bundle, change)
    (difference,) = verify_bundle(bundle).differences
    assert difference.startswith(f"manifest.json.files.{name}.sha256: stated ")


def test_a_file_more_or_less_is_found(bundle: Path) -> None:
    rewrite(bundle, lambda files: files.update({"more.txt": b"more"}))
    assert any("more.txt stands in the bundle" in one for one in verify_bundle(bundle).differences)
    rewrite(bundle, lambda files: (files.pop("more.txt"), files.pop("LICENSE")))
    assert "LICENSE is missing." in verify_bundle(bundle).differences


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="is no file"):
        verify_bundle(tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(VerificationError, match="zip file"):
        verify_bundle(tmp_path / "text.zip")
    with ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a.txt", "a")
    with pytest.raises(CommandError, match="does not hold"):
        call_command("verify", str(tmp_path / "other.zip"))


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"licence": "CC-BY-40"}, "CC-BY-4.0"),
        ({"version": "one"}, "is not a version"),
        ({"version": "1.0\n"}, "is not a version"),
    ],
)
def test_wrong_terms_are_refused(pairwise: StudyOf, tmp_path: Path, terms: dict[str, str], said: str) -> None:
    with pytest.raises(ReleaseError, match=said):
        released(pairwise.study, tmp_path / "a.zip", **terms)
    assert list(tmp_path.iterdir()) == []
    assert not Release.objects.exists()


def test_an_open_study_tells_no_right_answers(pairwise: StudyOf, tmp_path: Path) -> None:
    pairwise.study.state = Study.State.OPEN
    with pytest.raises(NotReleasable, match="not closed"):
        released(pairwise.study, tmp_path / "a.zip")


@pytest.mark.usefixtures("undrawn")
def test_writing_that_fails_leaves_nothing(
    pairwise: StudyOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evaluation.data.releases.bundle.HashedFile.write_text", full)
    with pytest.raises(Exception, match="No space left"):
        released(pairwise.study, tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []
    assert not Release.objects.exists()


@pytest.mark.usefixtures("undrawn")
def test_one_caption_at_a_time_and_open_answers_verify_too(tmp_path: Path) -> None:
    images = {f"{number}.jpg": [f"a dog number {number}", "one dog runs"] for number in range(5)}
    study = StudyOf(make_dataset("toy", images), "graded", controls={"per_hit": 0}, seed=3)
    units = [study.unit(f"u{number}", f"{number}.jpg", first=f"a dog {number} runs") for number in range(5)]
    hit = study.hit("h", units)
    study.answer(hit, "w-1", [1, 2, 3, 4, 4])
    study.answer(hit, "w-2", [1, 3, 3, 4, 2])
    metrics = evaluate_study(study=study.study, metrics=["bleu-1"])["metrics"]
    released(study.study, tmp_path / "a.zip")
    analyses = json.loads(contents(tmp_path / "a.zip")["analyses.json"])
    assert analyses["metrics"]["bleu-1"]["kendall_tau_b"] == metrics["bleu-1"]["kendall_tau_b"]
    assert verify_bundle(tmp_path / "a.zip").differences == ()


@pytest.mark.long
def test_croissant_is_valid(bundle: Path, tmp_path: Path) -> None:
    with ZipFile(bundle) as archive:
        archive.extractall(tmp_path / "out")
    # a process of its own: the validator brings a logger that would change everybody's
    program = (
        "import sys, mlcroissant as mlc\n"
        "found = mlc.Dataset(jsonld=sys.argv[1])\n"
        "print(sorted(one.name for one in found.metadata.record_sets))\n"
        "print(sum(1 for _ in found.records(record_set='judgments')))\n"
        "print(*found.metadata.ctx.issues.errors, *found.metadata.ctx.issues.warnings)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "out" / "croissant.json")],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    names, count, issues = ran.stdout.split("\n", 2)
    assert names == "['consensus', 'judgments', 'units', 'workers']"
    assert count == "15"
    assert issues.strip() == ""


@pytest.mark.usefixtures("undrawn")
def test_times_are_given_to_the_minute_and_still_known_from_an_older_release(
    pairwise: StudyOf, tmp_path: Path
) -> None:
    Assignment.objects.update(
        accepted_at="2026-01-01T10:00:59.999999Z", submitted_at="2026-01-01T10:05:17.123456Z"
    )
    path = tmp_path / "a.zip"
    released(pairwise.study, path)
    rows = lines(contents(path)["judgments.jsonl"])
    assert {(row["accepted_at"], row["submitted_at"]) for row in rows} == {
        ("2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z")
    }
    known = [_hash_row(row) for row in rows]
    assert known == [_hash_row({**row, "submitted_at": "2026-01-01T10:05:17.123456Z"}) for row in rows]


@pytest.mark.usefixtures("undrawn")
def test_durations_are_not_counted_from_the_cut_times(pairwise: StudyOf, tmp_path: Path) -> None:
    """Twenty seconds that pass a full minute would be a minute, and others nothing."""
    pairwise.study.design["crowd"]["reward_cents"] = 10
    pairwise.study.save()
    for second, work in enumerate(Assignment.objects.order_by("pk")):
        accepted = START + timedelta(seconds=45 + second)
        Assignment.objects.filter(pk=work.pk).update(
            accepted_at=accepted, submitted_at=accepted + timedelta(seconds=20)
        )
    path = tmp_path / "a.zip"
    released(pairwise.study, path)
    files = contents(path)
    assert "median time is 0.3 minutes: 18.00 an hour" in files["datasheet.md"].decode()
    assert sorted(row["seconds"] or 0 for row in lines(files["workers.jsonl"])) == [0, 0, 2]
    assert verify_bundle(path).differences == ()


@pytest.mark.usefixtures("undrawn")
def test_a_bundle_with_whole_times_keeps_its_durations(pairwise: StudyOf, tmp_path: Path) -> None:
    """As before 0.6, whose ``settings`` do not say that times are cut."""
    with patch("evaluation.reports.releases.making.ReleaseSettings", _settings_of_before):
        released(pairwise.study, tmp_path / "a.zip")
    files = contents(tmp_path / "a.zip")
    assert "cut_times" not in json.loads(files[MANIFEST])["settings"]
    assert sorted(row["seconds"] for row in lines(files["workers.jsonl"])) == [2, 60, 60]
    assert verify_bundle(tmp_path / "a.zip").differences == ()


def _settings_of_before(**values: Any) -> ReleaseSettings:
    return ReleaseSettings(**values | {"cut_times": False})
