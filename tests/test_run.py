"""`make run` and `make test` as a newcomer meets them."""

import html
import http.cookiejar
import os
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.installations import ROOT, Installation, free_port, until

PLAIN = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}


def tell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs what make calls, and waits for its end."""
    return subprocess.run(
        [sys.executable, "-m", "scripts.quorum", *arguments],
        cwd=ROOT, env=PLAIN | environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_a_taken_port_is_told_in_one_line_with_a_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tell("run", PORT=str(port), DATA_DIR=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.strip() == (
        f"Port {port} cannot be used (Address already in use); stop what runs there, or choose another: "
        f"make run PORT={port % 65535 + 1}"
    )


def test_a_port_that_is_no_number_is_told_in_one_line(tmp_path: Path) -> None:
    done = tell("run", PORT="http", DATA_DIR=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.strip() == "PORT is 'http'; expected a number from 1 to 65535."


def test_a_folder_that_cannot_be_written_to_is_told_in_one_line() -> None:
    done = tell("run", DATA_DIR="/proc/quorum")  # not even root may
    assert done.returncode == 1
    assert re.fullmatch(r"The folder /proc/quorum cannot be written to \(.+\); .+\n", done.stderr)


def test_a_python_that_is_too_old_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    monkeypatch.setattr(sys, "argv", ["quorum", "run"])
    monkeypatch.setenv("PATH", "/nowhere")  # where no newer one is found
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("scripts.quorum", run_name="__main__")
    assert ended.value.code == (
        f"Quorum needs Python 3.11 or newer; {sys.executable} is 3.9.2. "
        "Install a newer one, or name it: make run PYTHON=python3.12"
    )


def copy_compiled(source: Path, target: Path) -> None:
    """Copy a folder of compiled files while other processes may add to it."""
    target.mkdir()
    for path in source.iterdir():
        with suppress(FileNotFoundError):
            shutil.copy2(path, target)


class Clone:
    """A copy of the project's own files that shares this run's packages, and what was compiled already."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        names = [name for name in listed.split("\0") if name]
        for name in names:
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)  # with its time, which compiled files name
        for compiled in {(ROOT / name).parent / "__pycache__" for name in names}:
            if compiled.is_dir():
                copy_compiled(compiled, folder / compiled.relative_to(ROOT))
        (folder / ".venv").symlink_to(sys.prefix)
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder.parent / "make-run.log"

    def make_run(self, what: str = "run", **variables: object) -> str:
        """Starts `make run`, or another order, in a process group of its own; what it said once it was ready."""
        told = [f"{name}={value}" for name, value in variables.items()]
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                ["make", what, f"PORT={self.port}", f"PYTHON={sys.executable}", *told],
                cwd=self.folder, env=PLAIN, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
                start_new_session=True,
            )  # fmt: skip

        def ready() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            return "Ctrl-C stops" in self.log.read_text()

        until(ready, what=f"make {what}'s welcome")
        return self.log.read_text()

    def family(self) -> set[int]:
        """The ids of all processes that make started, and theirs."""
        assert self.process is not None
        parents = {}
        for line in subprocess.run(
            ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
        ).stdout.splitlines():
            pid, parent = map(int, line.split())
            parents[pid] = parent
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def worker(self) -> int:
        """The id of the background worker's process; 0 when there is none."""
        table = subprocess.run(
            ["ps", "-e", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True
        ).stdout
        family = self.family()
        found = [
            int(line.split()[0])
            for line in table.splitlines()
            if "--queues=interactive,crowd" in line and int(line.split()[0]) in family
        ]
        return min(found, default=0)  # the others are its children

    def stop(self, number: int) -> None:
        """Sends a signal as a terminal does, to the whole foreground group, and waits for the end."""
        assert self.process is not None
        os.killpg(self.process.pid, number)
        self.process.wait(timeout=60)

    def signs_in(self, name: str, password: str) -> bool:
        """Whether the admin lets this account in."""
        return self.page_as(name, password, "/admin/") is not None

    def page_as(self, name: str, password: str, path: str) -> str | None:
        """A page of the admin, asked for by this account; None where it is not let in."""
        visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        page = visitor.open(f"{self.address}/admin/login/").read().decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token is not None
        form = {"username": name, "password": password, "csrfmiddlewaretoken": token[1], "next": path}
        answer = visitor.open(f"{self.address}/admin/login/", urllib.parse.urlencode(form).encode())
        return answer.read().decode() if str(answer.url) == f"{self.address}{path}" else None


def lives(pid: int) -> bool:
    """Whether there is a process of this id that is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    """A fresh copy; whatever it started is ended afterwards."""
    made = Clone(tmp_path / "quorum")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop(signal.SIGTERM)


@pytest.mark.long
def test_make_run_starts_tells_how_to_sign_in_keeps_all_revives_a_part_that_dies_and_stops_all(
    clone: Clone,
) -> None:
    said = clone.make_run()
    assert f"Quorum runs at  {clone.address}" in said
    assert "Compiling metrics and statistics" in said
    account = re.search(r"Admin account +(\w+) +password (\S+)", said)
    assert account is not None
    name, password = account.groups()
    assert clone.signs_in(name, password)
    for number in (1, 2, 3):
        assert re.search(rf"^  {number}\. ", said, re.MULTILINE)

    started = clone.family()
    assert len(started) >= 5  # make, the script, the server and its children, the worker
    clone.stop(signal.SIGINT)
    assert [pid for pid in started if lives(pid)] == []

    said = clone.make_run()
    assert password not in said
    assert "-m quorum server admin --reset" in said
    assert "Compiling metrics and statistics" not in said
    assert "Loading the demo" not in said
    assert "Collecting static files" not in said
    assert clone.signs_in(name, password)

    until(lambda: clone.worker() != 0, what="the worker")
    killed = clone.worker()
    os.kill(killed, signal.SIGKILL)
    told = "The background worker ended unexpectedly (exit code -9); starting it again."
    until(lambda: told in clone.log.read_text(), what="the news of the worker's end")
    until(lambda: clone.worker() not in {0, killed}, what="a new worker")

    started = clone.family()
    clone.stop(signal.SIGTERM)
    assert [pid for pid in started if lives(pid)] == []


INTERRUPTED = """
import os, signal, sys
from scripts import services

def interrupt(*ignored):
    sys.setprofile(None)
    os.kill(os.getpid(), signal.SIGTERM)

class Terminal:  # interrupts while the news of the stop is written
    def write(self, text):
        if "Stopping" in text:
            interrupt()
    def flush(self):
        pass

def after_fork(frame, event, function):
    if event == "c_return" and function.__name__ == "fork_exec":
        interrupt()

place = services.Installation(sys.argv[1], "", dict(os.environ))
with services.until_stopped() as running:
    if sys.argv[2] == "starting":
        sys.setprofile(after_fork)
    else:
        sys.stdout = Terminal()
    services.start_service(running, services.WORKER, place)
    interrupt()
"""


@pytest.mark.parametrize("moment", ["starting", "stopping"])
def test_a_signal_at_any_moment_leaves_no_process(tmp_path: Path, moment: str) -> None:
    """Make passes on the SIGTERM that its group got; and Ctrl-C can come while a service is started."""
    service = tmp_path / "service"
    service.write_text("#!/bin/sh\nwhile :; do sleep 1; done\n")
    service.chmod(0o755)
    command = [sys.executable, "-c", INTERRUPTED, str(service), moment]
    # A process that is left holds the other end of the pipe.
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as script:
        try:
            script.communicate(timeout=20)
        finally:
            subprocess.run(["pkill", "-KILL", "-f", str(service)], check=False)
    assert script.returncode == 0


def test_a_new_password_can_be_had_by_command(installation_on: Callable[[str], Installation]) -> None:
    manage = installation_on("sqlite").manage
    first = manage("ensure_admin")
    assert manage("ensure_admin").startswith("The admin account admin is there")
    second = manage("ensure_admin", "--reset")
    assert first.split()[0] == second.split()[0] == "admin"
    assert first.split()[1] != second.split()[1]


def test_a_taken_port_of_the_emulator_is_told_in_one_line_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        environment = PLAIN | {
            "PORT": str(free_port()), "EMULATOR_PORT": str(port), "DATA_DIR": str(tmp_path),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "scripts.mturk_demo"],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"make mturk-demo EMULATOR_PORT={port % 65535 + 1}")
    assert done.stderr.count("\n") == 1


def read(address: str) -> str:
    """A page, by somebody who looks at it for the first time."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        return html.unescape(answer.read().decode())


@pytest.mark.long
def test_the_demo_of_mechanical_turk_leads_a_worker_to_a_hit_and_a_researcher_to_its_costs(
    clone: Clone,
) -> None:
    turk = free_port()
    said = clone.make_run("mturk-demo", EMULATOR_PORT=turk)
    link = re.search(r"Take a HIT as a worker: +(\S+)", said)
    costs = re.search(r"See what it costs and pays: +(\S+)", said)
    assert link is not None
    assert costs is not None
    assert link[1].startswith(f"http://127.0.0.1:{turk}/worker/")

    listed = re.search(r'href="(/worker/hits/\w+)">Which of two sentences', read(link[1]))
    assert listed is not None
    framed = re.search(r'<iframe [^>]*src="([^"]+)"', read(f"http://127.0.0.1:{turk}{listed[1]}"))
    assert framed is not None
    assert framed[1].startswith(f"{clone.address}/s/demo-mturk/mturk/?")
    assert "Accept the HIT to begin." in read(framed[1])

    account = re.search(r"Admin account +(\w+) +password (\S+)", said)
    assert account is not None
    costs_page = clone.page_as(account[1], account[2], costs[1].removeprefix(clone.address))
    assert costs_page is not None
    assert "Participants find the study at" in costs_page
    assert f"127.0.0.1:{turk}. This is the sandbox" in costs_page

    started = clone.family()
    clone.stop(signal.SIGINT)
    assert [pid for pid in started if lives(pid)] == []
    assert not list((clone.folder / "var").glob("*.sqlite3"))  # the demo keeps apart from make run's data
