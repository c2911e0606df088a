"""Tests of k14_philox: compared with PyTorch's own engine, compiled from its header."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture11 import k14_philox as kata
from katas.lecture11.k14_philox import BUMPS
from katas.lecture11.k14_philox import WORD
from katas.lecture11.k14_philox import A
from katas.lecture11.k14_philox import B
from katas.lecture11.k14_philox import draw
from katas.lecture11.k14_philox import multiply
from katas.lecture11.k14_philox import philox
from plugins.kit import build_source
from plugins.kit import forbids
from plugins.kit import load_library
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable

    Engine = Callable[[int, int, int, int], list[int]]


pytestmark = pytest.mark.backend("cxx")

HEADER = "torch/include/ATen/core/PhiloxRNGEngine.h"
ENGINE = """// tier: stable
#include <ATen/core/PhiloxRNGEngine.h>

extern "C" void kata_engine(uint64_t seed, uint64_t thread, uint64_t block, int n, uint32_t* out) {
  at::Philox4_32 engine(seed, thread, block);
  for (int i = 0; i < n; ++i) out[i] = engine();
}
"""
words = st.integers(0, WORD)
seeds = st.integers(0, 2**64 - 1)
places = st.one_of(st.integers(0, 9), st.integers(2**32 - 9, 2**36), st.integers(0, 2**63 - 1))


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Return PyTorch's engine, built when it is first used."""
    found: list[ctypes.CDLL] = []

    def ask(seed: int, thread: int, block: int, count: int) -> list[int]:
        if not found:
            source = tmp_path_factory.mktemp("engine") / "engine.cpp"
            source.write_text(ENGINE, encoding="utf-8")
            library = build_source(request.config, "lecture11_k14", source)
            problem = load_library(library)
            assert problem is None, problem
            found.append(ctypes.CDLL(str(library)))
        out = (ctypes.c_uint32 * count)()
        found[0].kata_engine(*map(ctypes.c_uint64, (seed, thread, block)), count, out)
        return list(out)

    return ask


def engine_at(engine: Engine, seed: int, thread: int, position: int) -> int:
    """Return one word of PyTorch's engine."""
    return engine(seed, thread, position // 4, 4)[position % 4]


def text(numbers: list[int]) -> str:
    """Return words in hexadecimal, as in papers."""
    return " ".join(f"{number:08x}" if number >= 0 else str(number) for number in numbers)


def compare(yours: torch.Tensor, right: list[int], what: str, why: str) -> None:
    """Compare words, bit for bit."""
    __tracebackhide__ = True
    assert yours.dtype is torch.int64, f"{what}: yours is {yours.dtype}, expected torch.int64"
    found = yours.flatten().tolist()
    assert found == right, (
        f"{what}\nyours      {text(found)}\nPyTorch's  {text(right)}\n{why}; see {HEADER}"
    )


@given(st.lists(words, max_size=5), st.sampled_from([A, B, WORD, 1]))
@example([0, 1, WORD, 2**31], A)
def test_both_halves_of_a_product(numbers: list[int], a: int) -> None:
    """The product has 64 bits and no sign."""
    b = torch.tensor(numbers, dtype=torch.int64)
    with unchanged(b=b):
        high, low = multiply(a, b)
    for name, yours, right in (
        ("high", high, [a * n >> 32 for n in numbers]),
        ("low", low, [a * n & WORD for n in numbers]),
    ):
        assert yours.tolist() == right, (
            f"the {name} word of {a:#x} times {text(numbers)}: yours {text(yours.tolist())},"
            f" expected {text(right)}; shifting a negative number right copies its sign bit"
        )


def test_the_counter_0(engine: Engine) -> None:
    """For counter 0 and seed 0, only the growing key is mixed in."""
    yours = philox(torch.zeros(4, dtype=torch.int64), 0)
    why = "nine rounds, eleven, or a key that grows too early give other words"
    compare(yours, engine(0, 0, 0, 4), "counter 0 0 0 0, seed 0", why)


@given(counter=st.tuples(words, words, words, words), seed=seeds)
@example(counter=(1, 2, 3, 4), seed=5 + 2**32 * 6)
@example(counter=(WORD, WORD, WORD, WORD), seed=2**64 - 1)
def test_any_counter(engine: Engine, counter: tuple[int, int, int, int], seed: int) -> None:
    """Each word of the counter and of the key is used where it belongs."""
    given = torch.tensor(counter, dtype=torch.int64)
    with unchanged(counter=given):
        yours = philox(given, seed)
    c0, c1, c2, c3 = counter
    what = f"counter {text(list(counter))}, key {text([seed & WORD, seed >> 32])}"
    why = "which product goes where, and what is it mixed with? A key wraps at 2**32"
    compare(yours, engine(seed, c2 + c3 * 2**32, c0 + c1 * 2**32, 4), what, why)


@given(shape=st.lists(st.integers(0, 3), max_size=3), seed=seeds)
def test_counters_do_not_meet(shape: list[int], seed: int) -> None:
    """Each counter gives the same words as by itself, whatever the shape of the tensor."""
    generator = torch.Generator().manual_seed(seed % 1000)
    counters = torch.randint(0, WORD, (*shape, 4), generator=generator)
    yours = philox(counters, seed)
    assert yours.shape == counters.shape, (
        f"counters of shape {tuple(counters.shape)}: your shape is {tuple(yours.shape)}, expected"
        " the same"
    )
    for together, counter in zip(yours.view(-1, 4), counters.view(-1, 4), strict=True):
        alone = philox(counter, seed)
        assert together.equal(alone), (
            f"counter {text(counter.tolist())}: yours {text(together.tolist())} among others,"
            f" expected {text(alone.tolist())}, as by itself; which other words were mixed in?"
        )


def test_what_one_thread_draws(engine: Engine) -> None:
    """Ten positions take the words of two counters, and two of a third."""
    yours = draw(7, torch.tensor(3), torch.arange(10))
    why = "four positions share a counter, and each has one of its four words"
    compare(yours, engine(7, 3, 0, 10), "seed 7, thread 3, positions 0 to 9", why)


@given(seed=seeds, thread=places, position=places)
@example(seed=1, thread=2**32, position=2**34)
@example(seed=1, thread=2**63 - 1, position=2**63 - 1)
def test_any_thread_at_any_position(engine: Engine, seed: int, thread: int, position: int) -> None:
    """Distant positions work like near ones."""
    yours = draw(seed, torch.tensor(thread), torch.tensor(position))
    assert yours.shape == (), f"one position: your shape is {tuple(yours.shape)}, expected ()"
    what = f"seed {seed}, thread {thread}, position {position}"
    why = "thread and position // 4 have two words each, the low one first"
    compare(yours, [engine_at(engine, seed, thread, position)], what, why)


@pytest.mark.parametrize("turned", [False, True])
def test_threads_and_positions_broadcast(engine: Engine, turned: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    """Combine a column of threads with a row of positions, or the other way round."""
    threads, positions = torch.tensor([[5], [2**40], [0]]), torch.tensor([9, 2**40, 0, 2])
    if turned:
        threads, positions = threads.flatten(), positions[:, None]
    with unchanged(threads=threads, positions=positions):
        yours = draw(11, threads, positions)
    both = torch.broadcast_tensors(threads, positions)
    assert yours.shape == both[0].shape, (
        f"threads {tuple(threads.shape)} and positions {tuple(positions.shape)}: your shape is"
        f" {tuple(yours.shape)}, expected {tuple(both[0].shape)}"
    )
    pairs = zip(*(each.flatten().tolist() for each in both), strict=True)
    right = [engine_at(engine, 11, *pair) for pair in pairs]
    compare(
        yours, right, f"threads {threads.tolist()}, positions {positions.tolist()}", "a pair each"
    )


def test_nobody_waits_for_another() -> None:
    """Drawn in reverse, in parts or again, the words are the same, and no generator advances."""
    threads = torch.arange(40)
    position = torch.tensor(6)
    with unchanged(threads=threads, position=position):
        yours = draw(3, threads, position)
        backwards = draw(3, threads.flip(0), position).flip(0)
        parts = torch.cat([draw(3, part, position) for part in threads.split(7)])
        again = draw(3, threads, position)
    for name, other in (("backwards", backwards), ("in parts", parts), ("again", again)):
        assert yours.equal(other), (
            f"40 threads {name}: yours differs from the first call: it kept some state, but must"
            " depend only on seed, thread and position"
        )
    assert yours.unique().numel() == len(threads), (
        "two of 40 threads got the same word, expected different words"
    )


def test_as_many_operators_for_many_threads() -> None:
    """There may be a loop over rounds, but not over threads."""
    position = torch.tensor(2)
    counts = []
    for n in (2, 60):
        threads = torch.arange(n)
        with watched_operators() as names, forbids(kata, "torch.vmap", "torch.func") as fresh:
            fresh.draw(1, threads, position)
        counts.append(len(names))
    assert counts[0] == counts[1], (
        f"your code runs {counts[0]} operators for 2 threads, {counts[1]} for 60; expected the same"
        " number: all counters go through a round together"
    )
    mixed = sum("xor" in name for name in names)
    assert mixed >= 20, (
        f"your code runs {mixed} xors of tensors, expected at least 20, two in each round: do"
        " the words go through Python, one by one?"
    )


@pytest.mark.given
def test_the_constants_are_pytorchs(engine: Engine) -> None:
    """Compute one counter with Python ints and the constants above."""
    c, k = [1, 2, 3, 4], [5, 6]
    for _ in range(10):
        a, b = A * c[0], B * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & WORD, a >> 32 ^ c[3] ^ k[1], a & WORD]
        k = [number + bump & WORD for number, bump in zip(k, BUMPS, strict=True)]
    right = engine(5 + 6 * 2**32, 3 + 4 * 2**32, 1 + 2 * 2**32, 4)
    assert c == right, f"the picture gives {text(c)}, PyTorch's engine {text(right)}"


def test_words_as_text() -> None:
    """The words of the paper's own test: a counter of zeros, one of ones, and digits of pi."""
    ones = [WORD] * 4
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    seeds = (0, 2**64 - 1, 0x299F31D0A4093822)
    lines = [
        " ".join(f"{word:08x}" for word in philox(torch.tensor(counter), seed).tolist())
        for counter, seed in zip(([0] * 4, ones, pi), seeds, strict=True)
    ]

    assert_expected_inline(
        "\n".join(lines),
        """\
6627e8d5 e169c58d bc57ac4c 9b00dbd8
408f276d 41c83b0e a20bc7c6 6d5451fd
d16cfe09 94fdcceb 5001e420 24126ea1""",
    )
