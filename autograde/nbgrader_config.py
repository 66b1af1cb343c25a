"""The nbgrader course: one assignment an exercise. Run nbgrader's commands from this folder."""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821 - traitlets puts it here

c.CourseDirectory.course_id = "backprop_course"

# nbgrader calls `alembic` by name: find the one beside this Python, activated or not.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# What students hand in is repaired when it is read. It runs in a sandbox; the judge runs the checks.
c.Autograde.exporter_class = "backprop_course.grading.batch.Submissions"
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.CheckCellMetadata"]
c.Autograde.autograde_preprocessors = [
    "backprop_course.grading.batch.Judge",
    "backprop_course.grading.batch.SaveScores",
    "nbgrader.preprocessors.AssignLatePenalties",
]

# A cell or a behaviour may take this long, a whole submission that long.
c.Judge.cell_seconds = 10
c.Judge.submission_seconds = 60
