"""The installation's data folder and signing key."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def data_folder(name: str) -> Path:
    """Return the path of the data folder. Create it if needed. Raise ImproperlyConfigured if that is not possible."""
    path = Path(name).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {path} cannot be made ({error.strerror}): set DATA_DIR to a folder that can be "
            f"written to."
        ) from error
    return path


def find_exposed_paths(folder: Path, database: str) -> list[Path]:
    """Return the paths that others than the owner can read: the data folder, and an SQLite file outside it."""
    paths = [folder]
    if database and not Path(database).resolve().is_relative_to(folder):
        paths.append(Path(database))
    return [path for path in paths if path.exists() and path.stat().st_mode & 0o077]


def exposure_warning(exposed_paths: list[Path]) -> str:
    paths = " and ".join(map(str, exposed_paths))
    return f"Others than its owner may read {paths}: run chmod -R go= on it."


def load_secret_key(path: Path) -> str:
    """Return the signing key in the file ``path``. Create the file at the first call.

    Raises:
        ImproperlyConfigured: the file cannot be created or read, or has no usable key.
    """
    try:
        if not path.exists():
            _make_key(path)
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(
            f"The secret key cannot be kept in {path} ({error}): make the folder writable, or set SECRET_KEY "
            f"or DATA_DIR."
        ) from error
    if len(key) < 50:
        raise ImproperlyConfigured(
            f"The secret key in {path} is cut short: expected 50 characters or more; put the whole key back, "
            f"or delete the file to have a new one made (everybody has to sign in again)."
        )
    return key


def _make_key(path: Path) -> None:
    """Write a new signing key to ``path``, unless another process does so first."""
    # Server and worker may start at the same time. Each writes its own file, and the first that links it sets the key.
    own_file = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(own_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(64) + "\n")
        if not path.exists():
            try:
                os.link(own_file, path)
            except FileExistsError:
                return
    finally:
        own_file.unlink()
