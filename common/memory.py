"""The memory of this process. It imports nothing of Quorum, as the process that reads Parquet uses it."""

from pathlib import Path

STATUS = Path("/proc/self/status")


def data_segment_bytes() -> int:
    """Return the bytes that count towards RLIMIT_DATA, reserved memory included; 0 if the system does not tell."""
    if not STATUS.exists():
        return 0
    taken = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmData:"))
    return int(taken.split()[1]) * 1024
