"""The nbgrader course: one assignment an exercise. Run nbgrader's commands from this folder."""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821 - traitlets puts it here

c.CourseDirectory.course_id = "backprop_course"

# nbgrader calls `alembic` by name: find the one beside this Python, activated or not.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# A cell that never ends is interrupted, fails, and the notebook goes on.
c.Execute.timeout = 20
c.Execute.interrupt_on_timeout = True
c.Execute.error_on_timeout = {
    "ename": "TimeoutError",
    "evalue": "this cell was stopped after 20 s",
    "traceback": ["This cell was stopped after 20 s: is there a loop that never ends?"],
}
