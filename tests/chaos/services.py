"""A PostgreSQL and a Redis of a run's own, to be killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from tests.installations import Installation, Installations, free_port, until


def postgres_programs() -> Path:
    """The folder of PostgreSQL's server programs, which distributions leave out of the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    here = shutil.which("initdb")
    assert found or here, (
        "PostgreSQL's server programs are not installed (Debian: apt-get install postgresql)"
    )
    return (found[-1] if found else Path(here or "")).parent


class Service:
    """A process that can be killed; it finds its data again."""

    def __init__(self, command: list[str], log: Path, ready: list[str]) -> None:
        self.command, self.log, self.ready = command, log, ready
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until it answers; again while what the last one left behind is in the way."""
        until(self._is_ready, what=self.command[0])

    def _is_ready(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            with self.log.open("ab") as stream:
                self.process = subprocess.Popen(self.command, stdout=stream, stderr=stream)
        return not subprocess.run(self.ready, capture_output=True).returncode

    def kill(self) -> None:
        """End it with all its processes, which are groups of their own."""
        if self.process is None:
            return
        for number in (self.process.pid, *_children(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()


def _children(parent: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True)
    return [int(one) for one in listed.stdout.split()]


@contextmanager
def postgres(folder: Path) -> Iterator[tuple[Service, str]]:
    """A server that loses no commit when it is killed, and its address."""
    programs, port, data = postgres_programs(), str(free_port()), folder / "postgres"
    data.mkdir()
    before = []
    if os.geteuid() == 0:  # it refuses to run as root
        shutil.chown(data, "postgres")
        folder.chmod(0o711)
        before = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    asked = ["--username=quorum", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
    subprocess.run(
        [*before, str(programs / "initdb"), *asked, "-D", str(data)], check=True, capture_output=True, cwd="/"
    )
    # fmt: off
    options = {
        "listen_addresses": "127.0.0.1", "unix_socket_directories": str(data), "max_connections": "100",
        "fsync": "off",  # the system goes on, and writes what it was given
    }
    # fmt: on
    command = [*before, str(programs / "postgres"), "-D", str(data), "-p", port]
    command += [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", port]
    service = Service(command, folder / "postgres.log", ready)
    service.start()
    try:
        yield service, f"postgres://quorum@127.0.0.1:{port}/postgres"
    finally:
        service.kill()


@contextmanager
def redis(folder: Path, port: int | None = None) -> Iterator[tuple[Service, str]]:
    port = port or free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
    service = Service(command, folder / "redis.log", ["redis-cli", "-p", str(port), "ping"])
    service.start()
    try:
        yield service, f"redis://127.0.0.1:{port}/0"
    finally:
        service.kill()


Fresh = Callable[[], AbstractContextManager[tuple[Installation, dict[str, Service]]]]


@contextmanager
def stage(database: str) -> Iterator[Fresh]:
    """Services for some runs; what is yielded makes an installation on them for one run."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quorum-chaos-")))
        services, url = {}, None
        services["broker"], broker = stack.enter_context(redis(folder))
        if database == "postgresql":
            services["database"], url = stack.enter_context(postgres(folder))
        installations = Installations(folder, url)

        @contextmanager
        def fresh() -> Iterator[tuple[Installation, dict[str, Service]]]:
            with installations.fresh(database) as installation:
                installation.env["CELERY_BROKER_URL"] = broker
                yield installation, services

        yield fresh
