"""Six apps on your machine: predict their states, and how many processes start.

TorchX runs each app with ``-s local_cwd``. The app's state is read after a second, and again at the
end:

    app         role: replicas      what a replica does                   max_retries
    good        a: 1                exits with 0 at once                  3
    again       a: 1                exits with 1 at once                  3
    pair        a: 1                exits with 1 at once                  3
                b: 1                exits with 0 after 4 s                0
    error       a: 1                writes error.json, exits with 0       0
    signal      a: 2                number 1 is killed (SIGKILL) at once,
                                    number 0 exits with 0 after 4 s       2
    cancelled   a: 2                exit with 0 after 4 s                 0
                                    (cancelled after 0.5 s)

Predict on paper, then fill in `outcomes`. Begin with the docstring of ``LocalScheduler`` in
``torchx/schedulers/local_scheduler.py``: what does it ignore?
Afterwards read its ``describe``, and ``_invoke_run`` in
``torch/distributed/elastic/agent/server/api.py``: torchrun stops the other workers, and tries
again.
"""

from __future__ import annotations


STATES = ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")


def outcomes() -> dict[str, tuple[str, str, int]]:
    """Return each app's state after a second and at the end, and how many processes start."""
    # TODO: return {"good": ("...", "...", ...), ...}
    raise NotImplementedError("outcomes")
