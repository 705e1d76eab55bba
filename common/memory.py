"""The memory of this process. It imports nothing from Quorum, since the small process that reads Parquet uses it."""

from pathlib import Path

PROCESS_STATUS = Path("/proc/self/status")  # only on Linux; sizes are in KiB


def data_segment_bytes() -> int:
    """Return the bytes that count towards RLIMIT_DATA, including reserved memory; 0 if they are unknown."""
    if not PROCESS_STATUS.exists():
        return 0
    lines = PROCESS_STATUS.read_text().splitlines()
    line = next(line for line in lines if line.startswith("VmData:"))
    return int(line.split()[1]) * 1024
