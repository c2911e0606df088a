"""A framework in miniature: a tensor is a list of floats."""

from __future__ import annotations
