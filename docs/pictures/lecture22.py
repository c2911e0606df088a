"""Draws a sound, its frames, the spectrum of one, and mel filters: lecture 22."""

from __future__ import annotations

import cmath
import math

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


SAMPLES, FRAME, HOP, FRAMES, FILTERS = 64, 32, 16, 3, 6
# In pixels: a sample, half of the wave's height, a row of frames, and a cell of the matrix.
STEP, LOUD, ROW, CELL = 11, 46, 26, 26
BINS = FRAME // 2 + 1


def sound() -> list[float]:
    """Return four turns of a cosine in 32 samples, fading in, and a quieter tone above it."""
    return [
        (0.3 + 0.7 * n / SAMPLES)
        * (math.cos(2 * math.pi * 4 * n / FRAME) + 0.4 * math.cos(2 * math.pi * 11 * n / FRAME))
        / 1.4
        for n in range(SAMPLES)
    ]


def spectrum(frame: list[float]) -> list[float]:
    """Return the magnitudes of a frame's Fourier transform under a Hann window, one-sided."""
    windowed = [
        value * (0.5 - 0.5 * math.cos(2 * math.pi * n / FRAME)) for n, value in enumerate(frame)
    ]
    return [
        abs(sum(x * cmath.exp(-2j * math.pi * k * n / FRAME) for n, x in enumerate(windowed)))
        for k in range(BINS)
    ]


def filters() -> list[list[float]]:
    """Return triangles at equal distances on the mel scale, for a rate of 16 kHz."""
    top = 2595 * math.log10(1 + 8000 / 700)
    points = [700 * (10 ** (top * n / (FILTERS + 1) / 2595) - 1) for n in range(FILTERS + 2)]
    rows = []
    for low, middle, high in zip(points, points[1:], points[2:], strict=False):
        hertz = [8000 * k / (BINS - 1) for k in range(BINS)]
        rows.append(
            [max(0.0, min((f - low) / (middle - low), (high - f) / (high - middle))) for f in hertz]
        )
    return rows


def waveform(top: float) -> list[str]:
    """Draw each sample as a bar from the middle, and below them where the frames lie."""
    shapes = [text(EDGE, top, f"{SAMPLES} samples, one storage", "b")]
    middle = top + 16 + LOUD
    for n, value in enumerate(sound()):
        y, high = min(middle, middle - LOUD * value), abs(LOUD * value)
        size = f'width="{STEP - 3}" height="{high:.1f}"'
        shapes.append(f'<rect x="{EDGE + STEP * n}" y="{y:.1f}" {size} class="blue"/>')
    for frame in range(FRAMES):
        y = middle + LOUD + 12 + ROW * frame
        x = EDGE + STEP * HOP * frame
        colour = "gold" if frame == 1 else ""
        size = f'width="{STEP * FRAME - 3}" height="{ROW - 6}"'
        shapes.append(f'<rect x="{x}" y="{y:.1f}" {size} class="{colour}"/>')
        says = f"frame {frame}: {FRAME} samples from offset {HOP * frame}"
        shapes.append(text(x + 10, y + 15, says))
    return shapes


def column(top: float) -> list[str]:
    """Draw the spectrum of the frame in the middle."""
    magnitudes = spectrum(sound()[HOP : HOP + FRAME])
    shapes = [text(EDGE, top, "|rfft| of frame 1 under a window: one column of the STFT", "b")]
    floor = top + 100
    for k, value in enumerate(magnitudes):
        high = 80 * value / max(magnitudes)
        size = f'width="{CELL - 4}" height="{high:.1f}"'
        shapes.append(f'<rect x="{EDGE + CELL * k}" y="{floor - high:.1f}" {size} class="gold"/>')
        shapes.append(text(EDGE + CELL * k + CELL / 2 - 2, floor + 18, str(k), "m c"))
    return shapes


def matrix(top: float) -> list[str]:
    """Draw the mel filters as the rows of a matrix over the same bins."""
    shapes = [text(EDGE, top, f"{FILTERS} mel filters: a matrix, most of it zeros", "b")]
    for row, weights in enumerate(filters()):
        for k, weight in enumerate(weights):
            x, y = EDGE + CELL * k, top + 16 + CELL * row
            colour = "blue" if round(weight, 9) else ""
            size = f'width="{CELL - 4}" height="{CELL - 4}"'
            shapes.append(f'<rect x="{x}" y="{y}" {size} class="{colour}"/>')
    return shapes


def svg() -> str:
    """Draw from top to bottom what becomes of a sound."""
    shapes = [*waveform(36), *column(272), *matrix(424)]
    return document(
        STEP * SAMPLES + 2 * EDGE,
        424 + 16 + CELL * FILTERS + EDGE - 8,
        title="From samples to mel filters",
        description=(
            f"{SAMPLES} samples of two tones; three frames of {FRAME} samples that overlap by half"
            " and share the samples' storage; the magnitudes of the second frame's Fourier"
            f" transform, with peaks at bins 4 and 11; and {FILTERS} mel filters over its {BINS}"
            " bins, narrow below and wide above, most of whose weights are zero."
        ),
        shapes=shapes,
    )
