"""The code stays below its ceilings, and ceilings follow what is won."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.measures import code_tokens, out_of_bounds

ROOT = Path(__file__).resolve().parent.parent
MODULE = '''\
"""A module
of two lines."""

# A comment.
TEXT = """of two
lines"""


def function():
    """It does nothing."""
    return TEXT
'''


@pytest.mark.long
def test_the_code_lies_below_its_ceilings() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.measures"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)


def test_comments_and_docstrings_are_no_code() -> None:
    lines = {line for token in code_tokens(MODULE) for line in range(token.start[0], token.end[0] + 1)}
    assert lines == {5, 6, 9, 11}


def test_a_ceiling_is_neither_passed_nor_left_far_above() -> None:
    ceilings = {"code lines": 1_000}
    assert list(out_of_bounds({"code lines": 1_000}, ceilings)) == []
    assert list(out_of_bounds({"code lines": 990}, ceilings)) == []
    assert list(out_of_bounds({"code lines": 1_001}, ceilings)) == [
        "code lines: 1,001 lies above the ceiling of 1,000."
    ]
    assert list(out_of_bounds({"code lines": 970}, ceilings)) == [
        "code lines: 970 lies far below the ceiling of 1,000; lower it."
    ]
