"""Lecture 04: C++ autograd internals and operator dispatch mechanisms."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
