"""The pytest plugins behind the katas, in wings; the root conftest.py lists what pytest loads.

A wing imports only from wings on floors below its own, as the contracts in pyproject.toml say,
which ``tox -e lint`` checks. From the top:

=============  ============================================================================
`loop`         what the learner types: --next, --watch, --hint, --solution
`cuda`         CUDA and Triton, simulated on the CPU or compiled for a GPU
`ranks`        the fixture ``world``: several processes, one verdict
`progress`     where the learner stands: stored, and shown as map, page and JSON
`fork`         commands about git: reset, update, practice, guard of pull requests
`feed`         ``python -m plugins.feed``: episodes.toml from a podcast's feed
`native`       from a C++ source to a library that a test can call
`crash`        a crash or a hang is one failed test
`guide`        what a failing kata points to: the line, the source to read, the episode
`machine`      what this machine can run
`checks`       what tests of katas check with: what a call leaves behind, what is forbidden
`course`       what the course is: lectures, katas, whose answers run
`tools`        small things that know nothing of the course
=============  ============================================================================

`plugins.kit` is the door for the tests of katas. pytest's hooks are the verbs (when something
happens); the course's own, described in `plugins.course.hooks`, are the nouns (which devices,
backends, lectures and episodes exist). No plugin imports torch when it is imported.
"""

from __future__ import annotations

from pathlib import Path


# This package: its code is never the learner's. A module asks for it here and not for its own
# folder, which changes when the module moves.
HERE = Path(__file__).parent
# The checkout that this package runs from.
ROOT = HERE.parent
