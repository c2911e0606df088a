"""Lecture 90: a lecture of another package."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
