"""Tests of k10_package: first a fast stand-in, then a package built by this PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import katas
from katas.lecture08.conftest import Network
from katas.lecture08.conftest import export_network
from katas.lecture08.k10_package import contract
from katas.lecture08.k10_package import describe
from katas.lecture08.k10_package import serve
from plugins.kit import unchanged


# A build takes half a minute on an idle machine.
built = pytest.mark.time_limit(600)
inductor = pytest.mark.backend("inductor")


class Mixed(nn.Module):
    """Has a parameter, a buffer and a constant besides its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 2**0.5))
        self.scale: torch.Tensor
        self.register_buffer("scale", torch.tensor(3**0.5))
        self.offset = torch.tensor([-torch.inf, 0.0, 5**0.5])

    def forward(self, x: torch.Tensor, pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Combine all of them."""
        first, second = pair
        return first * (x * self.weight + self.offset) * self.scale + second


INPUTS = (
    torch.zeros(2, 3, dtype=torch.float64),
    (torch.zeros(3, 2).t(), torch.zeros((), dtype=torch.int64)),
)
ROW = torch.tensor([2**0.5, 0.0, -(3**0.5), 5**0.5])
# How an input may differ from the float32 of shape (2, 4) that the network takes. Of the five rows
# two are opposites, so that each column of the linear layer has a negative number beyond row 1.
MISFITS = {
    "five rows": 100 * torch.stack([ROW, ROW, ROW, -ROW, ROW]),
    "one row": ROW[None],
    "float64": torch.stack([ROW, -ROW]).double(),
    "transposed": torch.stack([ROW, -ROW], 1).t(),
    "every other column": torch.stack([ROW, -ROW]).repeat(1, 2)[:, ::2],
    "a vector": torch.cat([ROW, -ROW]),
}
FITS = {
    "a new tensor": torch.stack([ROW, -ROW]),
    "the last rows of three": torch.stack([ROW, -ROW, ROW])[1:],
    "not finite": torch.tensor([[torch.nan, torch.inf, -torch.inf, 0.0]]).repeat(2, 1),
}


class Standin:
    """A package that computes nothing, and records its calls."""

    def __init__(self, *examples: torch.Tensor) -> None:
        entries = {f"input {place}": describe(x) for place, x in enumerate(examples)}
        self.metadata = {"AOTI_DEVICE_KEY": "cpu"} | entries
        self.asked = 0
        self.ran: list[tuple[torch.Tensor, ...]] = []

    def __call__(self, *inputs: torch.Tensor) -> object:
        """Record the call; like a package of two inputs, reject any other number."""
        if len(inputs) != len(self.metadata) - 1:
            raise RuntimeError(f"expected inputs vector size, got {len(inputs)}")
        self.ran.append(inputs)
        return len(self.ran)

    def get_metadata(self) -> dict[str, str]:
        """Record that the metadata are read."""
        self.asked += 1
        return dict(self.metadata)


def refused(run: Any, *inputs: torch.Tensor) -> str:
    """Return the ValueError's message if inputs are refused, or ""."""
    try:
        run(*inputs)
    except ValueError as error:
        return str(error)
    return ""


def test_the_contract_of_one_input() -> None:
    """The lecture's network takes float32 of shape (2, 4); its weights are not inputs."""
    yours = contract(export_network())
    expected = {"input 0": describe(torch.zeros(2, 4))}
    assert yours == expected, f"yours {yours}, expected {expected}; see graph_signature.user_inputs"


def test_the_contract_of_a_model_with_everything() -> None:
    """Parameters, buffers and constants are placeholders too; a tuple is two inputs."""
    yours = contract(torch.export.export(Mixed(), INPUTS))
    x, (first, second) = INPUTS
    expected = {f"input {n}": describe(each) for n, each in enumerate((x, first, second))}
    assert yours == expected, f"yours\n{yours}\nexpected, in the caller's order\n{expected}"


def test_what_fits_is_run() -> None:
    """The package gets the tensors themselves, and its result is returned."""
    runner = Standin(torch.zeros(2, 4), torch.zeros(3))
    run = serve(runner)
    x, y = FITS["not finite"].clone(), torch.ones(3)
    with unchanged(x=x, y=y):
        results = [run(x, y), run(x, y)]
    assert results == [1, 2], f"results: yours {results}, expected the runner's [1, 2]"
    same = all(a is x and b is y for a, b in runner.ran)
    assert same, (
        "the package got copies, expected the tensors themselves: a copy costs time and memory"
    )


@pytest.mark.parametrize("kind", MISFITS)
def test_what_does_not_fit_is_refused(kind: str) -> None:
    """If the first or second input does not fit, it is refused, and the package does not run."""
    x, misfit = torch.zeros(2, 4), MISFITS[kind]
    runner = Standin(x, x)
    run = serve(runner)
    for inputs, key in (((misfit, x), "input 0"), ((x, misfit), "input 1")):
        message = refused(run, *inputs)
        expected = f"{key}: the package was made for {describe(x)}, and this is {describe(misfit)}"
        assert message == expected, (
            f"{kind}: yours {message or 'does not refuse it'}\nexpected {expected}"
        )
    assert not runner.ran, f"{kind}: your function ran the package all the same"


def test_the_first_misfit_is_named() -> None:
    """If neither input fits, the message is about input 0."""
    message = refused(serve(Standin(torch.zeros(2), torch.zeros(2))), *[torch.zeros(3)] * 2)
    assert message.startswith("input 0:"), f"yours {message!r}, expected a message about input 0"


def test_inputs_are_counted_by_the_package() -> None:
    """The caller gets the package's own error about the number of inputs."""
    run = serve(Standin(torch.zeros(2), torch.zeros(2)))
    for number in (1, 3):
        with pytest.raises(RuntimeError, match="expected inputs vector size"):
            pytest.fail(
                f"{number} of two inputs: yours is {run(*[torch.zeros(2)] * number)}, expected"
                " the package's own RuntimeError, 'expected inputs vector size': pass it all inputs"
            )


def test_metadata_are_read_once() -> None:
    """Only `serve` reads the metadata, once; each served package has its own."""
    first, second = Standin(torch.zeros(2)), Standin(torch.zeros(3))
    runs = serve(first), serve(second)
    asked = first.asked, second.asked
    assert asked == (1, 1), f"serve read the metadata {asked} times, expected once each"
    for run, length in zip(runs, (2, 3), strict=True):
        run(torch.zeros(length))
        run(torch.zeros(length))
        assert refused(run, torch.zeros(5 - length)), "your function mixes up two packages"
    asked = first.asked, second.asked
    assert asked == (1, 1), (
        f"after the calls, the metadata were read {asked} times, expected once each: each read"
        " takes time"
    )


@inductor
@built
def test_the_package_has_your_contract(request: pytest.FixtureRequest) -> None:
    """The lecture's package has the same entry, written without your code."""
    yours = contract(export_network())
    runner = load(request.getfixturevalue("aoti_package"))
    found = runner.get_metadata()
    theirs = {key: value for key, value in found.items() if key.startswith("input")}
    assert yours == theirs, f"yours {yours}, the package has {theirs}"


@inductor
@built
def test_the_package_is_served(request: pytest.FixtureRequest) -> None:
    """An input that fits gives the network's result; five rows are refused."""
    contract(export_network())
    runner = load(request.getfixturevalue("aoti_package"))
    run = serve(runner)
    network = Network().eval()
    for kind, x in FITS.items():
        torch.testing.assert_close(
            run(x),
            network(x).detach(),
            equal_nan=True,
            msg=f"{kind}: yours is not what the network returns",
        )
    five = MISFITS["five rows"]
    with suppress(RuntimeError):  # a PyTorch that rejects it by itself is welcome, too
        assert (runner(five) < 0).any(), "expected the bare package to miss the ReLU of five rows"
    assert refused(run, five), (
        "five rows: your function returned what the bare package returns, expected an error"
    )


@inductor
@built
def test_your_verdicts_are_pytorchs(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """With AOTI_RUNTIME_CHECK_INPUTS set, the package itself rejects the same inputs."""
    contract(export_network())
    file = request.getfixturevalue("aoti_package")
    every = FITS | MISFITS
    torch.save(every, tmp_path / "inputs.pt")
    program = """
import json, sys, torch, torch._inductor
runner = torch._inductor.aoti_load_package(sys.argv[1])
verdicts = {}
for kind, x in torch.load(sys.argv[2]).items():
    try:
        runner(x)
        verdicts[kind] = "runs"
    except RuntimeError:
        verdicts[kind] = "refused"
print(json.dumps(verdicts))
"""
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", program, file, tmp_path / "inputs.pt"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(katas.__file__).parents[1],
        env=os.environ | {"AOTI_RUNTIME_CHECK_INPUTS": "1"},
    )
    assert not done.returncode, f"the package cannot run: {done.stderr[-1000:]}"
    right = json.loads(done.stdout.splitlines()[-1])
    run = serve(load(file))
    yours = {kind: "refused" if refused(run, x) else "runs" for kind, x in every.items()}
    assert yours == right, f"verdicts\nyours     {yours}\nPyTorch's {right}"


def load(file: Path) -> Any:
    """Return the runner of a package."""
    import torch._inductor  # noqa: PLC0415 - takes a second

    return torch._inductor.aoti_load_package(str(file))  # noqa: SLF001 - the documented name
