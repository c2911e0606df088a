"""Helpers that know nothing of the course: whole files, locks, TOML, git, text, processes.

Every other wing may import them, and they import none. Begin with `files`, which keeps a learner's
files whole, or with the module whose name says what you need.
"""

from __future__ import annotations
