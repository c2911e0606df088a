"""A pipeline: a model cut into stages, micro-batches, and two schedules.

A model too large for one device is cut into stages, one on each rank. Rank 0 runs the first
stage and sends its output, the *activation*, to rank 1; and so on. In backward each rank gets the
gradient of what it has sent, and sends the gradient of what it was given. With one batch all ranks
but one would be idle at any time. So the batch is cut into *micro-batches*, and while one of them
is in the second stage the next one is in the first. The gradients add up to those of the batch.

An action of a stage is a pair: ``("F", i)``, forward of micro-batch i, or ``("B", i)``, its
backward. A schedule is a function that returns the actions of one stage of several, for so many
micro-batches, in the order in which the stage does them. Stages and micro-batches count from 0.

**1.** ``gpipe(stage, stages, count)``: all forwards, 0 first, then all backwards, again 0 first.

**2.** ``one_f_one_b(stage, stages, count)``: a stage runs forwards until the first gradient can be
on its way back to it, one for each stage behind it (or all there are, if these are fewer). From
then on it runs one forward and one backward in turn, and when no forward is left, the remaining
backwards. Forwards and backwards go in the order of their numbers.

**3.** ``peak(actions)``: what forward of a micro-batch has saved is stored until its backward. How
many micro-batches does a stage that does these actions store at most?

**4.** ``bubble(orders, forward, backward)``: the share of their time in which the stages are idle,
as a ``Fraction``. ``orders[s]`` are the actions of stage s, whatever made them. A forward takes
`forward` units of time and a backward `backward`, both integers; sending takes none. A stage does
one action after the other, each as soon as it has what it needs: ``("F", i)`` needs that of the
stage before, ``("B", i)`` that of the stage behind, and all stages are looked at from time 0 until
the last action ends: 2 stages in 10 units of time, busy for 15 units together, give 1/4. If the
stages wait for each other for ever, raise a ``ValueError`` that says "deadlock".

**5.** ``run_stage(part, actions, shape, inputs, loss)`` does the actions, in their order, on the
rank that calls it; all ranks call it at once, each as the stage of its number.

- `part` is this stage's module: one float32 tensor in, one out. An activation that this rank is
  given has the shape `shape` (rank 0 is given none).
- ``inputs[i]`` is micro-batch i, for rank 0. ``loss(output, i)`` is the mean loss over micro-batch
  i, a tensor without dimensions, for the last rank. No other rank touches them. All micro-batches
  have the same size, and the loss of the batch is the mean of theirs.
- Afterwards the ``.grad`` of each parameter has grown by its gradient of the loss of the batch, as
  ``backward()`` does it. Return the loss of the batch, a float, on the last rank, else None.
- Each activation and each gradient is one message, to the neighbour, point to point; there are no
  other messages. Nobody needs the gradient of ``inputs``.
- No deadlock, if the actions as such have none. ``dist.send`` returns when the other side receives.
  Draw two stages of 1F1B, each with a message for the other one.
- Stages may take the micro-batches in other orders: a message is told by its ``tag``, a number, and
  a receive takes the next one with its own. (Real life differs: NCCL has no tags, so
  ``torch.distributed.pipelining`` relies on the order of messages.)
- What backward of a micro-batch needs is let go with it: a stage never holds the graphs of more
  than ``peak(actions)`` micro-batches.
- Every send is waited for before the function returns, since the memory is the send's until then.
  Only contiguous tensors can be sent, and an output may be a transpose.

The last stage calls backward on a scalar, any other one on an output, with a gradient. To learn the
gradient of what it was given, it must have asked for it before forward. About 60 lines. Do not use
``torch.distributed.pipelining``. Out of scope: stages without parameters, activations of other
dtypes, several stages on one rank (lecture 14).

Sources: Huang et al., "GPipe: efficient training of giant neural networks using pipeline
parallelism" (2019); Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN
training" (2019), and "Efficient large-scale language model training on GPU clusters using
Megatron-LM" (2021), whose 1F1B with one flush per batch this is.

In PyTorch: ``torch/distributed/pipelining/schedules.py`` (``ScheduleGPipe``, ``Schedule1F1B``) and
``torch/distributed/pipelining/stage.py`` (``PipelineStage``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence
    from fractions import Fraction

    from torch import Tensor
    from torch import nn

    Action = tuple[str, int]


def gpipe(stage: int, stages: int, count: int) -> list[Action]:
    """Return what a stage does, in order: all forwards, then all backwards."""
    # TODO: one line.
    raise NotImplementedError("gpipe")


def one_f_one_b(stage: int, stages: int, count: int) -> list[Action]:
    """Return what a stage does, in order: forwards as a lead, then one of each in turn."""
    # TODO: how long is the lead?
    raise NotImplementedError("one_f_one_b")


def peak(actions: Sequence[Action]) -> int:
    """Return how many micro-batches a stage has stored at most."""
    # TODO: count up and down.
    raise NotImplementedError("peak")


def bubble(orders: Sequence[Sequence[Action]], forward: int, backward: int) -> Fraction:
    """Return the share of the stages' time in which they do nothing."""
    # TODO: do the actions on paper: when is each one's input there, when is its stage free?
    raise NotImplementedError("bubble")


def run_stage(
    part: nn.Module,
    actions: Sequence[Action],
    shape: tuple[int, ...],
    inputs: Sequence[Tensor],
    loss: Callable[[Tensor, int], Tensor],
) -> float | None:
    """Run this rank's stage of the pipeline; return the loss of the batch on the last rank."""
    # TODO: receive, compute, send; forward and backward.
    raise NotImplementedError("run_stage")
