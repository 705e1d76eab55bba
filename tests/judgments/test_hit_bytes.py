"""Pages of the papers' presets keep their bytes, on data whose texts have blanks at their ends."""

import hashlib
from pathlib import Path

import pytest
from django.core.management import call_command

from judgments.datasets.importing.datasets import import_dataset

pytestmark = pytest.mark.django_db
STUDY = 'name = "{protocol}"\nslug = "{protocol}"\ndataset = "pascal"\nprotocol = "{protocol}"\nseed = 7\n'
DIGESTS = {
    "triplet": "dd21068720abe78fefb39d88e006784ef1d32ee7f5df128162f7d43e2f3c74c7",
    "pairwise": "8dcc9d93ba9d2a363535185c0f9b5dc1bb70cc1bca3082034a31e50f123ac083",
}


def test_pairs_of_pascal_50s_are_drawn_and_written_as_before(shared: Path, tmp_path: Path) -> None:
    import_dataset(format="pascal-50s", path=shared / "data" / "pascal-50s", name="pascal")
    digests = {}
    for protocol in DIGESTS:
        path, hits = tmp_path / f"{protocol}.toml", tmp_path / f"{protocol}.jsonl"
        path.write_text(STUDY.format(protocol=protocol))
        call_command("create_study", str(path))
        call_command("generate_hits", protocol, "--output", str(hits))
        digests[protocol] = hashlib.sha256(hits.read_bytes()).hexdigest()
    assert digests == DIGESTS
