"""Files that fill the memory of whoever reads them carelessly: `python -m tests.bombs FOLDER` makes and reads each.

Each is read in a process of its own, as a job reads an upload. A line of JSON tells what was said, and the peak of
memory in MiB.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import struct
import sys
import traceback
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

PICTURES = {".png", ".gif", ".webp", ".jpg", ".jpeg"}
PNG = b"\x89PNG\r\n\x1a\n"
MILLION = 1_000_000


def packed(unit: bytes, times: int) -> bytes:
    """gzip of a unit, repeated."""
    stream = io.BytesIO()
    block = unit * (MILLION // len(unit))
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=9) as file:
        for _ in range(times):
            file.write(block)
    return stream.getvalue()


def archive(name: str, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        file.writestr(name, content)
    return stream.getvalue()


def long_listing(files: int) -> bytes:
    """An archive whose table of contents names one file again and again."""
    entry = b"PK\x01\x02" + bytes(24) + struct.pack("<HHHHHLL", 1, 0, 0, 0, 0, 0, 0) + b"a"
    table = entry * files
    return table + b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 9, 9, len(table), 0, 0)


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">L", len(data)) + name + data + struct.pack(">L", zlib.crc32(name + data))


def picture(side: int, *chunks: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">LLBBBBB", side, side, 8, 6, 0, 0, 0))
    return b"".join((PNG, header, *chunks, chunk(b"IDAT", zlib.compress(bytes(100))), chunk(b"IEND", b"")))


def entities() -> bytes:
    lines = ['<!DOCTYPE a [<!ENTITY e0 "ha">']
    lines += [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10)]
    return ("".join(lines) + "]><QuestionFormAnswers>&e9;</QuestionFormAnswers>").encode()


def workbook(before: bytes, unit: bytes, times: int, noise: bytes = b"%b", *, strings: bool = False) -> bytes:
    """A workbook whose XML repeats a unit, as many millions of bytes, with noise, or it would grow too much."""
    stream, block, random = io.BytesIO(), unit * (MILLION // len(unit)), Random(7)
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("xl/sharedStrings.xml" if strings else sheet, "w") as member:
            member.write(b'<sst xmlns="x">' if strings else b'<worksheet xmlns="x"><sheetData><row>')
            member.write(before)
            for _ in range(times):
                member.write(block + noise % random.randbytes(9_000).hex().encode())
        if strings:
            file.writestr(sheet, "<worksheet/>")
    return stream.getvalue()


def long_names(form: bytes) -> Iterator[bytes]:
    """250 elements with names of 900 kB, unlike each other for an archive that would grow too much otherwise."""
    noise = Random(7)
    for number in range(250):
        yield form % (b"a%d" % number + noise.randbytes(7_000).hex().encode() + b"a" * 886_000)


def predictions() -> bytes:
    """A line of millions of lists, and of noise, or it would grow too much."""
    noise = Random(7).randbytes(60_000).hex().encode()
    line = b'{"unit": "a", "distribution": {"0": 0, "1": 1}, "n": "%b", "x": [[]' % noise
    return line + b",[]" * (6 * MILLION) + b"]}\n"


def parquet(values: Any, **how: Any) -> bytes:
    """A table of images and captions; a value is a list of Arrow's or of Python's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream, captions = io.BytesIO(), values()
    table = pa.table({"image": [f"{n}.jpg" for n in range(len(captions))], "caption": captions})
    pq.write_table(table, stream, compression="zstd", **how)
    return stream.getvalue()


def one_value(kind: str) -> Any:
    """256 rows of one value of 60 MB, which a file of 3 kB holds once."""
    import pyarrow as pa

    value = pa.array(["x" * (60 * MILLION)]).cast(getattr(pa, kind)())
    return pa.DictionaryArray.from_arrays(pa.array([0] * 256, pa.int32()), value)


def nested(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def lying() -> bytes:
    """A footer that says that it has 2 GB."""
    return parquet(lambda: ["a dog"] * 100)[:-8] + struct.pack("<L", 2**31 - 1) + b"PAR1"


def many_values() -> Any:
    import pyarrow as pa

    return pa.array([[1] * (20 * MILLION)], pa.list_(pa.int64()))


def blank(side: int, kind: str, **how: Any) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (side, side)).save(stream, kind, **how)
    return stream.getvalue()


def tiny_webp(width: int, height: int) -> bytes:
    """38 bytes that declare so many pixels."""
    bits = (width - 1) | (height - 1) << 14
    data = b"\x2f" + struct.pack("<L", bits) + bytes(13)
    return b"RIFF" + struct.pack("<L", 12 + len(data)) + b"WEBPVP8L" + struct.pack("<L", len(data)) + data


def gzipped(make: Callable[[], bytes]) -> Callable[[], bytes]:
    return lambda: gzip.compress(make(), 1)


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip-line-feeds.csv": lambda: packed(b"\n", 400),
    "gzip-blanks.jsonl": lambda: packed(b" ", 1_500),
    "carriage-returns.csv": lambda: b"\r" * (25 * MILLION),
    "line-feeds.csv": lambda: b"image,caption\n" + b"\n" * (25 * MILLION),
    "gzip-in-gzip.csv": lambda: gzip.compress(packed(b"\n", 1_000)),
    "gzip-high-bytes.csv": lambda: packed(b"\x80", 40),
    "wide-letters.csv": lambda: b"image,caption\na.jpg," + "\N{CAT}".encode() * (15 * MILLION),
    "utf-16.csv": lambda: b"\xff\xfe" + "\n".encode("utf-16-le") * (25 * MILLION),
    "zeros.zip": lambda: archive("a.csv", bytes(200 * MILLION)),
    "zip-in-zip.zip": lambda: archive("b.zip", archive("a.csv", bytes(200 * MILLION))),
    "xz-in-zip.zip": lambda: archive("a.csv", b"\n" * (100 * MILLION), zipfile.ZIP_LZMA),
    "bzip-in-zip.zip": lambda: archive("a.csv", b"\n" * (100 * MILLION), zipfile.ZIP_BZIP2),
    "gzip-in-zip.zip": lambda: archive("a.csv", packed(b"\n", 400)),
    "long-listing.zip": lambda: long_listing(MILLION),
    "zeros.csv.xz": lambda: lzma.compress(bytes(200 * MILLION)),
    "zeros.csv.bz2": lambda: bz2.compress(bytes(100 * MILLION)),
    "deep.json": lambda: b"[" * (30 * MILLION),
    "deep.jsonl": lambda: b'{"a":' * MILLION,
    "deep-text.jsonl": lambda: b'{"a": "' + b"[" * (30 * MILLION),
    "wide.json": lambda: b'{"info": [' + b"{}," * MILLION + b"{}]}",
    "wide.jsonl": lambda: b'{"a": [' + b"{}," * (20 * MILLION) + b"{}]}",
    "one-entry.json": lambda: b'[{"image_id": 1, "caption": "' + b"x" * (100 * MILLION),
    "one-cell.csv": lambda: b"image,caption\na.jpg," + b"x" * (100 * MILLION),
    "one-quoted-cell.csv": lambda: b'image,caption\na.jpg,"' + b"x\n" * (15 * MILLION),
    "one-record.csv": lambda: b"image,caption\na.jpg," + b'"\n",' * (8 * MILLION),
    "many-columns.csv": lambda: b"image,caption" + b"," * (30 * MILLION),
    "attribute.xlsx": lambda: workbook(b'<c r="', b"x", 480),
    "comment.xlsx": lambda: workbook(b"<!--", b"x", 100),
    "instruction.xlsx": lambda: workbook(b"<?x ", b"x", 100),
    "one-cell.xlsx": lambda: workbook(b'<c t="inlineStr"><is><t>', b"x", 500),
    "one-row.xlsx": lambda: workbook(
        b"", b'<c t="inlineStr"><is><t>' + b"x" * 100_000 + b"</t></is></c>", 300
    ),
    "rows.xlsx": lambda: workbook(b"</row>", b"<row/>", 50, b"<!--%b-->"),
    "deep.xlsx": lambda: workbook(b"", b"<a>", 100, b"<!--%b-->"),
    "names.xlsx": lambda: workbook(b"".join(b"<a%d/>" % n for n in range(2 * MILLION)), b" ", 1),
    "prefixes.xlsx": lambda: workbook(b"".join(b'<a xmlns:a%d="a"/>' % n for n in range(MILLION)), b" ", 1),
    "long-names.xlsx": lambda: workbook(b"".join(long_names(b"<%b/>")), b" ", 1),
    "long-attributes.xlsx": lambda: workbook(b"".join(long_names(b'<a %b=""/>')), b" ", 1),
    "long-namespaces.xlsx": lambda: workbook(b"".join(long_names(b'<a xmlns:a="%b"/>')), b" ", 1),
    "one-text.xlsx": lambda: workbook(b"<si><t>", b"x", 500, strings=True),
    "texts.xlsx": lambda: workbook(b"", b"<si/>", 100, b"<!--%b-->", strings=True),
    "attribute.xlsx.gz": gzipped(lambda: workbook(b'<c r="', b"x", 100)),
    "one-string.parquet": lambda: parquet(lambda: one_value("string")),
    "one-picture.parquet": lambda: parquet(lambda: one_value("binary"), store_schema=False),
    "one-large-string.parquet": lambda: parquet(lambda: one_value("large_string"), store_schema=False),
    "long-cell.parquet": lambda: parquet(lambda: ["x" * (3 * MILLION)]),
    "list.parquet": lambda: parquet(many_values),
    "nested.parquet": lambda: parquet(lambda: [nested(20, list(range(MILLION)))]),
    "footer.parquet": lying,
    "one-string.parquet.gz": gzipped(lambda: parquet(lambda: one_value("string"))),
    "gzip-one-string.jsonl.gz": lambda: gzip.compress(b'{"image": "' + b"x" * (100 * MILLION)),
    "gzip-one-entry.json.gz": lambda: gzip.compress(b'[{"image": "' + b"x" * (100 * MILLION)),
    "gzip-one-cell.csv.gz": lambda: gzip.compress(b"image,caption\na.jpg," + b"x" * (100 * MILLION)),
    "predictions.jsonl.gz": lambda: gzip.compress(predictions()),
    "letters.csv": lambda: b"worker,status" + ",\u0436".encode() * (2 * MILLION),
    "entities.xml": entities,
    "wide.png": lambda: picture(60_000),
    "text.png": lambda: picture(10, chunk(b"zTXt", b"a\x00\x00" + zlib.compress(bytes(300 * MILLION)))),
    "blank.png": lambda: blank(7_900, "PNG"),
    "blank.gif": lambda: blank(7_900, "GIF"),
    "blank.webp": lambda: blank(7_900, "WEBP", lossless=True),
    "tiny.webp": lambda: tiny_webp(8_000, 8_000),
    "several-scans.jpg": lambda: blank(7_900, "JPEG", progressive=True, subsampling=0),
    "profile.png": lambda: picture(10, chunk(b"iCCP", b"a\x00\x00" + zlib.compress(bytes(300 * MILLION)))),
}


def read(path: Path) -> Iterator[str]:
    """Read a file in every way in which uploads are read; yield what is said."""
    from django.conf import settings
    from django.core.files.uploadedfile import UploadedFile

    from annotation.crowds.mturk.answers import parse_answer_document
    from common.errors import QuorumError
    from judgments.datasets import uploads
    from judgments.datasets.picture_checks import picture_format
    from judgments.datasets.scaling import scale_picture
    from judgments.importers import open_dataset

    if path.suffix in PICTURES:
        settings.MEDIA_ROOT = path.parent
        try:
            yield f"It is of the format {picture_format(path)}."
        except QuorumError as error:
            yield str(error)
        yield f"It is scaled to the widths {scale_picture(path.name)['widths']}."
        return
    if path.suffix == ".xml":
        try:
            yield str(parse_answer_document(path.read_text()))
        except QuorumError as error:
            yield str(error)
        return
    kind = kind_of(path)
    for name in ("", "jsonl", "coco", kind):
        try:
            with path.open("rb") as file:
                upload = uploads.store_upload([UploadedFile(file, path.name, size=path.stat().st_size)])
            if not name:
                yield from uploads.inspect_stored_upload(upload, [path.name], "").problems
                continue
            with uploads.open_upload(upload) as files:
                yield f"There are {sum(1 for _ in open_dataset(name, files.path).references())} captions."
        except QuorumError as error:
            yield str(error)
        finally:
            shutil.rmtree(uploads._root(), ignore_errors=True)
    yield from read_by_jobs(path)


def kind_of(path: Path) -> str:
    return next((suffix[1:] for suffix in path.suffixes if suffix in (".xlsx", ".parquet", ".json")), "csv")


def read_by_jobs(path: Path) -> Iterator[str]:
    """Read a file as jobs of all other kinds do; yield what is said."""

    from common.errors import QuorumError
    from contrib.challenges.caption_files import read_captions
    from contrib.disagreement.predictions import read_distributions
    from contrib.hit_templates.importing import check_template
    from contrib.panel_lists.submission_list import read_submissions
    from contrib.score_imports.reading import FORMATS, read_scores
    from judgments.design.tables.panel import Panel
    from judgments.importers import open_candidates, open_judgments
    from judgments.importers.textio import read_lines, read_whole
    from judgments.importers.trec import read_runs
    from judgments.studies.generation.progress import no_progress

    def lines() -> Iterator[str]:
        return (line for _, line in read_lines(path, newline=""))

    def chunks() -> Iterator[bytes]:
        with path.open("rb") as file:
            yield from iter(lambda: file.read(65_536), b"")

    template, kind = '<p>${text}</p><input type="radio" name="tone" value="pos">', kind_of(path)
    readers: dict[str, Callable[[], Any]] = {
        "distributions": lambda: read_distributions(lines(), "Line ", {"a"}, [0, 1]),
        "submissions": lambda: read_submissions(read_whole(path), Panel()),
        "captions": lambda: read_captions(chunks(), {"a.jpg": 0}),
        "inputs": lambda: [check_template(source=template, inputs=path)],
        "candidates": lambda: open_candidates(kind, path).candidates(),
        "judgments": lambda: open_judgments(kind, path).judgments(),
        "rankings": lambda: read_runs(path, queries={"a": 1}, items={"b": 1}, progress=no_progress),
        **{f"scores in {name}": partial(read_scores, path, ["m"], format=name) for name in FORMATS},
    }
    for name, read in readers.items():
        try:
            yield f"There are {sum(1 for _ in read())} {name}."
        except QuorumError as error:
            yield str(error)


def main(folder: Path) -> None:
    import django

    django.setup()
    import judgments.datasets.uploads  # noqa: F401  # once, for all processes

    for name, make in BOMBS.items():
        path = folder / name
        maker = os.fork()
        if not maker:  # what it takes to make it is not counted
            path.write_bytes(make())
            os._exit(0)
        os.waitpid(maker, 0)
        out, into = os.pipe()
        reader = os.fork()
        if not reader:
            try:
                os.write(into, json.dumps(list(read(path))).encode())
                os._exit(0)
            finally:
                traceback.print_exc()
                os._exit(1)
        os.close(into)
        _, state, usage = os.wait4(reader, 0)
        with os.fdopen(out) as said:
            sentences = json.loads(said.read() or "[]")
        path.unlink()
        result = {"name": name, "state": state, "said": sentences, "peak": usage.ru_maxrss / 1024}
        result["seconds"] = round(usage.ru_utime + usage.ru_stime, 1)
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
