"""Lecture 03: autograd, the engine, in-place operations and gradient mechanics."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
