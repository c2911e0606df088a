// tier: small
//
// Owners in C++ and owners in Python.
//
// Parents own their children, and children know their parent. If both were owners, no family would
// ever die: the reference counts would form a cycle. Tensors, storages and all objects of a class
// that m.class_ registers live by such counts, in a c10::intrusive_ptr; their owners are in C++ and
// in Python.
//
//   Python's root ====> root ====> branch ====> leaf        ====> owns
//                           <----         <----             <---- knows
//
// 1. Node: which members own, and which only refer?
// 2. add, children, parent, depth.
// 3. keep, kept: a tensor that only C++ holds comes back as the same Python object, with its
//    attributes. PyTorch guarantees this for the same tensor.
// 4. release_resources: while weak pointers exist, the destructor waits. What is called
//    immediately?
//
// Begin on paper: Python runs `del root` but holds leaf. Which counts fall to zero, one after
// another?
// Afterwards open torch/include/c10/util/intrusive_ptr.h: its long comments are worth an evening.
//
#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using at::Tensor;

// ---- given: do not change ----------------------------------------------------------------

// How many nodes exist: created and not yet destroyed. The tests use it to find leaks.
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

// A node of a tree. It owns its children and its tensor, and refers to its parent.
// c10::weak_intrusive_ptr<Node> cannot be a member, because Node is incomplete inside its own
// definition; c10::weak_intrusive_ptr<Counted> can be. It has no default constructor: initialise it
// with {c10::intrusive_ptr<Counted>()}.
struct Node : Counted {
  using Counted::Counted;
  // TODO: three members.

  // Called when the last owner is gone but weak pointers are left: drops everything that the node
  // owns.
  void release_resources() override {
    // TODO
  }
};

using NodePtr = c10::intrusive_ptr<Node>;

// Raises ValueError if the child has a live parent, or is self or above it. Given.
void refuse(const NodePtr& self, const NodePtr& child);

// Makes self own the child, and the child refer to self.
void add(const NodePtr& self, const NodePtr& child) {
  refuse(self, child);
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: add");
}

// The children, in the order in which they were added; not copies.
std::vector<NodePtr> children(const NodePtr& self) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: children");
}

// The node that owns self; nullopt if there is none or it has died.
// c10::static_intrusive_pointer_cast<Node> casts a pointer to Counted to one to Node.
std::optional<NodePtr> parent(const NodePtr& self) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: parent");
}

// How many nodes are above self: 0 for a root.
int64_t depth(const NodePtr& self) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: depth");
}

// Replaces the kept tensor with this one, or with nothing.
void keep(const NodePtr& self, std::optional<Tensor> x) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: keep");
}

// The tensor that is kept, if any.
std::optional<Tensor> kept(const NodePtr& self) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: kept");
}

// ---- given: do not change ----------------------------------------------------------------

void refuse(const NodePtr& self, const NodePtr& child) {
  TORCH_CHECK_VALUE(!parent(child), "add: '", child->name, "' has a parent already");
  for (auto node = std::make_optional(self); node; node = parent(*node)) {
    TORCH_CHECK_VALUE(*node != child, "add: '", child->name, "' would own itself");
  }
}

TORCH_LIBRARY(lecture04_k22, m) {
  m.def("live() -> int", &live);
  m.class_<Node>("Node")
      .def(torch::init<std::string>())
      .def("name", [](const NodePtr& self) { return self->name; })
      // How many intrusive pointers own it. Each return to Python makes a new Python object around
      // the node, so `is` cannot tell whether two nodes are the same.
      .def("uses", [](const NodePtr& self) { return static_cast<int64_t>(self.use_count()); })
      .def("same", [](const NodePtr& self, const NodePtr& other) { return self == other; })
      .def("add", &add)
      .def("children", &children)
      .def("parent", &parent)
      .def("depth", &depth)
      .def("keep", &keep)
      .def("kept", &kept);
}
