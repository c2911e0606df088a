"""The pytest plugins of the course, one concern each; see plugins/__init__.py.

A plugin stands after those that it imports, so that pytest can rewrite the asserts of all.
"""

from __future__ import annotations


pytest_plugins = (
    "plugins.course",
    "plugins.crashguard",
    "plugins.solutions",
    "plugins.snapshots",
    "plugins.randomness",
    "plugins.hints",
    "plugins.episodes",
    "plugins.failures",
    "plugins.absent",
    "plugins.torchversion",
    "plugins.stamps",
    "plugins.progress",
    "plugins.devices",
    "plugins.cpu",
    "plugins.cuda",
    "plugins.mps",
    "plugins.backends",
    "plugins.compilers",
    "plugins.collectives",
    "plugins.jobs",
    "plugins.world",
    "plugins.runtimes",
    "plugins.simt",
    "plugins.triton",
    "plugins.interpreted",
    "plugins.ahead",
    "plugins.nvcc",
    "plugins.native",
    "plugins.ptx",
    "plugins.gpu",
    "plugins.unbuilt",
    "plugins.nextkata",
    "plugins.reference",
    "plugins.progressjson",
    "plugins.coursepage",
    "plugins.watch",
)
