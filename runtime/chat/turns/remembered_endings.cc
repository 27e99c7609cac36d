#include "runtime/chat/turns/remembered_endings.h"

#include <utility>

namespace pc {
namespace {

std::size_t kind_of(Contents contents) {
  return (contents.odd ? 1u : 0u) + (contents.in_parts ? 2u : 0u);
}

// With what counting and the heap take.
std::size_t bytes_of(const Ending& ending) {
  return sizeof(Ending) + 48 + (ending ? ending->capacity() : 0);
}

}  // namespace

RememberedEndings::Node*& RememberedEndings::after(Node* node, pml::Role role) {
  return (node ? node->after : first_)[static_cast<std::size_t>(role)];
}

// As far as beginnings of these turns are here.
RememberedEndings::Path RememberedEndings::path(std::span<const pml::Role> turns) {
  Path path;
  Node* node = nullptr;
  for (const pml::Role role : turns) {
    node = after(node, role);
    if (!node) break;
    path.push_back(node);
  }
  return path;
}

void RememberedEndings::grow(Path* path, std::span<const pml::Role> turns) {
  while (path->size() < turns.size()) {
    auto node = std::make_unique<Node>();
    node->before = path->empty() ? nullptr : path->back();
    node->role = turns[path->size()];
    node->n_bytes = sizeof(Node) + 48;  // with its place in the list
    path->push_back(node.get());
    nodes_.push_front(std::move(node));
    Node& made = *path->back();
    made.place = nodes_.begin();
    n_bytes_ += made.n_bytes;
    after(made.before, made.role) = &made;
  }
}

void RememberedEndings::put(Node* node, std::size_t kind, std::shared_ptr<const Ending> ending) {
  if (node->endings[kind]) return;  // another thread was first, with the same
  node->n_bytes += bytes_of(*ending);
  n_bytes_ += bytes_of(*ending);
  node->endings[kind] = std::move(ending);
}

// The longest first: so the last of all nodes begins no other.
void RememberedEndings::touch(const Path& path) {
  for (auto node = path.rbegin(); node != path.rend(); ++node)
    nodes_.splice(nodes_.begin(), nodes_, (*node)->place);
}

void RememberedEndings::forget_oldest() {
  const Node& oldest = *nodes_.back();
  n_bytes_ -= oldest.n_bytes;
  after(oldest.before, oldest.role) = nullptr;
  nodes_.pop_back();
}

Endings RememberedEndings::find(std::span<const pml::Role> turns, Contents contents) {
  Endings endings(turns.size());
  const MutexLock lock(mutex_);
  const Path known = path(turns);
  touch(known);
  for (std::size_t i = 0; i < known.size(); ++i) endings[i] = known[i]->endings[kind_of(contents)];
  return endings;
}

void RememberedEndings::add(std::span<const pml::Role> turns, Contents contents,
                            const Endings& endings) {
  const MutexLock lock(mutex_);
  Path all = path(turns);
  grow(&all, turns);
  for (std::size_t i = 0; i < all.size(); ++i) put(all[i], kind_of(contents), endings[i]);
  touch(all);
  while (n_bytes_ > max_bytes_) forget_oldest();
}

std::size_t RememberedEndings::n_bytes() const {
  const MutexLock lock(mutex_);
  return n_bytes_;
}

}  // namespace pc
