"""Code that wants points it did not earn, wants out, or stops the grader. `ATTACKS[name] = (code, score)`.

Each is the answer cell of `checkpoint_counts` (6 points). WRONG earns nothing, RIGHT earns all;
where an attack hits only some behaviours the score is the rest.
"""

from ..bank.checkpoint_counts import PLAIN as RIGHT

WRONG = "def checkpoint_counts(n_layers, segments):\n    return 0, 0\n"
# Each prints LEAK where it reaches what it must not; the test looks for that word.
EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __getattr__(self, name): return Equal()
    def __call__(self, *a): return Equal()
    def __iter__(self): return iter((Equal(), Equal()))
    def __len__(self): return 2
    def __getitem__(self, i): return Equal()
    __hash__ = None

def checkpoint_counts(n_layers, segments):
    return Equal()
"""
EQUAL_NUMBERS = """
class Number(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__

def checkpoint_counts(n_layers, segments):
    return Number(1), Number(1)
"""
EQUAL_TUPLE = """
class Pair(tuple):
    def __eq__(self, other): return True
    def __ne__(self, other): return False

def checkpoint_counts(n_layers, segments):
    return Pair((1, 1))
"""
FORGE = """
import json, os, struct
def frame(message, body=b"", size=None):
    tree = json.dumps(message).encode()
    return struct.pack("<II", len(tree), len(body) if size is None else size) + tree + body
def send(data):
    while data:
        data = data[os.write(3, data):]
"""


def forged(frames: str, when: str = "call") -> str:
    """Write to the judge's socket by hand, from a call or from the cell."""
    if when == "cell":
        return FORGE + frames + "\n" + WRONG
    body = "\n".join("    " + line for line in frames.strip().splitlines())
    return FORGE + f"def checkpoint_counts(n_layers, segments):\n{body}\n    return 0, 0\n"


def reach(what: str) -> str:
    """Try something that must fail; say LEAK if it does not."""
    body = "\n".join("    " + line for line in what.strip().splitlines())
    return (
        f"try:\n{body}\n    print('LE' + 'AK', {what[:40]!r})\nexcept BaseException as e:\n    print(type(e).__name__)\n"
        + WRONG
    )


ATTACKS = {
    # ---- the verdict ----
    "an object equal to everything": (EQUAL, 0),
    "numbers equal to everything": (EQUAL_NUMBERS, 0),
    "a tuple equal to everything": (EQUAL_TUPLE, 0),
    "patched numpy.testing": (
        "import numpy as np, numpy.testing\n"
        "for name in dir(numpy.testing):\n"
        "    if name.startswith('assert'):\n        setattr(numpy.testing, name, lambda *a, **k: None)\n"
        "np.allclose = np.array_equal = np.isclose = lambda *a, **k: True\n" + WRONG, 0),
    "patched builtins": (
        "import builtins\nbuiltins.AssertionError = builtins.abs = builtins.isinstance = lambda *a: True\n" + WRONG, 0),
    "patched checks": (
        "import backprop_course.checks.checkpoint_counts as c, sys\n"
        "for name in dir(c):\n    if name.startswith('check'): setattr(c, name, lambda f: None)\n"
        "sys.modules['backprop_course.checks._core'] = None\n" + WRONG, 0),
    "an input transformer": (
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])\n" + WRONG, 0),
    "a syntax-tree transformer": (
        "import ast\nclass T(ast.NodeTransformer):\n    def visit_Call(self, node): return ast.Constant(None)\n"
        "get_ipython().ast_transformers.append(T())\n" + WRONG, 0),
    "a custom exception handler": (
        "get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)\n"
        "get_ipython().showtraceback = lambda *a, **k: None\n" + WRONG, 0),
    "a number as the last value": (WRONG + "6.0", 0),
    "a display of full marks": (WRONG + "from IPython.display import display\ndisplay(6.0)\nprint('6.0')", 0),
    "an import hook": (
        "import sys\nclass F:\n    def find_spec(self, name, *a):\n        raise SystemExit\n"
        "sys.meta_path.insert(0, F())\n" + WRONG, 0),
    "a trace function": ("import sys, threading\nsys.settrace(lambda *a: None)\nthreading.settrace(lambda *a: None)\n" + WRONG, 0),
    "the worker's own functions replaced": (
        "import gc, types\n"
        "for o in gc.get_objects():\n"
        "    if type(o).__name__ == 'Worker':\n"
        "        o.requests['describe'] = lambda m, v: 'own'\n"
        "        o.requests['call'] = lambda m, v: [-1, True, []]\n" + WRONG, 0),
    "answers searched for in memory": (
        "import gc\nfound = [o for o in gc.get_objects() if isinstance(o, dict) and ('SEED' in o or 'secret' in o)]\n"
        "if found: print('LE' + 'AK')\n" + WRONG, 0),
    "library code": ("from numpy import add as checkpoint_counts\n", 0),
    "library code under another name": ("import statistics\ncheckpoint_counts = statistics.pstdev\n", 0),
    "a builtin": ("checkpoint_counts = divmod\n", 0),
    "no function": ("checkpoint_counts = (10, 5)\n", 0),
    "deleted afterwards": (RIGHT + "\ndel checkpoint_counts\n", 0),
    "nothing at all": ("pass\n", 0),
    "None": ("def checkpoint_counts(n_layers, segments):\n    pass\n", 0),
    "a giant integer": ("def checkpoint_counts(n, s):\n    return 10 ** 5000, 1\n", 0),
    "a list that holds itself": ("def checkpoint_counts(n, s):\n    a = []\n    a.append(a)\n    return a\n", 0),
    "lists nested a thousand deep": (
        "def checkpoint_counts(n, s):\n    a = []\n    for _ in range(1000): a = [a]\n    return a\n", 0),
    "infinities": ("def checkpoint_counts(n, s):\n    return float('inf'), float('nan')\n", 0),
    "arrays of 80 MB": ("import numpy as np\ndef checkpoint_counts(n, s):\n    return np.zeros(10**7), 1\n", 0),
    "an object that cannot be shown": (
        "class C:\n    def __repr__(self): raise SystemExit\n    __str__ = __repr__\n"
        "def checkpoint_counts(n, s):\n    return C()\n", 0),
    "an exception that cannot be shown": (
        "class E(Exception):\n    def __str__(self): raise self\n"
        "def checkpoint_counts(n, s):\n    raise E()\n", 0),
    "an exception named like a passed check": (
        "class CheckPassed(BaseException): pass\ndef checkpoint_counts(n, s):\n    raise CheckPassed('✓')\n", 0),
    "raises StopIteration and GeneratorExit": ("def checkpoint_counts(n, s):\n    raise GeneratorExit\n", 0),
    "raises KeyboardInterrupt": ("def checkpoint_counts(n, s):\n    raise KeyboardInterrupt\n", 0),
    # ---- forged frames ----
    "a forged reply": (forged("send(frame({'status': 'ok', 'value': {'list': [-1, True, {'list': []}]}}))"), 0),
    "a forged reply before the question": (
        forged("send(frame({'status': 'ok', 'printed': '', 'value': 'own'}) * 50)", "cell"), 0),
    "a frame of 4 GB": (forged("send(struct.pack('<II', 0xffffffff, 0xffffffff))"), 0),
    "a frame that is no JSON": (forged("send(struct.pack('<II', 4, 0) + b'\\xff{{{')"), 0),
    "a frame nested too deeply": (forged("t = b'[' * 100000\nsend(struct.pack('<II', len(t), 0) + t)"), 0),
    "an array with a false size": (
        forged("send(frame({'status': 'ok', 'value': {'array': ['<f8', [1 << 40], 8]}}, b'12345678'))"), 0),
    "an array of objects": (forged("send(frame({'status': 'ok', 'value': {'array': ['|O', [1], 8]}}, b'12345678'))"), 0),
    "a negative shape": (forged("send(frame({'status': 'ok', 'value': {'array': ['<f8', [-1, -8], 64]}}, b'1' * 64))"), 0),
    "a call back that was not offered": (
        forged("send(frame({'do': 'call back', 'number': 0, 'value': {'list': []}}))"), 0),
    "a reply that drips": (
        forged("import time\nwhile True:\n    os.write(3, b'\\x01')\n    time.sleep(0.05)"), 0),
    "a flood of bytes": (forged("while True:\n    send(b'\\0' * 100000)"), 0),
    "a closed socket": (forged("os.close(3)"), 0),
    "a type with a strange name": (
        "def checkpoint_counts(n, s):\n    return type('a b\\n<script>', (), {})()\n", 0),
    # ---- getting out ----
    "reads the password file": (reach("open('/etc/passwd').read()"), 0),
    "reads the root folder": (reach("import os\nassert set(os.listdir('/')) & {'home', 'work', 'var', 'boot'}"), 0),
    "reads the environment": (reach("import os\nassert set(os.environ) & {'XDG_DATA_HOME', 'SECRET_OF_A_TEST'}"), 0),
    "reads another process": (reach("open('/proc/1/environ', 'rb').read()\nopen('/proc/2/cmdline').read()"), 0),
    "uses the network": (reach("import socket\nsocket.create_connection(('127.0.0.1', 22), 1)"), 0),
    "names a host": (reach("import socket\nsocket.getaddrinfo('localhost.localdomain.invalid', 80)"), 0),
    "opens a raw socket": (reach("import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)"), 0),
    "nests a user namespace": (reach("import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0"), 0),
    "clones into a namespace": (
        reach("import ctypes\nassert ctypes.CDLL(None).syscall(56, 0x10000000 | 17, 0, 0, 0, 0) > 0"), 0),
    "mounts": (reach("import ctypes\nassert ctypes.CDLL(None).mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None) == 0"), 0),
    "traces": (reach("import ctypes\nassert ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0"), 0),
    "becomes root": (reach("import os\nos.setuid(0)"), 0),
    "uses an inherited descriptor": (reach("import os\nos.fstat(4)"), 0),
    "writes into the library": (reach("import numpy\nopen(numpy.__file__, 'a')"), 0),
    "writes into the root folder": (reach("open('/x', 'w')"), 0),
    "writes into /dev": (reach("open('/dev/x', 'w')"), 0),
    "writes into the sandbox's own code": (reach("import wire\nopen(wire.__file__, 'a')"), 0),
    "starts a shell": (reach("import subprocess\nsubprocess.run(['sh', '-c', 'true'], check=True)"), 0),
    "reads the course's checks": (
        reach("import glob\nassert glob.glob('/**/checks/_core.py', recursive=True)"), 0),
    "reads answers": (reach("import glob\nassert glob.glob('/**/*.ipynb', recursive=True)"), 0),
    # ---- stopping the grader ----
    "os._exit in the cell": ("import os\nos._exit(0)\n" + RIGHT, 0),
    "os._exit in the function": ("import os\ndef checkpoint_counts(n, s):\n    os._exit(0)\n", 0),
    "sys.exit in the function": ("import sys\ndef checkpoint_counts(n, s):\n    sys.exit()\n", 0),
    "abort": ("import os\ndef checkpoint_counts(n, s):\n    os.abort()\n", 0),
    "a segmentation fault": ("import ctypes\ndef checkpoint_counts(n, s):\n    ctypes.string_at(0)\n", 0),
    "kills every process": ("import os\nfor p in (0, 1, -1, os.getppid()):\n    try: os.kill(p, 9)\n    except OSError: pass\n" + WRONG, 0),
    "a loop in the cell": ("while True: pass\n", 0),
    "a loop that ignores signals": (
        "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n", 0),
    "a sleep in the function": ("import time\ndef checkpoint_counts(n, s):\n    time.sleep(1000)\n", 0),
    "endless recursion": ("def checkpoint_counts(n, s):\n    return checkpoint_counts(n, s)\n", 0),
    "8 GB": ("def checkpoint_counts(n, s):\n    return len(bytearray(8 << 30)), 0\n", 0),
    "memory bit by bit": ("def checkpoint_counts(n, s):\n    a = []\n    while True: a.append(bytearray(1 << 26))\n", 0),
    "a fork bomb": ("import os\ntry:\n    while True: os.fork()\nexcept OSError: pass\n" + WRONG, 0),
    "threads without end": (
        "import threading, time\ntry:\n    while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"
        "except RuntimeError: pass\n" + WRONG, 0),
    "a full disk": ("try:\n    with open('/tmp/x', 'wb') as f:\n        while True: f.write(bytes(1 << 20))\nexcept OSError: pass\n" + WRONG, 0),
    "a million files": ("try:\n    for i in range(10**6): open(f'/tmp/{i}', 'w').close()\nexcept OSError: pass\n" + WRONG, 0),
    "a flood of output": ("for i in range(10**6): print('x' * 100)\n" + WRONG, 0),
    "a daemon left behind": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True: time.sleep(1)\n    os._exit(0)\n" + WRONG, 0),
    "a daemon that holds the socket": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\nos._exit(0)\n", 0),
    "atexit and finalizers that loop": (
        "import atexit\natexit.register(lambda: [None for _ in iter(int, 1)])\n"
        "class D:\n    def __del__(self):\n        while True: pass\nd = D()\n" + WRONG, 0),
    # ---- honest code that looks unusual: nothing is lost ----
    "right": (RIGHT, 6),
    "right, loud": ("import warnings, sys\n" + RIGHT.replace("\n    ", "\n    warnings.warn('w'); print('x', file=sys.stderr)\n    ", 1), 6),
    "right, with magics": ("%matplotlib inline\n%config InlineBackend.figure_format = 'svg'\n!pip install numpy\n%pip install numpy\n" + RIGHT, 6),
    "right, timed": ("%%time\n" + RIGHT, 6),
    "right, with await": ("import asyncio\nawait asyncio.sleep(0)\n" + RIGHT, 6),
    "right, beside unused libraries": (
        "import torch, torch.nn as nn\nfrom torch import Tensor\nfrom backprop_course.memory import anything\n" + RIGHT, 6),
    "right, cached": (RIGHT.replace("def checkpoint_counts", "import functools\n@functools.lru_cache\ndef checkpoint_counts", 1), 6),
    "right, as a lambda": (RIGHT.replace("def checkpoint_counts", "def helper", 1) + "\ncheckpoint_counts = lambda n_layers, segments: helper(n_layers, segments)\n", 6),
    "right, then an error": (RIGHT + "\n1 / 0\n", 6),
    "right, then exit": (RIGHT + "\nraise SystemExit\n", 6),
    "right, then quit": (RIGHT + "\nquit()\n", 6),
    "right, elsewhere in the file system": ("import os\n" + RIGHT + "\nos.chdir('/')\n", 6),
    "right, without stdout": ("import sys\n" + RIGHT + "\nsys.stdout.close()\nsys.stdout = sys.stderr = None\n", 6),
    "right, with other random state": ("import random, numpy as np\nnp.random.seed(0); np.seterr(all='raise')\n" + RIGHT, 6),
    "right, with typing": ("from __future__ import annotations\n" + RIGHT, 6),
    "right, but never ends for many layers": (
        RIGHT + "\nright = checkpoint_counts\ndef checkpoint_counts(n, s):\n    while n > 64: pass\n    return right(n, s)\n", 5),
    "right, but exits for bad arguments": (
        "import os\n" + RIGHT + "\nright = checkpoint_counts\ndef checkpoint_counts(n, s):\n    if not 1 <= s <= n: os._exit(1)\n    return right(n, s)\n", 5),
}  # fmt: skip
