"""The pictures of lectures 03 and 04, which are drawn from what PyTorch says."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from plugins import ROOT


SVG = "{http://www.w3.org/2000/svg}"


def words(lecture: str) -> list[str]:
    """Return the lines of text of a lecture's picture."""
    picture = (ROOT / f"docs/{lecture}.svg").read_text(encoding="utf-8")
    return [text.text or "" for text in ET.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314 - ours


def test_the_graph_of_three_lines() -> None:
    """Each node stands there, what it saves, and that the shared one waits."""
    told = words("lecture03")
    nodes = [word for word in told if re.fullmatch(r"[A-Z]\w+", word)]

    assert 2 == nodes.count("AccumulateGrad")
    assert 6 == len(nodes)
    assert "4, waits for 2" in told
    assert {"saves other, self", "saves result", "saves no tensor"} <= {*told}


def test_the_table_of_an_operator() -> None:
    """Two of six rows run, two are passed over, and two are of tensors of another kind."""
    told = words("lecture04")

    for key in ("AutocastCPU", "AutogradCPU", "ADInplaceOrView", "CPU"):
        assert 2 == told.count(key), f"{key}: once of the tensor, once in the table"
    assert [1, 1] == [told.count(key) for key in ("Meta", "CUDA")]
    assert (
        2 == told.count("fallthrough: passed over") == told.count("a kernel, and x has no such key")
    )
    assert {"VariableType: records a node, then calls again", "RegisterCPU: adds the numbers"} <= {
        *told
    }
