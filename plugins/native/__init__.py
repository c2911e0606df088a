"""From a C++ source to a library that a test can call.

Begin with `plugin`, the fixture ``extension``; then follow a build: `sources` (what to compile),
`recipe` (the commands), `builder` (runs them unless the library is there), `loader` (loads it).
"""

from __future__ import annotations
