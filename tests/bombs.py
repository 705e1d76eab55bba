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
from pathlib import Path

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
    "entities.xml": entities,
    "wide.png": lambda: picture(60_000),
    "text.png": lambda: picture(10, chunk(b"zTXt", b"a\x00\x00" + zlib.compress(bytes(300 * MILLION)))),
    "profile.png": lambda: picture(10, chunk(b"iCCP", b"a\x00\x00" + zlib.compress(bytes(300 * MILLION)))),
}


def read(path: Path) -> Iterator[str]:
    """Read a file in every way in which uploads are read; yield what is said."""
    from django.core.files.uploadedfile import UploadedFile

    from annotation.crowds.mturk.pages import read_answers
    from common.errors import QuorumError
    from judgments.datasets import uploads
    from judgments.datasets.pictures import picture_format
    from judgments.importers import open_dataset

    if path.suffix in (".xml", ".png"):
        try:
            yield str(read_answers(path.read_text()) if path.suffix == ".xml" else picture_format(path))
        except QuorumError as error:
            yield str(error)
        return
    for name in ("", "csv", "jsonl", "coco"):
        try:
            with path.open("rb") as file:
                upload = uploads.keep([UploadedFile(file, path.name, size=path.stat().st_size)])
            if not name:
                yield from uploads.look_at(upload, [path.name], "").problems
                continue
            with uploads.open_upload(upload) as files:
                yield f"{sum(1 for _ in open_dataset(name, files.path).references())} captions"
        except QuorumError as error:
            yield str(error)
        finally:
            shutil.rmtree(uploads._root(), ignore_errors=True)


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
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
