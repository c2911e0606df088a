"""Lecture 22: audio: frames, phases, sequences."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
