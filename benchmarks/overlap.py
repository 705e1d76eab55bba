"""Measure how many answers Potato accepts if three are requested and many people come at once.

`python -m benchmarks.overlap POTATO_BIN PEOPLE [SECONDS [JSON]]`: POTATO_BIN is the folder `bin` of an environment with
potato-annotation and gunicorn. SECONDS is the mean pause before an answer. JSON has further keys of the study.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

ITEMS, WANTED, PORT = 200, 3, 18765
URL = f"http://127.0.0.1:{PORT}"
INSTANCE_ID = re.compile(r'id="instance_id"[^>]*value="([^"]+)"')


def create_study(folder: Path, more: dict[str, Any]) -> None:
    rows = (json.dumps({"id": f"item-{n:03}", "text": f"text {n}"}) + "\n" for n in range(ITEMS))
    (folder / "items.jsonl").write_text("".join(rows))
    question = {
        "annotation_type": "radio",
        "name": "choice",
        "description": "Which?",
        "labels": ["one", "two"],
    }
    design = {
        "port": PORT, "annotation_task_name": "overlap", "task_dir": ".", "output_annotation_dir": "out",
        "output_annotation_format": "jsonl", "data_files": ["items.jsonl"], "site_dir": "default",
        "item_properties": {"id_key": "id", "text_key": "text"}, "require_password": False,
        "user_config": {"allow_all_users": True, "users": []}, "num_annotators_per_item": WANTED,
        "annotation_schemes": [question], **more,
    }  # fmt: skip
    (folder / "config.yaml").write_text(json.dumps(design))  # JSON is YAML


def work(person: int, pause: float) -> None:
    generator, seen = random.Random(person), set()
    with httpx.Client(base_url=URL, timeout=120, follow_redirects=True) as browser:
        page = browser.post("/auth", data={"email": f"w{person}", "pass": ""}).text
        while (shown := INSTANCE_ID.search(page)) and shown[1] not in seen:
            item = shown[1]
            seen.add(item)
            time.sleep(generator.expovariate(1 / pause) if pause else 0)
            answer: dict[str, object] = {
                "instance_id": item,
                "annotations": {"choice:one": "one"},
                "span_annotations": [],
            }
            browser.post("/updateinstance", json=answer).raise_for_status()
            page = browser.post("/annotate", json={"action": "next_instance", "instance_id": item}).text


def answers(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for path in folder.glob("out/**/user_state.json"):
        stored = json.loads(path.read_text())["instance_id_to_label_to_value"]
        counts.update(item for item, labels in stored.items() if labels)
    return counts


def main(potato: str, people: int, pause: float = 0.0, more: str = "{}") -> None:
    command = [
        f"{potato}/gunicorn",
        "--bind",
        f"127.0.0.1:{PORT}",
        "--workers",
        "1",
        "--threads",
        "8",
        "--timeout",
        "120",
    ]
    with tempfile.TemporaryDirectory() as place, (Path(place) / "log").open("w") as log:
        folder = Path(place)
        create_study(folder, json.loads(more))
        server = subprocess.Popen(
            [*command, "potato.flask_server:create_app('config.yaml')"], cwd=folder, stdout=log, stderr=log
        )
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=20), timeout=120) as browser:
                browser.get(f"{URL}/health").raise_for_status()
            with ThreadPoolExecutor(people) as pool:
                list(pool.map(work, range(people), [pause] * people))
        finally:
            server.terminate()
            server.wait()
        counts = answers(folder)
    over = sum(count > WANTED for count in counts.values())
    print(f"{sum(counts.values())} answers; {over} items have more than {WANTED}, one {max(counts.values())}")


if __name__ == "__main__":
    programs, number, *options = sys.argv[1:]
    main(programs, int(number), float(options[0]) if options else 0.0, options[1] if options[1:] else "{}")
