"""Lecture 19: multimodal models: sentences, images and sounds in one network."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
