"""The demo: photographs with captions, two systems, four open studies and a finished, simulated one."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "demo"
