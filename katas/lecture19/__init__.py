"""Lecture 19: multimodal models: text, images and sound in one network."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
