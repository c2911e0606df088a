"""Lecture 28: open-source contribution."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
