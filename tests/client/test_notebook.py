"""The notebook of the documentation, run from top to bottom against a live installation with the demo in it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.test_client import KEY
from tests.installations import ROOT, Installation

NOTEBOOK = ROOT / "docs/notebooks/from-question-to-table.ipynb"
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


@pytest.mark.long
def test_the_notebook_runs_from_top_to_bottom(
    live_server_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    made = live_server_on("sqlite")
    made.manage("load_demo")
    made.start_worker()
    environment = os.environ | {
        "QUORUM_URL": made.url,
        "QUORUM_TOKEN": made.python(KEY),
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "",
        "JUPYTER_PLATFORM_DIRS": "1",
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    executed = tmp_path / "executed.ipynb"
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(NOTEBOOK), str(executed)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "tabular" in executed.read_text()  # the table at its end
    assert '"outputs": []' in NOTEBOOK.read_text()  # and none are kept in the repository
