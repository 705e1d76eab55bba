"""Emulators of Zenodo and of the Hugging Face Hub, and of what goes wrong with them.

Zenodo: InvenioRDM's reference of drafts, files and versions
(https://inveniordm.docs.cern.ch/reference/rest_api_drafts_records/); a new record is listed only after a while, and
a file counts once it is committed. The Hub: repositories, preupload, Git LFS, commits, tags and settings
(https://huggingface.co/docs/hub/api). By hand: `python -m contrib.archives.tests.fakes` (contrib/archives/README.md).
"""

import base64
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "secret-token-0123456789"
OTHER = "token-of-somebody-else"
LARGE = 2_000  # bytes, from which the fake Hub asks for LFS
PART = 3_000  # bytes of a part of an upload

# What is wrong with a call: a status, or one of these.
HANG_UP = "hang up before it is served"
LOST = "serve it and lose the answer"
SPOILED = "store other bytes than were sent"

Answer = tuple[int, Any]


@dataclass
class Archive:
    """What both have: calls in order, and faults.

    Attributes:
        faults: (a regular expression of method and path, what is wrong with the next such call), each used once.
        retry_after: when a 429 asks to come again: seconds, or a date.
        during: called at each served call; a test kills the process there.
    """

    url: str = ""
    faults: list[tuple[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    retry_after: str = "0"
    during: Callable[[str], None] = lambda call: None
    lock: Any = field(default_factory=Lock)

    def fault(self, call: str) -> Any:
        for number, (pattern, wrong) in enumerate(self.faults):
            if re.search(pattern, call):
                del self.faults[number]
                return wrong
        return None

    def asked(self, pattern: str) -> int:
        return sum(1 for call in self.calls if re.search(pattern, call))


@dataclass
class FakeZenodo(Archive):
    """Records by id. `listed_after`: how many lists leave out a new record."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    listed_after: int = 0
    made: int = 0

    def serve(self, method: str, path: str, body: bytes, headers: Any, spoiled: bool) -> Answer:
        if headers.get("Authorization") == f"Bearer {OTHER}":
            return 403, {"status": 403, "message": f"Permission denied for {OTHER}."}
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {"status": 401, "message": f"No such token: {headers.get('Authorization')}."}
        if path == "/api/user/records":
            return 200, {"hits": {"hits": [self.shown(one) for one in self._listed()]}}
        if path == "/api/records" and method == "POST":
            return 201, self.shown(self._new(json.loads(body)))
        found = re.fullmatch(r"/api/records/(\d+)(/.*)?", path)
        one = self.records.get(found[1]) if found else None
        if found is None or one is None:
            return 404, {"status": 404, "message": "The persistent identifier does not exist."}
        return self._about(one, method, found[2] or "", body, spoiled)

    def _listed(self) -> list[dict[str, Any]]:
        if self.listed_after:
            self.listed_after -= 1
            return []
        return sorted(self.records.values(), key=lambda one: -int(one["id"]))

    def _new(self, body: dict[str, Any], parent: str = "") -> dict[str, Any]:
        self.made += 1
        number = str(999 + self.made)
        made = {
            "id": number,
            "parent": parent or number,
            "published": False,
            "files": {},
            "pids": {},
            "content": {},
        }
        made["metadata"] = body.get("metadata", {})
        self.records[number] = made
        return made

    def shown(self, one: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": one["id"],
            "is_published": one["published"],
            "metadata": one["metadata"],
            "pids": one["pids"],
            "parent": {"id": one["parent"]},
        }

    def _about(self, one: dict[str, Any], method: str, rest: str, body: bytes, spoiled: bool) -> Answer:
        if rest == "" and method == "GET":
            return (200, self.shown(one)) if one["published"] else (404, {"message": "not published"})
        if rest == "/versions" and method == "POST":
            if not one["published"]:
                return 404, {"message": "not published"}
            drafts = [
                two
                for two in self.records.values()
                if two["parent"] == one["parent"] and not two["published"]
            ]
            left_out = ("version", "publication_date")
            kept = {key: value for key, value in one["metadata"].items() if key not in left_out}
            return 201, self.shown(drafts[0] if drafts else self._new({"metadata": kept}, one["parent"]))
        if not rest.startswith("/draft") or one["published"]:
            return 404, {"status": 404, "message": "There is no draft."}
        rest = rest.removeprefix("/draft")
        if rest == "" and method == "GET":
            return 200, self.shown(one)
        if rest == "" and method == "PUT":
            return self._described(one, json.loads(body))
        if rest == "/pids/doi" and method == "POST":
            if one["pids"]:
                return 409, {"message": "A DOI is reserved already."}
            one["pids"] = {"doi": {"identifier": f"10.5072/zenodo.{one['id']}", "provider": "datacite"}}
            return 201, self.shown(one)
        if rest == "/actions/publish" and method == "POST":
            whole = one["files"] and all(file["status"] == "completed" for file in one["files"].values())
            if not whole or not one["metadata"].get("creators"):
                return 400, {
                    "message": "A validation error occurred.",
                    "errors": self._problems(one["metadata"]),
                }
            one["published"] = True
            return 202, self.shown(one)
        return self._file(one, method, rest, body, spoiled)

    def _described(self, one: dict[str, Any], body: dict[str, Any]) -> Answer:
        one["metadata"], one["pids"] = body["metadata"], body.get("pids", {})
        return 200, self.shown(one) | {"errors": self._problems(one["metadata"])}

    def _problems(self, metadata: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"field": f"metadata.{name}", "messages": ["Missing data for required field."]}
            for name in ("title", "creators", "publication_date", "resource_type")
            if not metadata.get(name)
        ]

    def _file(self, one: dict[str, Any], method: str, rest: str, body: bytes, spoiled: bool) -> Answer:
        files, content = one["files"], one["content"]
        if rest == "/files" and method == "GET":
            return 200, {"enabled": True, "entries": list(files.values())}
        if rest == "/files" and method == "POST":
            for asked in json.loads(body):
                if asked["key"] in files:
                    return 400, {"message": f"File with key {asked['key']} already exists."}
                files[asked["key"]] = {"key": asked["key"], "status": "pending"}
            return 201, {"entries": list(files.values())}
        found = re.fullmatch(r"/files/([^/]+)(/content|/commit)?", rest)
        name = unquote(found[1]) if found else ""
        if found is None or name not in files:
            return 404, {"message": "no such file"}
        if method == "DELETE":
            del files[name]
            content.pop(name, None)
            return 204, None
        if found[2] == "/content" and method == "PUT":
            content[name] = body[:-1] + b"?" if spoiled else body
            return 200, files[name]
        if found[2] == "/commit" and method == "POST" and name in content:
            data = content[name]
            checksum = f"md5:{hashlib.md5(data, usedforsecurity=False).hexdigest()}"
            files[name] |= {"status": "completed", "size": len(data), "checksum": checksum}
            return 200, files[name]
        return 400, {"message": "nothing to commit"}


@dataclass
class FakeHub(Archive):
    """Dataset repositories by name, the objects of LFS by hash."""

    repositories: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def serve(self, method: str, path: str, body: bytes, headers: Any, spoiled: bool) -> Answer:
        if path.startswith("/store/"):  # another host, which must not see the token
            return self._stored(path, body, headers, spoiled)
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, {"error": f"Invalid credentials {headers.get('Authorization')}"}
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if found := re.fullmatch(r"/datasets/(.+)\.git/info/lfs/objects/batch", path):
            return 200, {"objects": [self._upload(one) for one in json.loads(body)["objects"]]}
        if path.endswith("/info/lfs/objects/verify"):
            told = json.loads(body)
            return (200, None) if len(self.objects.get(told["oid"], b"")) == told["size"] else (404, {})
        found = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(/.*)?", path)
        one = self.repositories.get(found[1]) if found else None
        if found is None or one is None:
            return 404, {"error": "Repository not found"}
        return self._about(found[1], one, method, found[2] or "", body)

    def _create(self, body: dict[str, Any]) -> Answer:
        name = f"{body['organization']}/{body['name']}"
        if name in self.repositories:
            return 409, {"error": "You already created this dataset repo"}
        self.repositories[name] = {
            "private": body["private"], "files": {".gitattributes": b""}, "large": set(), "tags": {},
            "commits": ["0" * 40],
        }  # fmt: skip
        return 200, {"url": f"{self.url}/datasets/{name}"}

    def _upload(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["oid"] in self.objects:
            return asked
        address = f"{self.url}/store/{asked['oid']}"
        if asked["size"] <= PART:
            verify = {"href": f"{self.url}/datasets/any.git/info/lfs/objects/verify"}  # asks for the token
            return asked | {
                "actions": {"upload": {"href": address, "header": {"X-Signed": "yes"}}, "verify": verify}
            }
        count = -(-asked["size"] // PART)
        header = {str(number): f"{address}/{number}" for number in range(1, count + 1)}
        return asked | {
            "actions": {"upload": {"href": address, "header": {"chunk_size": str(PART), **header}}}
        }

    def _stored(self, path: str, body: bytes, headers: Any, spoiled: bool) -> Answer:
        if headers.get("Authorization"):
            return 400, {"error": "Only one auth mechanism allowed"}
        oid, _, number = path.removeprefix("/store/").partition("/")
        if number:
            self.parts.setdefault(oid, {})[int(number)] = body
            return 200, None
        data = body
        if (headers.get("Content-Type") or "").endswith("lfs+json"):
            told = [one["partNumber"] for one in json.loads(body)["parts"]]
            data = b"".join(self.parts[oid][one] for one in told)
        elif headers.get("X-Signed") != "yes":
            return 403, {"error": "not signed"}
        data = data[:-1] + b"?" if spoiled else data  # also those that were sent in parts
        if hashlib.sha256(data).hexdigest() != oid:
            return 400, {"error": "The SHA-256 does not match"}
        self.objects[oid] = data
        return 200, None

    def _about(self, name: str, one: dict[str, Any], method: str, rest: str, body: bytes) -> Answer:
        if rest == "":
            siblings = [{"rfilename": file} for file in one["files"]]
            return 200, {
                "id": name,
                "sha": one["commits"][-1],
                "private": one["private"],
                "siblings": siblings,
            }
        if rest == "/preupload/main":
            modes = [
                {"path": file["path"], "uploadMode": "lfs" if file["size"] > LARGE else "regular"}
                for file in json.loads(body)["files"]
            ]
            return 200, {"files": modes}
        if rest == "/paths-info/main":
            return 200, [self._info(one, path) for path in json.loads(body)["paths"] if path in one["files"]]
        if rest == "/settings" and method == "PUT":
            one["private"] = json.loads(body)["private"]
            return 200, {"private": one["private"]}
        if found := re.fullmatch(r"/tag/(\w+)", rest):
            tag = json.loads(body)["tag"]
            if tag in one["tags"]:
                return 409, {"error": "Tag reference exists already"}
            one["tags"][tag] = (found[1], dict(one["files"]))
            return 200, None
        if rest == "/commit/main":
            return self._commit(one, [json.loads(line) for line in body.splitlines()])
        return 404, {"error": "Not found"}

    def _info(self, one: dict[str, Any], path: str) -> dict[str, Any]:
        data = one["files"][path]
        made = {"type": "file", "path": path, "size": len(data)}
        if path in one["large"]:
            return made | {
                "oid": "0" * 40,
                "lfs": {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)},
            }
        blob = b"blob %d\0" % len(data) + data
        return made | {"oid": hashlib.sha1(blob, usedforsecurity=False).hexdigest()}

    def _commit(self, one: dict[str, Any], lines: list[dict[str, Any]]) -> Answer:
        if lines[0]["value"].get("parentCommit") != one["commits"][-1]:
            return 412, {"error": "A commit has happened since. Please refresh and try again."}
        for line in lines[1:]:
            value = line["value"]
            one["large"].discard(value["path"])
            if line["key"] == "deletedFile":
                del one["files"][value["path"]]
            elif line["key"] == "file":
                one["files"][value["path"]] = base64.b64decode(value["content"])
            elif value["oid"] not in self.objects:
                return 400, {"error": f"LFS pointer pointed to a file that does not exist: {value['path']}"}
            else:
                one["files"][value["path"]] = self.objects[value["oid"]]
                one["large"].add(value["path"])
        one["commits"].append(hashlib.sha1(repr(lines).encode(), usedforsecurity=False).hexdigest())
        return 200, {"commitOid": one["commits"][-1]}


@contextmanager
def running(archive: Any, port: int = 0) -> Iterator[Any]:
    """Run an archive on this machine until the block ends."""

    class Site(BaseHTTPRequestHandler):
        def _do(self) -> None:
            path = urlsplit(self.path).path
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            call = f"{self.command} {path}"
            with archive.lock:
                archive.calls.append(call)
                archive.tokens.append(self.headers.get("Authorization") or "")
                fault = archive.fault(call)
                if fault == HANG_UP:
                    return self.connection.close()
                if isinstance(fault, int):
                    return self._send(fault, {"message": f"not now, {self.headers.get('Authorization')}"})
                status, answer = archive.serve(self.command, path, body, self.headers, fault == SPOILED)
                archive.during(call)
            if fault == LOST:
                return self.connection.close()
            return self._send(status, answer)

        def _send(self, status: int, answer: Any) -> None:
            content = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()[:8]}"')
            if status == 429:
                self.send_header("Retry-After", archive.retry_after)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    for method in ("GET", "POST", "PUT", "DELETE"):
        setattr(Site, f"do_{method}", Site._do)
    server = ThreadingHTTPServer(("127.0.0.1", port), Site)
    archive.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield archive
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    with running(FakeZenodo(), 8901) as zenodo, running(FakeHub(), 8902) as hub:
        lines = [
            f"ZENODO_URL={zenodo.url}", f"ZENODO_TOKEN={TOKEN}", f"HUGGINGFACE_URL={hub.url}",
            f"HUGGINGFACE_TOKEN={TOKEN}",
        ]  # fmt: skip
        sys.stdout.write("\n".join([*lines, "Ctrl-C ends both.", ""]))
        sys.stdout.flush()
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            sys.stdout.write(f"{len(zenodo.records)} records, {len(hub.repositories)} repositories\n")


if __name__ == "__main__":
    main()
