// tier: small
//
// A C++ object with two kinds of owners.
//
// c10::intrusive_ptr counts owners inside the object itself: tensors, storages and everything
// that IValue holds by reference live by it. An object of a class registered with m.class_ is
// owned by C++ and by Python at once, and dies with the last owner of either kind. Write such
// a class, a node of a tree, without a leak.
//
// Node derives from Counted (given) and is registered as the class Node of lecture04_k22, so
// that Python sees it as torch.classes.lecture04_k22.Node:
//   Node(name)     a new node, name a str
//   name()         its name
//   uses()         how many c10::intrusive_ptr own it at this moment (use_count), as an int
//   same(other)    is it the very same C++ object? (Each time a node comes to Python it gets a
//                  new Python object around it, so Python's `is` cannot tell.)
//   add(child)     the node owns `child` from now on. ValueError, and nothing changes, if
//                    the child has a parent that is alive: "add: 'kid' has a parent already"
//                    it is the node itself, or above it: "add: 'kid' would own itself"
//   children()     a list of its children, in the order they were added
//   parent()       the node that owns it, or None. A child does not keep its parent alive: if
//                  both owned each other, neither would ever die. When the parent dies while
//                  the child lives on, parent() is None.
//   keep(x)        keeps a Tensor, or None instead of the one kept before
//   kept()         the tensor kept, or None. It is the same Python object that was handed in,
//                  attributes and all, even if nobody in Python held it in the meantime:
//                  PyTorch preserves the PyObject of a tensor that C++ holds.
// pickle and torch.save work: the state is the name, the tensor and the children (def_pickle;
// both functions must be lambdas). The children that come back are new nodes, in the same order,
// and their parent is the node that came back. The parent of a pickled node is not pickled.
//
// And one operator: path(node) is the names from the root to the node: "root/branch/leaf".
//
// When the last owner of an object goes while weak pointers to it are left, its destructor
// waits for them; what is called at once is release_resources(). A node must then let go of
// its children and its tensor. (Private in the base class, public here: intrusive_ptr<Node> is no
// friend of Node.)
//
// Out of scope: threads, taking children away, copy.deepcopy (it hands the state from the one
// function to the other as it is, so that both trees would own the same children), cycles through
// a Python attribute of the tensor kept (Python's collector does not look into C++ objects: such
// a cycle stays until keep(None)).
// About 55 lines. In PyTorch: c10/util/intrusive_ptr.h (intrusive_ptr, weak_intrusive_ptr,
// intrusive_ptr_target::release_resources), torch/custom_class.h (class_),
// torch/csrc/autograd/python_variable.cpp (THPVariable_Wrap).
//
#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <atomic>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using at::Tensor;

// ---- given: do not change ----------------------------------------------------------------

// How many nodes have been made and not been destroyed: the tests look for leaks with it.
std::atomic<int64_t> alive{0};

struct Counted : torch::CustomClassHolder {
  explicit Counted(std::string name) : name(std::move(name)) {
    ++alive;
  }
  ~Counted() override {
    --alive;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  const std::string name;
};

int64_t live() {
  return alive;
}

// ---- the exercise ------------------------------------------------------------------------

struct Node : Counted {
  using Counted::Counted;

  // TODO: who owns whom? A weak_intrusive_ptr to Node cannot be a member of Node, which is not
  // complete yet in its own definition; a c10::weak_intrusive_ptr<Counted> can be.
};

using NodePtr = c10::intrusive_ptr<Node>;

void add(const NodePtr& self, const NodePtr& child) {
  // TODO: two refusals, two pointers.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: add");
}

std::optional<NodePtr> parent(const NodePtr& self) {
  // TODO: ask a weak pointer; c10::static_intrusive_pointer_cast<Node> goes from base to Node.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: parent");
}

std::string path(const NodePtr& node) {
  // TODO: the names from the root down.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: path");
}

TORCH_LIBRARY(lecture04_k22, m) {
  m.def("live() -> int", &live);
  // TODO: m.class_<Node>("Node").def(torch::init<std::string>()).def("add", &add)...
  // and then, since a schema can name only a class that is registered:
  // m.def("path(__torch__.torch.classes.lecture04_k22.Node node) -> str", &path);
}
