"""Tests of k22_holder: who owns a C++ object, by counts and weak references."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")


def family(extension: Extension, *names: str) -> list[Any]:
    """Return nodes with these names, each the child of the one before."""
    node = extension.cls("Node")
    nodes = [node(name) for name in names]
    for parent, child in pairwise(nodes):
        parent.add(child)
    return nodes


def names(nodes: list[Any]) -> list[str]:
    """Return the names of these nodes."""
    return [node.name() for node in nodes]


def test_a_new_node_has_nothing(extension: Extension) -> None:
    """A new node has no children, no parent and no tensor."""
    node = extension.cls("Node")("root")

    found = node.children(), node.parent(), node.kept()
    assert found == ([], None, None), f"children, parent, tensor: yours {found}, expected none"


@pytest.mark.given
def test_a_node_dies_with_its_last_owner(extension: Extension) -> None:
    """A second Python name adds no C++ owner, but keeps the existing one alive."""
    node = extension.cls("Node")
    live = extension.op("live")
    before = live()
    root = node("root")
    alias = root
    assert before + 1 == live()
    del root
    assert before + 1 == live()
    del alias

    assert before == live()


def test_children_are_the_nodes_that_were_added(extension: Extension) -> None:
    """Children are in order: different Python objects, but the same C++ objects."""
    root, *made = (extension.cls("Node")(name) for name in ("root", "a", "b", "a", "c"))
    # Sorted neither by name nor by age, and two have the same name.
    added = [made[i] for i in (1, 3, 2, 0)]
    for child in added:
        root.add(child)
    found = names(root.children())

    assert found == ["b", "c", "a", "a"], f"yours {found}, expected b c a a, in the order of add"
    same = [child.same(node) for child, node in zip(root.children(), added, strict=True)]
    assert all(same), "the children are not the nodes that were added: did your code copy them?"
    assert added[0].children() == [], "the added node now has a child itself"


def test_a_parent_owns_its_children(extension: Extension) -> None:
    """The children live on when Python drops them."""
    live = extension.op("live")
    before = live()
    root, child = family(extension, "root", "child")
    del child

    assert before + 2 == live(), f"{live() - before} nodes live, expected 2: root owns child"
    assert names(root.children()) == ["child"], f"yours {names(root.children())}"


def test_a_child_knows_its_parent(extension: Extension) -> None:
    """A child has a parent as long as the parent has an owner."""
    root, branch, leaf = family(extension, "root", "branch", "leaf")

    assert leaf.parent() is not None, "leaf was added to branch, but has no parent"
    assert leaf.parent().same(branch), f"yours {leaf.parent().name()}, expected branch"
    assert branch.parent().same(root), f"yours {branch.parent().name()}, expected root"
    assert root.parent() is None, f"yours {root.parent()}: root was added to no node"


def test_a_child_does_not_own_its_parent(extension: Extension) -> None:
    """Python holds only the child: the parent is gone, although the child refers to it."""
    root, child = family(extension, "root", "child")
    # The caller of parent() owns the result only while holding it.
    child.parent()
    del root

    assert child.parent() is None, (
        "something still owns the parent: does the child have a strong pointer to it?"
    )
    assert child.name() == "child", "the child is no longer the same object"


def test_dropping_the_root_frees_the_tree(extension: Extension) -> None:
    """Children hold weak pointers to their parent, which delay its destructor."""
    live = extension.op("live")
    before = live()
    root = family(extension, "root", "branch", "leaf")[0]
    root.add(extension.cls("Node")("twig"))
    assert before + 4 == live(), f"{live() - before} nodes live, expected 4"
    del root

    assert before == live(), (
        f"{live() - before} nodes are left, expected none: the destructor waits for "
        "weak pointers, but release_resources() does not"
    )


def test_the_depth_of_a_node(extension: Extension) -> None:
    """The depth counts the nodes above; if the root has died, those that are left."""
    nodes = family(extension, "root", "branch", "leaf")
    yours = [node.depth() for node in nodes]
    assert yours == [0, 1, 2], f"root, branch and leaf: yours {yours}, expected [0, 1, 2]"
    branch, leaf = nodes[1:]
    nodes.clear()

    yours = [branch.depth(), leaf.depth()]
    assert yours == [0, 1], f"branch and leaf without the root: yours {yours}, expected [0, 1]"


def test_uses_counts_owners(extension: Extension) -> None:
    """A parent adds one owner, and so does each Python object around the node."""
    node = extension.cls("Node")
    root, child = node("root"), node("child")
    alone = child.uses()
    root.add(child)
    found = child.uses() - alone, root.uses() - alone
    assert found == (1, 0), (
        f"after root.add(child), new owners of child and of root: yours {found}, expected (1, 0):"
        " the parent owns the child, and the child does not own the parent"
    )
    handle = root.children()[0]
    found = child.uses() - alone
    assert found == 2, (
        f"a parent and a second Python object: the owners of child rose by {found}, expected 2"
    )
    del handle

    assert alone + 1 == child.uses(), "an owner was removed, but is still counted"


def test_a_parent_without_owners_keeps_nothing_alive(extension: Extension) -> None:
    """The weak pointer of a child to its parent must not keep a big tensor alive."""
    root, child = family(extension, "root", "child")
    sibling = extension.cls("Node")("sibling")
    root.add(sibling)
    x = torch.ones(3)
    root.keep(x)
    watch = weakref.ref(x)
    alone = extension.cls("Node")("alone").uses()
    del root, x

    assert watch() is None, "release_resources() must drop the tensor too"
    found = child.uses() - alone, sibling.uses() - alone
    assert found == (0, 0), (
        f"child and sibling still have {found} owners besides Python, expected (0, 0)"
    )


def test_an_orphan_can_be_added_again(extension: Extension) -> None:
    """A child whose parent has died has no parent."""
    root, child = family(extension, "root", "child")
    del root
    other = extension.cls("Node")("other")
    other.add(child)

    assert child.parent() is not None, (
        "the child was added to a new parent, but its parent() is None"
    )
    assert child.parent().same(other), f"yours {child.parent().name()}, expected the new parent"


def test_a_child_has_one_parent(extension: Extension) -> None:
    """Even the same parent twice is refused; the refusal, which is given, changes nothing."""
    root, child = family(extension, "root", "child")
    other = extension.cls("Node")("other")
    for node in (other, root):
        with pytest.raises(ValueError, match=r"^add: 'child' has a parent already$"):
            node.add(child)

    assert other.children() == [], "the refused child was added anyway: check first"
    assert names(root.children()) == ["child"], f"yours {names(root.children())}"
    assert child.parent().same(root), "the refused child has another parent now"


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_node_owns_itself(extension: Extension, depth: int) -> None:
    """A node that owned itself, directly or not, would have counts that never reach zero."""
    live = extension.op("live")
    before = live()
    nodes = family(extension, *"abc"[:depth])
    with pytest.raises(ValueError, match=r"^add: 'a' would own itself$"):
        nodes[-1].add(nodes[0])
    assert nodes[-1].children() == [], "the refused child was added anyway: check first"
    assert nodes[0].parent() is None, "the refused child has a parent anyway: check first"
    nodes.clear()

    assert before == live(), f"{live() - before} nodes are left, though none has an owner"


def test_a_kept_tensor_keeps_its_attributes(extension: Extension) -> None:
    """C++ is the tensor's only owner for a while; its Python object must survive that."""
    node = extension.cls("Node")("root")
    x = torch.nn.Parameter(torch.empty(0, 3))
    x.note = ["anything"]
    node.keep(x)
    assert node.kept() is x, (
        "kept() returned a different Python object, so it is a different tensor"
    )
    address, note = id(x), x.note
    del x
    gc.collect()
    kept = node.kept()

    assert kept is not None, "the kept tensor died, because nothing owned it"
    assert address == id(kept), (
        "kept() returned a different Python object, so it is a different tensor"
    )
    assert kept.note is note, "the tensor's attribute was lost or replaced"
    assert isinstance(kept, torch.nn.Parameter), (
        f"kept() returned a {type(kept)}, expected a Parameter"
    )


def test_a_tensor_kept_before_is_let_go(extension: Extension) -> None:
    """The tensor is dropped for the next one, for None, and when the node dies."""
    node = extension.cls("Node")("root")
    for replacement in (torch.ones(2), None):
        x = torch.ones(3)
        node.keep(x)
        watch = weakref.ref(x)
        del x
        assert watch() is not None, "the kept tensor died: the node must own it"
        node.keep(replacement)
        assert watch() is None, f"after keep({replacement}) the previous tensor is still alive"
        assert node.kept() is replacement, f"yours {node.kept()}, expected {replacement}"
    x = torch.ones(3)
    node.keep(x)
    watch = weakref.ref(x)
    del x, node

    assert watch() is None, "the node died, but its tensor is still alive"


def test_the_collector_does_not_look_into_cpp(extension: Extension) -> None:
    """If a tensor refers back to the node that keeps it, you must break the cycle by hand."""
    live = extension.op("live")
    before = live()
    node = extension.cls("Node")("root")
    x = torch.ones(1)
    x.node = node
    node.keep(x)
    watch = weakref.ref(x)
    del node, x
    gc.collect()
    assert before + 1 == live(), (
        f"{live() - before} nodes live, expected 1: Python's collector does not see what C++ owns"
    )
    watch().node.keep(None)

    assert before == live(), f"{live() - before} nodes are left after keep(None)"
    assert watch() is None, "keep(None) has not dropped the tensor"
