"""What comes from outside is read within limits, or refused in one sentence."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from common.environment import IncomingLimits
from common.errors import QuorumError
from common.incoming import MAX_REQUEST_BYTES, RequestBytesExceeded, within_request
from judgments.datasets import uploads
from judgments.importers import ImportProblem, open_dataset
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.records.json_records import read_json_lines
from judgments.importers.tables.files import read_parquet
from judgments.jobs.claims import run_job
from judgments.models import Dataset, Job, Study
from tests.bombs import BOMBS, blank, packed, read
from tests.judgments.desk import words
from tests.refusals import refuses

ROOT = Path(__file__).resolve().parent.parent
MOST_MEMORY = 300  # MiB
SENTENCE = re.compile(r"[^\n]{10,600}\.")
CSV = "image,caption\na.jpg,A dog runs .\n"


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    return tmp_path


def sent(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def no_sentences(said: list[str]) -> list[str]:
    return [line for text in said for line in text.split("\n") if not SENTENCE.fullmatch(line)]


@pytest.mark.long
def test_every_bomb_is_refused_in_sentences_and_little_memory(tmp_path: Path) -> None:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings", "DATA_DIR": str(tmp_path / "data"),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'none.sqlite3'}",
        "INCOMING_LINES": "500000",  # fewer than usual, for time
    }  # fmt: skip
    (tmp_path / "bombs").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.bombs", str(tmp_path / "bombs")],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["name"] for one in results] == list(BOMBS)
    assert {one["name"]: one["peak"] for one in results if one["peak"] > MOST_MEMORY} == {}
    for one in results:
        assert one["state"] == 0, (one, done.stderr)
        assert one["said"], one
        assert not no_sentences(one["said"]), one


@pytest.mark.parametrize("name", ["jsonl", "csv", "json"])
def test_what_gzip_packed_is_understood_by_the_name_inside(name: str) -> None:
    rows = {"csv": CSV, "jsonl": '{"image": "a.jpg", "caption": "A dog"}\n'}
    rows["json"] = f"[{rows['jsonl']}]"
    upload = uploads.store_upload([sent(f"my-system.{name}.GZ", gzip.compress(rows[name].encode()))])
    understood = uploads.inspect_stored_upload(upload, [f"my-system.{name}.GZ"], "")
    assert not understood.problems
    assert understood.name == "my-system"
    assert [(part.format, part.captions) for part in understood.parts] == [(name, 1)]


@pytest.mark.long
def test_a_workbook_shares_more_texts_than_it_has_columns(tmp_path: Path) -> None:
    path = tmp_path / "sent.xlsx"
    row = '<row><c t="s"><v>{}</v></c><c t="s"><v>{}</v></c></row>'
    rows = "".join([row.format(0, 1), *(row.format(n, n) for n in range(2, 20_000))])
    texts = "".join(f"<si><t>{text}</t></si>" for text in ("image", "caption", *range(2, 20_000)))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="x"><sheetData>{rows}</sheetData></worksheet>'
        )
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="x">{texts}</sst>')
    assert sum(1 for _ in open_dataset("xlsx", path).references()) == 19_998


@pytest.mark.parametrize("number", [10**5, pytest.param(10**6, marks=pytest.mark.long)])
def test_many_rows_of_an_ordinary_ratio_are_read(number: int, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    rows = "".join(
        f'{{"image": "{n}.jpg", "caption": "A dog runs after {n * 7919} balls ."}}\n' for n in range(number)
    )
    path.write_bytes(gzip.compress(rows.encode(), 1))
    columns, notes = Columns(("image", "caption"), strict=True), ImportNotes()
    assert sum(1 for _ in read_json_lines(path, columns, notes)) == number


def test_parquet_with_pictures_of_ordinary_size_is_read_without_them(tmp_path: Path) -> None:
    pictures = [{"bytes": os.urandom(600_000), "path": f"{n}.jpg"} for n in range(100)]
    names, kind = (
        [picture["path"] for picture in pictures],
        pa.struct({"bytes": pa.binary(), "path": pa.string()}),
    )
    columns = {
        "picture": pa.array(pictures, kind),
        "thumbnail": [b"x"] * 100,
        "image": names,
        "caption": names,
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=100)
    rows = list(open_dataset("parquet", tmp_path / "a.parquet").references())
    assert [row.image for row in rows] == names
    records = read_parquet(tmp_path / "a.parquet", Columns((), lenient=True), ImportNotes(), None)
    assert next(records).values == {
        "picture": {"path": "0.jpg"}, "thumbnail": None, "image": "0.jpg", "caption": "0.jpg"
    }  # fmt: skip


def test_characters_of_parquet_are_counted_and_not_their_bytes(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["狗" * 2_000_000]}), tmp_path / "a.parquet")
    [record] = read_parquet(tmp_path / "a.parquet", Columns((), lenient=True), ImportNotes(), None)
    assert record.values == {"text": "狗" * 2_000_000}
    pq.write_table(pa.table({"text": ["狗" * 2_100_000]}), tmp_path / "a.parquet")
    with refuses(ImportProblem, "characters", "2,097,152"):
        list(read_parquet(tmp_path / "a.parquet", Columns((), lenient=True), ImportNotes(), None))


def test_each_job_of_a_process_gets_the_memory_that_is_its_own() -> None:
    program = """
from common.incoming.isolation import memory_limit
kept = []
for job in range(2):
    with memory_limit(300):
        import pyarrow
        pyarrow.array(range(1_000)).cast("string")
        kept.append(bytearray(200_000_000))
with memory_limit(300):
    try:
        print(len(bytearray(400_000_000)))
    except MemoryError:
        print("too much")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "too much\n"


SMALL = IncomingLimits(bytes=300_000, growth=50, lines=2_000, line=5_000, files=20, depth=20, pixels=10_000)
PAYLOADS = st.builds(
    lambda unit, times, head: head + unit * times,
    st.sampled_from(
        [b"\n", b"\r", b" ", b"x", b",", b'"', b'"\n",', b"[", b"{}", b'{"a":', b"[],", b"\x00", b"\x80", b"\xff\xfe",
         b"a.jpg,A dog\n", b'{"image": "a.jpg", "caption": "A dog"}\n', b"PK\x01\x02", b"\x1f\x8b\x08\x00"]
    ),
    st.sampled_from([1, 50, 3_000, 400_000]),
    st.sampled_from([b"", b"image,caption\n", b"[", b'{"images": [], "annotations": [', b"\x1f\x8b", b"PK\x03\x04"]),
)  # fmt: skip


def zipped(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("a.csv", content)
    return stream.getvalue()


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zip": zipped,
    ".lzma.zip": lambda content: zipped(content, zipfile.ZIP_LZMA),
}


@settings(max_examples=60)
@given(
    payload=PAYLOADS,
    wrappers=st.lists(st.sampled_from(sorted(WRAPPERS)), max_size=3),
    suffix=st.sampled_from([".csv", ".jsonl", ".json", ".txt", ".zip"]),
    cut=st.integers(0, 40),
)
def test_whatever_is_sent_is_understood_or_refused_in_one_sentence(
    payload: bytes, wrappers: list[str], suffix: str, cut: int
) -> None:
    name = f"sent{suffix}"
    for wrapper in wrappers:
        payload, name = WRAPPERS[wrapper](payload), f"sent{wrapper}"
    payload = payload[: len(payload) - cut]
    with override_settings(INCOMING=SMALL):
        said = []
        try:
            upload = uploads.store_upload(
                [sent(name if name.endswith(".zip") else f"{name}{suffix}", payload)]
            )
            said += uploads.inspect_stored_upload(upload, [name], "").problems
        except QuorumError as error:
            said.append(str(error))
        else:
            for format in ("csv", "jsonl", "coco"):
                try:
                    with uploads.open_upload(upload) as files:
                        rows = sum(1 for _ in open_dataset(format, files.path).references())
                    assert rows <= SMALL.lines
                except QuorumError as error:
                    said.append(str(error))
    assert all(SENTENCE.fullmatch(sentence) for sentence in said), said


def sheet(rows: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="x"><sheetData>{rows}</sheetData></worksheet>'
        )
        archive.writestr(
            "xl/sharedStrings.xml", '<sst xmlns="x"><si><t>image</t></si><si><t>caption</t></si></sst>'
        )
    return stream.getvalue()


TABLE = pa.table({"image": ["a.jpg", "b.jpg"], "caption": ["A dog", "A cat"], "system": ["near", "far"]})
HEAD_ROW = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
ORDINARY: dict[str, bytes] = {
    "a.xlsx": sheet(HEAD_ROW + "<row><c><v>a.jpg</v></c><c><v>A dog</v></c></row>"),
    **{f"a.{kind}": blank(20, kind) for kind in ("png", "gif", "webp", "jpeg")},
    "predictions.jsonl": b'{"unit": "a", "distribution": {"0": 0.3, "1": 0.7}}\n' * 2,
    "panel.csv": b"Participant id,Session,Status,Completion code\na1,s1,APPROVED,C0DE\n",
    "scores.csv": b"image,system,score\na.jpg,near,0.5\n",
    "scores.jsonl": b'{"image": "a.jpg", "system": "near", "m": 0.5}\n',
    "m.seg.score": b"near\t0.5\nfar\tNone\n",
    "run.txt": b"a Q0 b 1 0.5 near\n",
    "captions.json": b'[{"image_id": "a.jpg", "caption": "A dog"}]',
}
FLIPS = st.lists(st.tuples(st.integers(0, 2_000), st.integers(1, 255)), max_size=5)


def flipped(content: bytes, flips: list[tuple[int, int]], cut: int) -> bytes:
    changed = bytearray(content)
    for place, bits in flips:
        changed[place % len(changed)] ^= bits
    return bytes(changed[: len(changed) - cut])


def said_of(name: str, content: bytes) -> list[str]:
    with tempfile.TemporaryDirectory() as folder, override_settings(INCOMING=SMALL):
        path = Path(folder) / name
        path.write_bytes(content)
        return list(read(path))


@pytest.mark.long
@settings(max_examples=60, derandomize=True)
@given(name=st.sampled_from(sorted(ORDINARY)), flips=FLIPS, cut=st.sampled_from([0, 0, 0, 1, 9]))
def test_a_damaged_file_of_any_kind_is_read_or_refused_in_sentences(
    name: str, flips: list[tuple[int, int]], cut: int
) -> None:
    assert not no_sentences(said_of(name, flipped(ORDINARY[name], flips, cut)))


PIECES = (
    *(
        "<row>",
        "</row>",
        '<row r="x">',
        '<row r="-7">',
        '<c t="s">',
        '<c t="b">',
        '<c r="ZZZ9">',
        '<c r="B1">',
        "</c>",
    ),
    *(
        "<v>",
        "</v>",
        "<v>99</v>",
        "<v>-1</v>",
        "<t>",
        "</t>",
        "text",
        "&amp;",
        "&#0;",
        "&x;",
        "<!--",
        "-->",
        "<a:b>",
    ),
    *(
        "<![CDATA[",
        "]]>",
        "<?x ?>",
        "<is>",
        "</is>",
        "<!DOCTYPE a>",
        "\x00",
        "9" * 5_000,
        '<c r="A1" r="A1"/>',
    ),
    *("<v>0</v>", "<row><c><v>a.jpg</v></c><c><v>A dog</v></c></row>"),
)


@settings(max_examples=15, derandomize=True)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12), header=st.sampled_from(["", HEAD_ROW]))
def test_whatever_a_workbook_holds_is_read_or_refused_in_sentences(pieces: list[str], header: str) -> None:
    assert not no_sentences(said_of("a.xlsx", sheet(header + "".join(pieces))))


@settings(max_examples=6, derandomize=True)
@given(flips=FLIPS, compression=st.sampled_from(["none", "zstd"]))
def test_damaged_parquet_is_read_or_refused_in_a_sentence(
    flips: list[tuple[int, int]], compression: str
) -> None:
    stream = io.BytesIO()
    pq.write_table(TABLE, stream, compression=compression)
    with tempfile.TemporaryDirectory() as folder, override_settings(INCOMING=SMALL):
        path = Path(folder) / "a.parquet"
        path.write_bytes(flipped(stream.getvalue(), flips, 0))
        said = []
        try:
            list(open_dataset("parquet", path).references())
        except QuorumError as error:
            said.append(str(error))
    assert not no_sentences(said)


@pytest.mark.parametrize(
    ("limit", "content", "values"),
    [
        ({"bytes": 1_000}, CSV.encode() * 100, ["1,000 bytes", "INCOMING_BYTES"]),
        ({"lines": 50}, CSV.encode() + b"\n" * 60, ["50 lines", "INCOMING_LINES"]),
        ({"line": 100}, CSV.encode() + b"b.jpg," + b"x" * 100, ["line 3", "100 characters"]),
        ({"line": 30}, CSV.encode() + b'b,"' + b"\n" * 40, ["a record", "30 characters"]),
        ({}, gzip.compress(CSV.encode() + b"a.jpg,A dog\n" * 300_000), ["200 times", "INCOMING_GROWTH"]),
        ({"seconds": -1}, CSV.encode(), ["-1 s", "INCOMING_SECONDS"]),
    ],
)
def test_each_limit_is_named(
    limit: dict[str, int], content: bytes, values: list[str], tmp_path: Path, settings: Any
) -> None:
    settings.INCOMING = IncomingLimits(**limit)
    path = tmp_path / "sent.csv"
    path.write_bytes(content)
    with refuses(ImportProblem, *values):
        list(open_dataset("csv", path).references())


def test_a_request_reads_no_more_than_its_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sent.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode() + b"b.jpg,A cat\n" * MAX_REQUEST_BYTES))
    with within_request(), pytest.raises(RequestBytesExceeded):
        list(open_dataset("csv", path).references())
    assert list(open_dataset("csv", path).references())


def many_files(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    return stream.getvalue()


def test_a_request_leaves_a_long_list_of_files_to_the_job() -> None:
    upload = uploads.store_upload([sent("many.zip", many_files(*(f"{n}.csv" for n in range(2_000))))])
    with within_request(), pytest.raises(RequestBytesExceeded):
        uploads.inspect_stored_upload(upload, ["many.zip"], "")
    understood = uploads.inspect_stored_upload(upload, ["many.zip"], "")
    assert understood.problems[0].startswith("0.csv")
    assert understood.problems[20:] == ["Further files to which this applies: 1,980."]


@pytest.mark.long
def test_of_thousands_of_tables_no_more_than_can_be_offered_are_read() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(2_100):
            archive.writestr(f"system-{number:04d}.csv", CSV)
    upload = uploads.store_upload([sent("many.zip", stream.getvalue())])
    understood = uploads.inspect_stored_upload(upload, ["many.zip"], "")
    assert len(understood.parts) == 200
    assert understood.problems == [
        "The upload has captions from too many sources (more than 2,000). Captions from further sources were not read."
    ]


def test_unpacking_tells_how_far_it_is_and_can_be_stopped() -> None:
    class Stopped(Exception):
        pass

    def progress(share: float, words: str) -> None:
        if words == "b.jpg":  # a picture, of which only the name is looked at
            raise Stopped

    upload = uploads.store_upload([sent("many.zip", many_files("a.csv", "b.jpg"))])
    with pytest.raises(Stopped):
        uploads.inspect_stored_upload(upload, ["many.zip"], "", progress)
    with pytest.raises(Stopped), uploads.open_upload(upload, progress):
        pass


@pytest.mark.django_db
class TestUploads:
    def follow(self, designer: Client, answer: Any) -> Any:
        """The page to which the job leads that was asked for."""
        job = Job.objects.latest("pk")
        assert answer.headers["Location"] == reverse("admin:judgments_job_change", args=[job.pk])
        assert not job.progress
        run_job(job.pk)
        return designer.get(answer.headers["Location"], follow=True)

    @pytest.fixture
    def designer(self) -> Client:
        client = Client()
        client.force_login(User.objects.create_superuser("designer"))
        return client

    def test_a_bomb_costs_a_request_nothing_and_the_job_says_why(self, designer: Client) -> None:
        add = reverse("admin:judgments_dataset_add")
        answer = designer.post(
            add, {"files": [sent("a.csv", packed(b"\n", 40)), sent("b.csv", CSV.encode())]}
        )
        shown = words(self.follow(designer, answer))
        assert "more than 200" in shown
        assert "b.csv CSV · 1 caption of 1 image" in shown

    def test_a_large_table_is_understood_by_a_job_and_then_imported(self, designer: Client) -> None:
        table = "image,caption\n" + "".join(f"{n}.jpg,Ein Mädchen {n}\n" for n in range(6_000))
        add = reverse("admin:judgments_dataset_add")
        answer = designer.post(add, {"files": [sent("large.csv", table.encode("cp1252"))]})
        page = self.follow(designer, answer)
        assert "6,000 captions of 6,000 images · Windows-1252" in words(page)
        again = {"upload": page.context["upload"], "encoding": "windows-1250", "_again": "1", "attribution": "Mine",
                 "name": "mine", "role-0": "people"}  # fmt: skip
        page = self.follow(designer, designer.post(add, again))
        form = page.context["form"]
        assert (form["name"].value(), form["attribution"].value()) == ("mine", "Mine")
        chosen = {name: form[name].value() for name in form.fields if form[name].value()}
        answer = designer.post(add, chosen | {"upload": page.context["upload"]})
        self.follow(designer, answer)
        assert Dataset.objects.get(name="mine").captions.count() == 6_000

    def test_what_a_job_understood_is_shown_to_nobody_else(self, designer: Client) -> None:
        add = reverse("admin:judgments_dataset_add")
        answer = designer.post(add, {"files": [sent("large.csv", CSV.encode() * 5_000)]})
        self.follow(designer, answer)
        other = Client()
        other.force_login(User.objects.create_superuser("other"))
        assert other.get(add, {"job": Job.objects.get().pk}).status_code == 404
        assert designer.get(add, {"job": "x"}).status_code == 404

    def test_a_study_file_is_read_in_a_request_and_no_larger(self, designer: Client) -> None:
        address = reverse("admin:judgments_study_from_file")
        answer = designer.post(address, {"file": sent("study.toml", b"#" * (MAX_REQUEST_BYTES + 1))})
        assert "study.toml has 65,537 bytes; expected at most 65,536." in words(answer)
        answer = designer.post(address, {"text": "#" * (MAX_REQUEST_BYTES + 1)})
        assert "at most 65536 characters" in words(answer)

    def test_a_template_with_many_inputs_becomes_a_draft_by_a_job(self, designer: Client) -> None:
        template = '<p>${text}</p><input type="radio" name="tone" value="pos" required>'
        rows = "text\n" + "".join(f"Wunderbar {n}\n" for n in range(9_000))
        values = {"name": "Ton", "slug": "ton", "template": sent("t.html", template.encode())}
        answer = designer.post(
            reverse("admin:judgments_study_start_bring-template"),
            values | {"inputs": sent("i.csv", rows.encode())},
        )
        assert "Ton" in words(self.follow(designer, answer))
        assert Study.objects.get(slug="ton").dataset.items.count() == 9_000
