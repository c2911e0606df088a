"""The tour of ``nox -s matrix``: each lecture, solved and unsolved, with each version of torch."""

from __future__ import annotations
