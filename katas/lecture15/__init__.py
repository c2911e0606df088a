"""Lecture 15: the edge, from an exported graph to a file that runs without Python."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
