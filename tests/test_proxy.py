"""deploy/nginx.conf in front of a server: which bodies it takes from whom, and what half-sent ones do to others."""

import os
import re
import select
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path

import pytest

from tests.installations import ROOT, Installations, free_port, until
from tests.services import demand, nginx_path

SITE = (ROOT / "deploy/nginx.conf").read_text()
LARGER = [re.compile(found) for found in re.findall(r"location ~ (\S+) \{\n +auth_request", SITE)]
MB = 1 << 20
ATTACKER, OTHERS = "127.0.0.2", "127.0.0.1"
ROUND_IT = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
worker_processes 1;
events {{ worker_connections 768; }}
http {{
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
PEOPLE = """
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from contrib.challenges.challenges import make_challenge
from contrib.challenges.models import Challenge
from judgments.access.tokens import create_token
from judgments.models import Caption, Dataset, Item
ada = User.objects.create_user("ada")
rosa = User.objects.create_superuser("rosa")
dataset = Dataset.objects.create(name="lawns", source_format="jsonl", fingerprint="", sharing="members")
items = Item.objects.bulk_create(Item(dataset=dataset, name=str(n), position=n) for n in range(8_000))
Caption.objects.bulk_create(
    Caption(dataset=dataset, item=item, key=item.name, text="a lawn", role="reference") for item in items
)
make_challenge(challenge=Challenge(slug="lawns", title="Lawns", dataset=dataset, metrics=["rouge-l"]))
for person in (ada, rosa):
    browser = Client()
    browser.force_login(person)
    print(browser.cookies[settings.SESSION_COOKIE_NAME].value)
print(create_token(user=ada, name="sends", scopes=["submissions:write"])[1])
"""
# A template that takes a file, and an address where it is shown or sent to.
UPLOADS = {
    "judgments/upload.html": "/admin/judgments/dataset/add/",
    "judgments/study/bring_template.html": "/admin/judgments/study/bring-template/",
    "judgments/study/from_file.html": "/admin/judgments/study/from-file/",
    "panel_lists/upload.html": "/admin/judgments/study/7/do/reconcile/",
    "evaluation/imported_scores.html": "/admin/judgments/study/7/do/import-scores/",
    "evaluation/study_soft_labels.html": "/admin/judgments/study/7/do/import-predictions/",
    "challenges/submit.html": "/challenges/lawns/submit/",
}
STUDY_FILES = {"judgments/columns.html"}  # take 64 kB, which any address does
CALLS = ["/api/submissions/", "/api/datasets/lawns/scores/", "/api/studies/pets/import-judge/"]


@dataclass
class Proxy:
    """nginx as a visitor meets it, with its folder, and people who are signed in."""

    port: int
    folder: Path
    participant: dict[str, str]
    researcher: dict[str, str]
    token: dict[str, str]

    def begin(
        self, path: str, length: int | None, headers: Mapping[str, str] = {}, source: str = OTHERS
    ) -> ssl.SSLSocket:
        """A POST whose body is to come; without a length, in chunks."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # later ones send what is no answer
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=60, source_address=(source, 0))
        connection = context.wrap_socket(plain)
        size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{size}\r\n{more}\r\n".encode())
        return connection

    def ask(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> tuple[int, Mapping[str, str], str]:
        """Status, headers and text of the answer to a whole request."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = HTTPSConnection("127.0.0.1", self.port, context=context, timeout=60)
        try:
            method = "GET" if body is None else "POST"
            connection.request(method, path, body, {"Host": "localhost", **headers})
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), answer.read().decode()
        finally:
            connection.close()


def status_of(connection: ssl.SSLSocket) -> int:
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        return answer.status


def is_answered(connection: ssl.SSLSocket) -> bool:
    return bool(select.select([connection], [], [], 0)[0])


@pytest.fixture(scope="module")
def proxy(installations: Installations, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    demand("proxy")
    folder, port, program = tmp_path_factory.mktemp("nginx"), free_port(), nginx_path()
    assert program
    with installations.fresh("sqlite") as installation, ExitStack() as stack:
        ada, rosa, key = installation.python(PEOPLE).splitlines()[-3:]
        site = SITE
        for written, here in {
            "listen 80;": f"listen 127.0.0.1:{free_port()};",
            "listen [::]:80;": "",
            "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            "listen [::]:443 ssl;": "",
            "/etc/letsencrypt/live/quorum.example.org": str(folder),
            "/var/log/nginx": str(folder),
            "http://127.0.0.1:8000;": f"{installation.start_server()};",
            # A loaded machine takes longer to open all connections than a half-sent one lasts.
            "client_body_timeout 15s": "client_body_timeout 600s",
        }.items():
            assert written in site, written
            site = site.replace(written, here)
        (folder / "site.conf").write_text(site)
        user = "user root;" if os.geteuid() == 0 else ""  # the test's folders are its own
        (folder / "nginx.conf").write_text(ROUND_IT.format(folder=folder, user=user))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
             "-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")],
            check=True, capture_output=True,
        )  # fmt: skip
        run = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        server = stack.enter_context(subprocess.Popen(run))
        stack.callback(server.terminate)

        def listens() -> bool:
            assert server.poll() is None, (folder / "error.log").read_text()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        until(listens, what="nginx")
        yield Proxy(
            port, folder, {"Cookie": f"sessionid={ada}"}, {"Cookie": f"sessionid={rosa}"},
            {"Authorization": f"Token {key}"},
        )  # fmt: skip


def test_every_form_that_takes_a_file_is_at_an_address_for_larger_bodies() -> None:
    taking = {
        path.as_posix().rpartition("templates/")[2]
        for path in [*(ROOT / "templates").rglob("*.html"), *(ROOT / "contrib").rglob("*.html")]
        if "multipart/form-data" in path.read_text()
    }
    assert taking == set(UPLOADS) | STUDY_FILES
    for address in (*UPLOADS.values(), *CALLS):
        assert any(pattern.match(address) for pattern in LARGER), address


@pytest.mark.parametrize("length", [4 * MB, 2048 * MB, None])
def test_a_stranger_sends_three_megabytes_at_most_at_any_address(proxy: Proxy, length: int | None) -> None:
    """A larger body is refused before it is read, and nothing of it is stored."""
    forged = {"Cookie": "sessionid=forged", "Authorization": "Token forged"}
    elsewhere = (
        "/",
        "/s/pets/?ticket=secret",
        "/s/pets/start/",
        "/api/studies/",
        "/hooks/prolific/",
        "/admin/login/",
    )
    for headers in ({}, forged):
        for path in (*elsewhere, *UPLOADS.values(), *CALLS):
            with proxy.begin(path, length, headers) as connection:
                if length is None and path in elsewhere:  # it says its length by being longer
                    connection.sendall(f"{4 * MB:x}\r\n".encode() + b" " * (3 * MB + 1))
                told = status_of(connection)
                expected = 413 if path in elsewhere else 401 if path.startswith("/api/") else 303
                assert told == expected or (told, length) == (413, 2048 * MB), (path, headers, told)
    assert [path for path in (proxy.folder / "bodies").rglob("*") if path.is_file()] == []
    assert "secret" not in (proxy.folder / "error.log").read_text()


def test_who_is_signed_in_sends_more_at_the_addresses_that_take_it(proxy: Proxy) -> None:
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    fields = {"challenge": "lawns", "system": "s", "team": "t"}
    form = form_of(fields, "file", b" " * (4 * MB))
    assert proxy.ask("/api/submissions/", form, kind | proxy.token)[0] == 202  # it was read to its end
    rows = b"image,caption\r\n" + b"lawn.jpg,a lawn of some words\r\n" * 150_000
    form = form_of({"csrfmiddlewaretoken": "c" * 32}, "files", rows)
    add = "/admin/judgments/dataset/add/"
    for who, let_through in ((proxy.researcher, True), (proxy.participant, False)):
        cookies = f"{who['Cookie']}; csrftoken={'c' * 32}"
        headers = kind | {"Cookie": cookies, "Referer": "https://localhost/"}
        assert (proxy.ask(add, form, headers)[0] in (200, 302)) == let_through
        assert proxy.ask("/admin/judgments/study/", form, headers)[0] == 413
    assert proxy.ask(add, headers=proxy.researcher)[0] == 200
    for path in (add, "/challenges/lawns/submit/"):
        status, told, _ = proxy.ask(path)
        assert (status, told["Location"].partition("?")[2]) == (303, f"next={path}")
        assert proxy.ask(told["Location"])[0] == 200


def test_a_refusal_reaches_who_sent_a_large_body(proxy: Proxy) -> None:
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    form = form_of({}, "files", b"image,caption\r\n" * 3_000_000)  # without a token
    for _ in range(20):
        status, _, text = proxy.ask("/admin/judgments/dataset/add/", form, kind | proxy.researcher)
        assert (status, "Quorum" in text) == (403, True)


def form_of(fields: Mapping[str, str], name: str, content: bytes) -> bytes:
    """A form with a file."""
    start = 'Content-Disposition: form-data; name="{}"'
    texts = "".join(f"--x\r\n{start.format(key)}\r\n\r\n{text}\r\n" for key, text in fields.items())
    file = f'--x\r\n{start.format(name)}; filename="lawns.csv"\r\n\r\n'
    return f"{texts}{file}".encode() + content + b"\r\n--x--\r\n"


def test_half_sent_uploads_from_one_address_keep_nobody_else_waiting(proxy: Proxy) -> None:
    with ExitStack() as stack:
        half_sent = []
        for _ in range(120):  # three times what Quorum's threads could hold
            connection = stack.enter_context(proxy.begin("/s/pets/start/", 2 * MB, source=ATTACKER))
            connection.sendall(b"half")
            half_sent.append(connection)
        refused: list[ssl.SSLSocket] = []

        def twenty_are_refused() -> bool:
            refused[:] = [one for one in half_sent if is_answered(one)]
            return len(refused) >= 20

        until(twenty_are_refused, what="more than a hundred requests of one address")
        assert [status_of(one) for one in refused] == [429] * 20
        for _ in range(20):
            assert proxy.ask("/challenges/")[0] == 200
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        whole = proxy.ask("/s/pets/start/", b"name=a", form)
        assert (whole[0], "Quorum" in whole[2]) == (403, True)  # its own page, as the form has no token


def test_an_account_sends_six_uploads_at_once_from_one_address(proxy: Proxy) -> None:
    with ExitStack() as stack:
        held = []
        for _ in range(6):
            held.append(
                stack.enter_context(proxy.begin("/api/submissions/", 2 * MB, proxy.token, source=ATTACKER))
            )
            held[-1].sendall(b"half")
        until(lambda: refuses_another(proxy), what="a seventh upload of one address")
        assert not any(is_answered(one) for one in held)
        assert proxy.ask("/api/submissions/", headers=proxy.participant)[0] == 200


def refuses_another(proxy: Proxy) -> bool:
    with proxy.begin("/api/submissions/", 0, proxy.token, source=ATTACKER) as connection:
        return status_of(connection) == 429


def test_what_is_for_this_machine_is_not_there_from_outside(proxy: Proxy) -> None:
    for path in ("/health/ready", "/health/metrics", "/may-upload/staff/", "/may-upload/account/"):
        assert proxy.ask(path, headers=proxy.researcher)[0] == 404, path
