"""Lecture 24: language II: decoding, FlexAttention, fine-tuning."""

from __future__ import annotations

from katas import overlay


__path__ = overlay(__path__)
