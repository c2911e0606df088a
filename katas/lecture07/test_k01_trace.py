"""Tests of k01_trace: the events of the profile you return are added up."""

from __future__ import annotations

from collections import Counter
from threading import get_ident

import pytest
import torch
from torch.profiler import profile
from torch.profiler import record_function

from katas.lecture07.k01_trace import hottest
from plugins.kit import unchanged


def nested() -> None:
    """Let one operator work inside three ranges, each of which lasts longer than the operator."""
    with record_function("training"), record_function("step"), record_function("solve"):
        torch.linalg.svd(torch.ones(120, 120))


def many_small() -> None:
    """Run many operators; the most frequent ones take almost no time."""
    x = torch.ones(150, 150)
    for _ in range(50):
        x.view(-1)
    torch.linalg.svd(x)


def one() -> None:
    """Run a single operator many times."""
    x = torch.ones(2)
    for _ in range(30):
        x.add_(1)


def often() -> None:
    """Run one operator hundreds of times on tensors of several sizes, and a slower one once."""
    tensors = [torch.ones(4000 + i) for i in range(10)]
    for _ in range(40):
        for x in tensors:
            x.sin()
    torch.ones(40_000).cumsum(0)


def python() -> None:
    """Let Python work inside a range, and an operator only for a moment."""
    with record_function("tokenize"):
        sum(i * i for i in range(300_000))
    torch.ones(3).exp()


PROGRAMS = {"nested": nested, "many_small": many_small, "one": one, "often": often}
PROGRAMS["python"] = python
# An operator that runs in each, which shows what was profiled.
RUNS = {
    "nested": "aten::linalg_svd",
    "many_small": "aten::view",
    "one": "aten::add_",
    "often": "aten::sin",
    "python": "tokenize",
}


def own_times(prof: profile) -> Counter[str]:
    """Add up the self times of single events, from which key_averages() is computed."""
    times: Counter[str] = Counter()
    for event in prof.events():
        times[event.name] += event.self_cpu_time_total
    return times


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_hottest_row(name: str) -> None:
    """The row is chosen by self time, which is small for a range that only waits for others."""
    with unchanged():
        yours, count, prof = hottest(PROGRAMS[name])
    times = own_times(prof)
    calls = Counter(event.name for event in prof.events())
    assert isinstance(prof, profile), f"your function returned a {type(prof)}, expected {profile}"
    assert calls[RUNS[name]], (
        f"{name} runs {RUNS[name]}, but your profile only contains {', '.join(calls)}"
    )
    (best, _), *_ = times.most_common()

    assert yours in times, f"yours {yours!r} is not a row of the profile: {', '.join(times)}"
    assert times[yours] == pytest.approx(times[best], rel=1e-6), (
        f"{name}: yours {yours!r} has {times[yours]:.0f} us of self time, but another row has"
        f" {times[best]:.0f}: sort by the time without the children"
    )
    assert calls[yours] == count, (
        f"calls of {yours}: yours {count}, but the profile has {calls[yours]} events"
    )


def test_the_work_is_done_once() -> None:
    """A second run would double each count, and would train a model twice."""
    calls: list[int] = []
    _, _, prof = hottest(lambda: (calls.append(1), torch.ones(3).sum()))

    assert [1] == calls, f"`work` was called {len(calls)} times, expected once"
    found = sum(event.name == "aten::sum" for event in prof.events())
    assert found == 1, f"aten::sum in your profile: {found}, expected 1"


def test_the_work_is_done_as_it_is() -> None:
    """`work` runs in this thread, in the caller's autograd mode; its errors reach the caller."""
    found: list[object] = []
    x = torch.ones(1, requires_grad=True)
    hottest(lambda: found.extend([(x + 1).requires_grad, get_ident()]))
    expected = [True, get_ident()]

    assert expected == found, (
        f"autograd mode and thread inside `work`: yours {found}, expected {expected}"
    )

    def broken() -> None:
        raise OSError("no file")

    with unchanged(), pytest.raises(OSError, match="no file"):
        hottest(broken)
    is_on = torch.autograd._profiler_enabled()  # noqa: SLF001 - nobody else says so
    if is_on:
        torch.autograd._disable_profiler()  # noqa: SLF001 - or Python crashes when it ends

    assert not is_on, (
        "`work` raised an error, and your profiler is still running: stop it in a `finally`, or"
        " use `with`"
    )
