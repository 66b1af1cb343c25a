"""The course secret, from which the judge draws its cases: random, kept outside the repository."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path


def secret_path() -> Path:
    """$BACKPROP_COURSE_SECRET, or a file in the user's data folder."""
    if chosen := os.environ.get("BACKPROP_COURSE_SECRET"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "backprop_course" / "secret"


def course_secret() -> tuple[bytes, bool]:
    """(the secret, whether it was made just now). Two that start at once agree on one."""
    path, made = secret_path(), False
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(beside, path)
            made = True
        except FileExistsError:
            pass
        finally:
            beside.unlink()
    text = path.read_text().strip()
    if len(text) < 32:
        raise ValueError(f"{path} holds {len(text)} characters: expected at least 32 random ones")
    return text.encode(), made


def seed_for(secret: bytes, student: str, exercise: str) -> int:
    """The same number each time; no one without the secret can tell it."""
    message = f"{exercise}\0{student}".encode()
    return int.from_bytes(hmac.digest(secret, message, hashlib.sha256)[:8], "big")
