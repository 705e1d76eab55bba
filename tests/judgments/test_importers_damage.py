"""Whatever a file holds, it is read or refused by name: no other error, and never a half sentence."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgments.importers import ColumnMapping, ImportProblem, open_candidates, open_dataset, open_judgments

GOOD: dict[str, tuple[bytes, Callable[[Path], Iterator[object]]]] = {
    "csv dataset": (
        b'image,caption,split,url\na.jpg,"One, ""two""",dev,https://x.org\nb.jpg,Three,,\n',
        lambda path: open_dataset("csv", path).references(),
    ),
    "jsonl dataset": (
        b'{"image": 1, "caption": "One \\u00e9", "caption_id": "x"}\n{"image": "b", "caption": "Two"}\n',
        lambda path: open_dataset("jsonl", path).references(),
    ),
    "coco dataset": (
        b'{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"id": 2, "image_id": 1, "caption": "A"}]}',
        lambda path: open_dataset("coco", path).references(),
    ),
    "flickr8k dataset": (
        b"a.jpg#0\tOne\na.jpg#1\tTwo\nb.jpg.1#0\tThree\n",
        lambda path: open_dataset("flickr8k", path).references(),
    ),
    "coco candidates": (
        b'[{"image_id": 1, "caption": "One"}, {"image_id": "2", "caption": "Two"}]',
        lambda path: open_candidates("coco", path).candidates(),
    ),
    "csv candidates": (
        b"image;caption;rank;score\na;One;1;1.5\na;Two;2;1e3\n",
        lambda path: open_candidates("csv", path).candidates(),
    ),
    "csv judgments": (
        b"unit,worker,protocol,value,used,seconds,accepted_at,first_text,answer\n"
        b'u,w,spans,,true,1.5,2026-01-01T10:00:00Z,A dog,"{""spans"": [], ""score"": 9}"\n',
        lambda path: open_judgments("csv", path).judgments(),
    ),
    "jsonl judgments": (
        b'{"unit": "u", "worker": "w", "protocol": "triplet", "value": 1, "presented": "first-left"}\n',
        lambda path: open_judgments("jsonl", path).judgments(),
    ),
    "expert grades": (
        b"a.jpg\tb.jpg#2\t1\t2\t4\n",
        lambda path: open_judgments("flickr8k-expert", path).judgments(),
    ),
    "crowd judgments": (
        b"a.jpg\tb.jpg#2\t0.333333\t1\t2\n",
        lambda path: open_judgments("flickr8k-crowd", path).judgments(),
    ),
    "requester pages' results": (
        b'"HITId","Reward","AssignmentId","WorkerId","AssignmentStatus","AcceptTime","WorkTimeInSeconds","Input.image1",'
        b'"Answer.taskAnswers","Answer.side1.left","Answer.side1.right"\n"3H","$0.10","3A","AW","Rejected",'
        b'"Wed Nov 20 21:03:26 PST 2019","44","https://x.org/a%20b.jpg","[{""why"": ""it fits""}]","true","false"\n',
        lambda path: _results(
            path, {"image": "Input.image{n}", "value": "Answer.side{n}", "comment": "Answer.why"}
        ),
    ),
    "command line tools' results": (
        b'"hitid"\t"workerid"\t"assignmentid"\t"assignmentsubmittime"\t"answers[question_id answer_value]"\n'
        b'"H"\t"W"\t"A"\t"Sun Feb 21 04:25:15 GMT 2010"\t"side"\t"left"\t"why"\t"it ""fits"""\n',
        lambda path: _results(path, {"unit": "HITId", "value": "Answer.side", "comment": "Answer.why"}),
    ),
}


def _results(path: Path, columns: dict[str, str]) -> Iterator[object]:
    how = ColumnMapping(columns=columns, values={"left": "1", "right": "2"})
    yield from open_judgments("mturk", path, protocol="pairwise", mapping=how).judgments()


DAMAGE = st.one_of(
    st.binary(max_size=6),
    st.sampled_from((b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\n", b"\r", b"\t", b"{}", b"NaN")),
    st.sampled_from((b"-1e999", b"\x1f\x8b")),
)


@pytest.mark.parametrize("name", GOOD)
def test_the_undamaged_file_is_read(tmp_path, name):
    content, rows = GOOD[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    assert list(rows(path))


@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=60, deadline=None)
@given(damage=DAMAGE, at=st.floats(0, 1), lost=st.integers(0, 8))
def test_a_damaged_file_is_read_or_refused_in_one_sentence(name, damage, at, lost):
    content, rows = GOOD[name]
    start = round(at * len(content))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content[:start] + damage + content[start + lost :])
        try:
            list(rows(path))
        except ImportProblem as problem:
            for said in str(problem).splitlines():
                assert said.startswith(str(path))
                assert ": found " in said
                assert ", expected " in said
