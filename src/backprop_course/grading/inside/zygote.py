"""The warm parent of all sandboxes: `python -I -S zygote.py CONTROL_FD OPTIONS`.

It has NumPy and IPython loaded, knows no check and no secret, and forks a worker for each session
it is asked for over the control socket: F + a socket (reply S) starts one, K ends it (reply E and a status).
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import time

OPTIONS = json.loads(sys.argv[2])
sys.path += OPTIONS["path"]

import isolate  # noqa: E402

if OPTIONS["isolated"]:
    isolate.drop_root()

import worker  # noqa: E402


def start_worker(connection: socket.socket) -> None:
    """In the forked child: keep one descriptor, shut the door, serve. Never returns."""
    os.dup2(connection.fileno(), 3)
    connection.detach()
    os.closerange(4, 4096)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    limits = OPTIONS["limits"]
    if OPTIONS["isolated"]:
        isolate.enter(limits["file_bytes"])
    else:
        os.setpgid(0, 0)
    first = os.fork()
    if first == 0:
        if OPTIONS["isolated"]:
            isolate.lock(limits)
        else:
            isolate.limit(limits, processes=False)
        gc.enable()
        worker.serve(socket.socket(fileno=3), OPTIONS)
        os._exit(0)
    os.close(3)
    _, status = os.waitpid(first, 0)
    os._exit(-os.waitstatus_to_exitcode(status) & 255)


def end_worker(pid: int) -> int:
    """Stop it, whatever it does, and return its status: a signal's number, or 0."""
    for _ in range(20):  # its socket is closed: it mostly ends by itself
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            break
        time.sleep(0.001)
    kill = os.kill if OPTIONS["isolated"] else os.killpg  # a pid namespace ends as one
    with contextlib.suppress(ProcessLookupError, PermissionError):
        kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    gc.collect()
    gc.freeze()
    gc.disable()
    current = 0
    control.sendall(b"R")
    while True:
        order, descriptors, *_ = socket.recv_fds(control, 1, 1)
        if order == b"F":
            connection = socket.socket(fileno=descriptors[0])
            current = os.fork()
            if current == 0:
                control.detach()
                try:
                    start_worker(connection)
                finally:
                    os._exit(98)
            connection.close()
            control.sendall(b"S")
        elif order == b"K":
            control.sendall(b"E" + bytes([end_worker(current) & 255]))
        else:
            return


main()
