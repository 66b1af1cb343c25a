"""Shut a process in: namespaces, limits, no capabilities, a filter of system calls. Linux only.

`enter` runs in the forked child and makes the namespaces; `lock` runs in its own child, the first
process of the new pid namespace, and gives up everything that is left. Both raise OSError.
"""

import ctypes
import os
import platform
import resource
import signal
import struct

libc = ctypes.CDLL(None, use_errno=True)

# include/uapi/linux/sched.h, prctl.h, capability.h, mount.h
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWCGROUP = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
    0x02000000,
)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_NO_NEW_PRIVS = (
    1,
    4,
    22,
    24,
    38,
)
CAP_V3, LAST_CAP = 0x20080522, 40
NOSUID, NODEV, NOEXEC, RDONLY = 2, 4, 8, 1


def check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(kind: str, where: str, flags: int, options: str = "") -> int:
    return libc.mount(kind.encode(), where.encode(), kind.encode(), flags, options.encode() or None)


def drop_root() -> None:
    """Become nobody: root obeys no limit on processes, in a user namespace either."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)


def enter(tmp_bytes: int) -> None:
    """New user, mount, pid, network, ipc and host-name namespaces; private /tmp and /dev/shm."""
    uid, gid = os.getuid(), os.getgid()
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # so that uid_map is ours to write
    check(libc.unshare(NEWUSER | NEWNS | NEWPID | NEWNET | NEWIPC | NEWUTS | NEWCGROUP), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    for place in ("/tmp", "/dev/shm"):
        check(
            mount("tmpfs", place, NOSUID | NODEV, f"size={tmp_bytes},mode=1777"), f"mount {place}"
        )


def lock(limits: dict) -> None:
    """The last steps, as process 1 of the new pid namespace."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.setsid()  # kill(0) reaches the process group, outside the pid namespace as well
    # The outer /proc shows the outer processes. Where a new one may not be mounted, hide it.
    if mount("proc", "/proc", NOSUID | NODEV | NOEXEC) != 0:
        flags = RDONLY | NOSUID | NODEV | NOEXEC
        check(mount("tmpfs", "/proc", flags, "size=4k,mode=555"), "hide /proc")
    limit(limits)
    check(libc.prctl(PR_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    for capability in range(LAST_CAP + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header, none = (ctypes.c_uint32 * 2)(CAP_V3, 0), (ctypes.c_uint32 * 6)()
    check(libc.capset(header, none), "capset")
    filter_calls()


def limit(limits: dict, *, processes: bool = True) -> None:
    """setrlimit for each that this system has; outside a namespace all of a user's processes count."""
    wanted = {
        "RLIMIT_AS": limits["memory"],
        "RLIMIT_CPU": limits["submission_seconds"],
        "RLIMIT_FSIZE": limits["file_bytes"],
        "RLIMIT_NPROC": limits["processes"],
        "RLIMIT_NOFILE": 256,
        "RLIMIT_CORE": 0,
    }
    for name, value in wanted.items():
        if hasattr(resource, name) and (processes or name != "RLIMIT_NPROC"):
            resource.setrlimit(getattr(resource, name), (value, value))


# ---- the filter of system calls -------------------------------------------------------------

# (audit architecture, number of clone, numbers refused). Refused: tracing and reading other
# processes, mounting, namespaces, keys, kernel modules, bpf, perf, io_uring, file handles.
MACHINES = {
    "x86_64": (
        0xC000003E,
        56,
        (101, 103, 155, 161, 163, 165, 166, 167, 168, 169, 170, 171, 175, 176, 179, 246, 248, 249,
         250, 272, 298, 303, 304, 308, 310, 311, 313, 320, 321, 323),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        (39, 40, 41, 51, 60, 89, 97, 104, 105, 106, 116, 117, 142, 161, 162, 217, 218, 219, 224,
         225, 241, 264, 265, 268, 270, 271, 273, 280, 282, 294),
    ),
}  # fmt: skip
REFUSED_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442)
CLONE3 = 435
ALLOW, NOT_PERMITTED, NOT_THERE = 0x7FFF0000, 0x00050001, 0x00050026
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF instructions
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
NEW_NAMESPACES = NEWNS | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET | NEWCGROUP


def supported() -> bool:
    return platform.machine() in MACHINES


def program() -> list[tuple[int, int, int, int]]:
    """The filter: (instruction, skip if true, skip if false, operand) each."""
    architecture, clone, refused = MACHINES[platform.machine()]
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, NOT_PERMITTED),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, 0x40000000),  # the x32 calls of x86-64
        (RETURN, 0, 0, NOT_PERMITTED),
    ]
    for number in (*refused, *REFUSED_EVERYWHERE):
        lines += [(EQUAL, 0, 1, number), (RETURN, 0, 0, NOT_PERMITTED)]
    # clone3 keeps its flags behind a pointer, where no filter sees them: libc falls back on clone.
    lines += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, NOT_THERE)]
    lines += [
        (EQUAL, 0, 3, clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 0, 1, NEW_NAMESPACES),
        (RETURN, 0, 0, NOT_PERMITTED),
        (RETURN, 0, 0, ALLOW),
    ]
    return lines


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]


def filter_calls() -> None:
    lines = program()
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in lines))
    whole = Program(len(lines), ctypes.cast(code, ctypes.c_void_p))
    check(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(whole), 0, 0), "seccomp")
