"""The command's run is imported as rankings, and wrong options are refused."""

import json
from itertools import product
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from judgments.models import Item, Output
from tests.refusals import refuses


@pytest.mark.django_db
def test_a_run_of_the_systems_is_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    colours = ("red", "green", "blue", "white", "black")
    rows = []
    for split, count in (("train", 3), ("dev", 1), ("test", 1)):
        for colour, number in product(colours, range(count)):
            name = f"{split}-{colour}-{number}.png"
            Image.new("RGB", (24, 24), colour).save(tmp_path / name)
            words = {"train": "square", "dev": "thing", "test": "picture"}[split]
            for caption in (f"a {colour} {words}", f"{words} in {colour} paint"):
                rows.append({"image": name, "caption": caption, "split": split})
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    call_command(
        "import_dataset", "jsonl", str(tmp_path / "captions.jsonl"), name="squares", images=str(tmp_path)
    )
    run = tmp_path / "squares.run"
    for task in ("annotation", "search"):
        call_command(
            "rank_captions", "squares", task=task, output=run, systems="nn,tri5,tri5sem,borda", caption=1
        )
        call_command("import_rankings", str(run), dataset="squares", task=task)
    assert "15 images for training, 5 for choosing settings, 5 in the pool." in capsys.readouterr().out
    found = Output.objects.filter(system__name="nn", rank=Output.objects.order_by("rank")[0].rank)
    for output in found.select_related("item", "caption"):
        colour = output.item.name.split("-")[1]
        assert output.caption.text == f"picture in {colour} paint"
    assert found.count() == 10
    assert set(Output.objects.values_list("system__name", flat=True)) == {"nn", "tri5", "tri5sem", "borda"}
    runs = set()
    for kernels in ({}, {"image_power": 3}, {"text_diagonal": 15.0}):
        call_command(
            "rank_captions", "squares", task="search", output=run, systems="tri5", caption=1, **kernels
        )
        runs.add(run.read_text())
    assert len(runs) == 3
    for wrong, words in (
        ({"text_diagonal": 0.5}, r"--text-diagonal.*0\.5"),
        ({"systems": "nn,borda"}, "joins"),
        ({"systems": "knn"}, "names knn"),
        ({"caption": 7}, r"\b2\b.*\b7\b"),
        ({"seed": -1}, "expected 0 or more"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("rank_captions", "squares", task="search", output=run, **wrong)
    Item.objects.filter(name="test-red-0.png").update(name="my red.png")
    with refuses(CommandError, "red.png"):
        call_command("rank_captions", "squares", task="search", output=run)
