"""Lecture 02: tensors, their memory format, strides and channels-last."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
