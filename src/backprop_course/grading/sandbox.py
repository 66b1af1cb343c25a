"""Start sandboxes and talk to them: from the judge's side of the wall.

A `Zygote` is one warm process inside bubblewrap, from which each `Session` is forked with
namespaces, limits and a temporary folder of its own. One session at a time.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from ..checks import drivers
from ..checks._core import StudentRaised, StudentStopped
from .inside import isolate, wire

INSIDE = Path(wire.__file__).parent
SITE = sysconfig.get_paths()["purelib"]
INSIDE_FILES = ("isolate.py", "wire.py", "worker.py", "zygote.py")
# Libraries that do the exercises, and the course's own with its checks: not in the sandbox.
# Importing them there does nothing, so that an import that is not used costs nothing.
ABSENT = (
    "autograd",
    "backprop_course",
    "jax",
    "micrograd",
    "mxnet",
    "tensorflow",
    "tinygrad",
    "torch",
)
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "MPLBACKEND": "agg",
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}


class SandboxUnavailable(RuntimeError):
    """No sandbox can be had here; the message says what to install or to switch on."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one submission may use."""

    cell_seconds: float = 10  # one cell, or one behaviour
    submission_seconds: int = 60  # everything, wall time and CPU time
    memory: int = 2 << 30  # bytes, each process
    processes: int = 32
    file_bytes: int = 64 << 20  # one file, and the temporary folder
    printed: int = 20_000  # characters, each cell
    callbacks: int = 20_000  # each behaviour


class Zygote:
    """The warm parent. `isolated=False` leaves out the walls, for submissions that are trusted."""

    def __init__(self, limits: Limits, *, isolated: bool = True, absent=ABSENT):
        self.limits, self.isolated, self.absent = limits, isolated, absent
        self.process, self.control = None, None
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self.folder = None if isolated else tempfile.mkdtemp(prefix="backprop-")
        tried = []
        for command in self.commands():
            if self.start(command):
                return
            self.stop()
            self.errors.seek(0)
            tried.append(self.errors.read().decode(errors="replace").strip()[-500:])
            self.errors.truncate(0)
        raise SandboxUnavailable(explain(tried))

    def commands(self):
        """Ways to start it, to be tried in order."""
        if not self.isolated:
            yield []
            return
        if problem := missing():
            raise SandboxUnavailable(problem)
        if os.getuid() == 0:
            # Root needs no user namespace here; the zygote then becomes nobody.
            yield bubblewrap(self.absent, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        yield bubblewrap(self.absent, "--unshare-user", "--uid", "65534", "--gid", "65534")

    def start(self, wrapper: list[str]) -> bool:
        self.control, theirs = socket.socketpair()
        options = json.dumps(self.options())
        python = [real_python(), "-I", "-S", "-B"]
        script = "/opt/inside/zygote.py" if self.isolated else str(INSIDE / "zygote.py")
        environment = ENVIRONMENT | {
            "HOME": self.folder or "/tmp",
            "IPYTHONDIR": (self.folder or "/tmp") + "/.ipython",
        }
        environment["MPLCONFIGDIR"] = environment["HOME"]
        self.process = subprocess.Popen(
            [*wrapper, *python, script, str(theirs.fileno()), options],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.errors,
            stderr=self.errors,
            env=environment,
            cwd="/",
        )
        theirs.close()
        self.control.settimeout(60)
        try:
            if self.control.recv(1) != b"R":
                return False
            return self.try_worker()
        except (OSError, EOFError, wire.BadFrame):
            return False

    def try_worker(self) -> bool:
        """Whether a worker answers: its namespaces may be refused where bubblewrap's were not."""
        with self.fork() as sock:
            sock.settimeout(60)
            wire.send(sock, {"do": "describe"}, "nothing")
            answer = wire.receive(sock)[1]
        self.end()
        return answer == "missing"

    def options(self) -> dict:
        inside, site = ("/opt/inside", "/opt/site") if self.isolated else (str(INSIDE), SITE)
        return {
            "isolated": self.isolated,
            "path": [inside, site],
            "drivers": f"{inside}/drivers.py" if self.isolated else drivers.__file__,
            "tmp": self.folder or "/tmp",
            "absent": list(self.absent),
            "limits": dataclasses.asdict(self.limits),
        }

    def fork(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        socket.send_fds(self.control, [b"F"], [theirs.fileno()])
        theirs.close()
        if self.control.recv(1) != b"S":
            raise OSError("the sandbox's parent has ended")
        return ours

    def end(self) -> int:
        """End the current worker with all its processes; its exit status."""
        self.control.sendall(b"K")
        answer = self.control.recv(2)
        if len(answer) != 2:
            raise OSError("the sandbox's parent has ended")
        return answer[1]

    def stop(self) -> None:
        if self.control:
            self.control.close()
        if self.process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
            self.process.kill()
            self.process.wait()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class Session:
    """One submission's process. Its methods raise StudentRaised, or StudentStopped with the limit's name."""

    def __init__(self, zygote: Zygote, deadline: float):
        self.zygote, self.limits, self.deadline = zygote, zygote.limits, deadline
        self.sock = zygote.fork()
        self.stopped: str | None = None
        self.begin()

    def begin(self) -> None:
        """A new behaviour: its own time and its own number of callbacks."""
        self.until = min(time.monotonic() + self.limits.cell_seconds, self.deadline)
        self.callbacks = 0

    def ask(self, message: dict, value=None) -> tuple[dict, object]:
        if self.stopped:
            raise StudentStopped(self.stopped)
        functions: list = []
        try:
            self.wait_until()
            wire.send(self.sock, message, value, functions)
            while True:
                reply, value = self.receive()
                if reply.get("do") != "call back":
                    return reply, value
                self.call_back(functions, reply, value)
        except TimeoutError:
            self.stop(self.time_limit())
        except (EOFError, OSError):
            self.stop(
                "its process ended: it called exit, crashed, or used up its CPU time or memory"
            )
        except wire.BadFrame as error:
            self.stop(f"what it returned cannot be used: {error}")

    def wait_until(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.sock.settimeout(left)

    def receive(self):
        """One frame; a reply that drips in slowly meets the same deadline."""
        return wire.receive(Patient(self))

    def time_limit(self) -> str:
        if time.monotonic() >= self.deadline:
            return f"the submission ran for more than {self.limits.submission_seconds} s in all"
        return (
            f"it ran for more than {self.limits.cell_seconds:g} s. Is there a loop that never ends?"
        )

    def stop(self, reason: str):
        self.stopped = reason
        raise StudentStopped(reason)

    def call_back(self, functions, message, arguments) -> None:
        number = message.get("number")
        if (
            type(number) is not int
            or not 0 <= number < len(functions)
            or type(arguments) is not list
        ):
            raise wire.BadFrame("a call of a function that is not there")
        self.callbacks += 1
        if self.callbacks > self.limits.callbacks:
            self.stop(f"it called f more than {self.limits.callbacks} times")
        before = wire.copies(arguments)
        try:
            result, status = functions[number](*arguments), {"status": "ok"}
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:500]
            result, status = None, {"status": "error", "error": said}
        self.wait_until()
        wire.send(self.sock, status, [result, wire.changes(arguments, before)])

    def result(self, message: dict, arguments: tuple):
        """What a call or a driver returned; changes to its arguments are carried back."""
        reply, value = self.ask(message, list(arguments))
        if reply.get("status") != "ok":
            raise student_raised(reply.get("error"))
        if type(value) is not list or len(value) != 3 or type(value[2]) is not list:
            raise StudentStopped("what it returned cannot be used: not a reply")
        same, result, changed = value
        wire.carry_back(arguments, changed)
        if type(same) is int and 0 <= same < len(arguments):
            return arguments[same]
        return result

    def close(self) -> int:
        self.sock.close()
        return self.zygote.end()


class Patient:
    """A socket's recv, each time with the time that is left."""

    def __init__(self, session: Session):
        self.session = session

    def recv(self, size: int) -> bytes:
        self.session.wait_until()
        return self.session.sock.recv(size)


def student_raised(error) -> StudentRaised:
    """StudentRaised from what the worker says of it, whatever that is."""
    error = error if isinstance(error, dict) else {}
    kind, message, text = (str(error.get(k, ""))[:2000] for k in ("kind", "message", "text"))
    line = error.get("line")
    return StudentRaised(kind or "Exception", message, line if type(line) is int else None, text)


# ---- bubblewrap ------------------------------------------------------------------------------

TRUST = "If you trust everyone who wrote the submissions, and only then: --Judge.trusted=True runs them without walls."


def missing() -> str | None:
    """What keeps a sandbox from being made here, and what to do."""
    if sys.platform != "linux":
        return f"Submissions are graded in a sandbox, which needs Linux: use a virtual machine or a container. {TRUST}"
    if not isolate.supported():
        return f"The sandbox's filter of system calls knows x86-64 and aarch64, not this processor. {TRUST}"
    if not shutil.which("bwrap"):
        return f"bubblewrap is missing: install it (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap). {TRUST}"
    return None


def explain(tried: list[str]) -> str:
    said = "; ".join(filter(None, tried)) or "nothing"
    return (
        "bubblewrap cannot make a sandbox here. In a container, allow user namespaces (Docker: "
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined); on Ubuntu 24.04 and later: "
        f"sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0. It said: {said}. {TRUST}"
    )


def real_python() -> str:
    """The interpreter itself, not the virtual environment's link to it."""
    return os.path.realpath(sys.executable)


def bubblewrap(absent, *how: str) -> list[str]:
    """A command that runs what follows it with nothing in sight but Python and its libraries."""
    base = os.path.realpath(sys.base_prefix)
    python = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", f"{base}/lib"]
    binds = {path: path for path in [*python, real_python()]}
    binds |= {f"/opt/inside/{name}": str(INSIDE / name) for name in INSIDE_FILES}
    binds |= {
        "/opt/inside/drivers.py": drivers.__file__,
        "/opt/site": SITE,
    }
    links = {path: os.readlink(path) for path in ("/lib", "/lib64") if os.path.islink(path)}
    binds |= {path: path for path in {"/lib", "/lib64"} - links.keys()}

    command = ["bwrap", "--cap-drop", "ALL", *how, "--die-with-parent", "--new-session"]
    command += [f"--unshare-{name}" for name in ("pid", "net", "ipc", "uts", "cgroup-try")]
    # bubblewrap makes the folders above a bound path private to root: make them first.
    parents = {str(p) for path in binds for p in Path(path).parents if p != Path("/")}
    for path in sorted(parents - binds.keys()):
        command += ["--perms", "0755", "--dir", path]
    for path, source in binds.items():
        command += ["--ro-bind-try", source, path]
    for path, target in links.items():
        command += ["--symlink", target, path]
    hidden = [f"/opt/site/{name}" for name in absent if Path(SITE, name).is_dir()]
    for path in hidden:
        command += ["--tmpfs", path]
    command += ["--dev", "/dev", "--proc", "/proc", "--perms", "1777", "--tmpfs", "/tmp"]
    for path in (*hidden, "/dev", "/"):
        command += ["--remount-ro", path]
    return [*command, "--clearenv", *set_environment(), "--"]


def set_environment() -> list[str]:
    inside = ENVIRONMENT | {"HOME": "/tmp", "IPYTHONDIR": "/tmp/.ipython", "MPLCONFIGDIR": "/tmp"}
    return [part for name, value in inside.items() for part in ("--setenv", name, value)]
