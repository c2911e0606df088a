"""What the course is: lectures, katas, whose answers run, seeds, limits, and a test's kata.

Begin with `model`, the dataclasses, then `session`, which reads them once for pytest. `hooks`
documents the hooks by which a package adds to the course.
"""

from __future__ import annotations
