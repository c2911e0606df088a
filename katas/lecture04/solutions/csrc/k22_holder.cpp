// tier: small
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

  // Owning pointers point down, so a tree has no cycle.
  std::vector<c10::intrusive_ptr<Node>> children;
  c10::weak_intrusive_ptr<Counted> parent{c10::intrusive_ptr<Counted>()};
  std::optional<Tensor> kept;

  // Called when the last owner is gone but weak pointers are left: drops everything that the node
  // owns.
  void release_resources() override {
    children.clear();
    kept.reset();
  }
};

using NodePtr = c10::intrusive_ptr<Node>;

// Raises ValueError if the child has a live parent, or is self or above it. Given.
void refuse(const NodePtr& self, const NodePtr& child);

// Makes self own the child, and the child refer to self.
void add(const NodePtr& self, const NodePtr& child) {
  refuse(self, child);
  child->parent = c10::weak_intrusive_ptr<Node>(self);
  self->children.push_back(child);
}

// The children, in the order in which they were added; not copies.
std::vector<NodePtr> children(const NodePtr& self) {
  return self->children;
}

// The node that owns self; nullopt if there is none or it has died.
// c10::static_intrusive_pointer_cast<Node> casts a pointer to Counted to one to Node.
std::optional<NodePtr> parent(const NodePtr& self) {
  auto found = c10::static_intrusive_pointer_cast<Node>(self->parent.lock());
  if (found) {
    return found;
  }
  return std::nullopt;
}

// How many nodes are above self: 0 for a root.
int64_t depth(const NodePtr& self) {
  int64_t above = 0;
  for (auto node = parent(self); node; node = parent(*node)) {
    ++above;
  }
  return above;
}

// Replaces the kept tensor with this one, or with nothing.
void keep(const NodePtr& self, std::optional<Tensor> x) {
  self->kept = std::move(x);
}

// The tensor that is kept, if any.
std::optional<Tensor> kept(const NodePtr& self) {
  return self->kept;
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
