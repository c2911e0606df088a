"""Lecture 10: FX, rewriting and transforming graphs."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
