"""Predict what the conventions of ``torch.fft`` do to numbers.

A wrong factor of n, or a missing bin, raises no error: the loudness is wrong, or a sample is lost.

    row        what is asked, in order
    ones       fft(ones(4), norm=...)[0], for "backward", "ortho" and "forward"
    seven      how many bins rfft makes of 7 samples, how many samples irfft makes of those
    complex    the 4 samples of irfft(tensor([4 + 9j, 0, 0]))
    even       the 3 weights w that make (w * rfft(x).abs() ** 2).sum() / 4 equal to
               x.square().sum(), for each x of 4 samples
    odd        the same for 5 samples, with / 5
    middle     fftfreq(8)[4], rfftfreq(8)[4]

Fill in `answers` on paper; your rows cannot call torch.

Begin with ``ones``, by adding up. Afterwards read ``torch/fft/__init__.py``, in site-packages, and
find how ``irfft`` is told that there were 7 samples.
"""

from __future__ import annotations


def answers() -> dict[str, tuple[float, ...]]:
    """Return the numbers of each row."""
    # TODO: return {"ones": (..., ..., ...), ...}
    raise NotImplementedError("answers")
