"""A PostgreSQL and a broker of a run's own, to be killed and started again."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg

from tests.installations import Installation, Installations, free_port, until
from tests.services import RABBITMQ, require_marker


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
    require_marker("postgresql")
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
    require_marker("redis")
    port = port or free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
    service = Service(command, folder / "redis.log", ["redis-cli", "-p", str(port), "ping"])
    service.start()
    try:
        yield service, f"redis://127.0.0.1:{port}/0"
    finally:
        service.kill()


GREET = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=2) as server:
    server.sendall(b"AMQP\\x00\\x00\\x09\\x01")
    sys.exit(not server.recv(8))
"""


@contextmanager
def rabbitmq(folder: Path) -> Iterator[tuple[Service, str]]:
    """A server that finds its messages again when it was killed."""
    require_marker("rabbitmq")
    assert RABBITMQ.exists(), "RabbitMQ is not installed (Debian: apt-get install rabbitmq-server)"
    home, port, distribution, names = folder / "rabbitmq", free_port(), free_port(), free_port()
    home.mkdir()
    before = []
    if (
        os.geteuid() == 0
    ):  # its scripts would change to that user by themselves, which takes a service's privileges
        shutil.chown(home, "rabbitmq", "rabbitmq")
        folder.chmod(0o711)
        before = ["setpriv", "--reuid", "rabbitmq", "--regid", "rabbitmq", "--clear-groups"]
    values = {
        "HOME": home,
        "RABBITMQ_MNESIA_BASE": home / "data",
        "RABBITMQ_LOG_BASE": home / "log",
        "RABBITMQ_CONFIG_FILE": home / "none",
        "RABBITMQ_ENABLED_PLUGINS_FILE": "/dev/null",
        "RABBITMQ_NODENAME": f"chaos{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": port,
        "RABBITMQ_DIST_PORT": distribution,
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "ERL_EPMD_PORT": names,
    }
    command = [*before, "env", *(f"{name}={value}" for name, value in values.items()), str(RABBITMQ)]
    service = Service(command, folder / "rabbitmq.log", [sys.executable, "-S", "-c", GREET, str(port)])
    # its register of names, which it would leave behind
    register = subprocess.Popen(["epmd", "-address", "127.0.0.1", "-port", str(names)])
    service.start()
    try:
        yield service, f"amqp://guest:guest@127.0.0.1:{port}//"
    finally:
        service.kill()
        register.kill()
        register.wait()


BROKERS = {"redis": redis, "rabbitmq": rabbitmq}
Fresh = Callable[[], AbstractContextManager[tuple[Installation, dict[str, Service]]]]


@contextmanager
def stage(database: str, broker: str) -> Iterator[Fresh]:
    """Services for some runs; what is yielded makes an installation on them for one run.

    Args:
        broker: its name in BROKERS, or "none".
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quorum-chaos-")))
        services, url, address = {}, None, ""
        if broker in BROKERS:
            services["broker"], address = stack.enter_context(BROKERS[broker](folder))
        if database == "postgresql":
            services["database"], url = stack.enter_context(postgres(folder))
        installations = Installations(folder, url)

        @contextmanager
        def fresh() -> Iterator[tuple[Installation, dict[str, Service]]]:
            with installations.fresh(database) as installation:
                installation.env["CELERY_BROKER_URL"] = address
                if url:  # or PostgreSQL would give ids of a copied database a second time after a kill
                    with psycopg.connect(url, autocommit=True) as server:
                        server.execute("CHECKPOINT")
                yield installation, services

        yield fresh
