"""Lecture 16: ONNX, from the bytes of a file to a server that answers."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
