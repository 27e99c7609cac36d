// How a template ends conversations, remembered: what it writes behind the last turn where a
// conversation is over. Finding what stands around n turns takes the endings of all n beginnings
// of the conversation, each a rendering; a chat that goes on, and modules behind the same
// turns, ask for the same beginnings again.
//
// A tree of beginnings, by roles: what is found was found for these very roles. Of one program
// with one set of options, which the caller sees to. Keeps to a number of bytes: the beginning
// that was not asked for the longest goes first, and of one conversation the longest beginning,
// so that what stays is of use to every conversation that starts so.
// Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "pml/turns/text_encoder.h"  // Role

namespace pc {

// What a template writes behind the last turn of a conversation; none: it refuses such a
// conversation.
using Ending = std::optional<std::string>;
using Endings = std::vector<std::shared_ptr<const Ending>>;  // [n_turns]; null: not known

// With which contents in its turns an ending was found (turn_texts.cc): a template may write
// another ending behind other contents.
struct Contents {
  bool odd = false, in_parts = false;
};

class RememberedEndings {
 public:
  // About 20 conversations of 1000 turns that share no beginning.
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  explicit RememberedEndings(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}
  RememberedEndings(const RememberedEndings&) = delete;
  RememberedEndings& operator=(const RememberedEndings&) = delete;

  // The endings of every beginning of these turns, the shortest first; the last is that of all
  // turns.
  Endings find(std::span<const pml::Role> turns, Contents contents);
  // `endings`: [turns.size()], all known.
  void add(std::span<const pml::Role> turns, Contents contents, const Endings& endings);

  std::size_t n_bytes() const;

 private:
  struct Node;
  using Nodes = std::list<std::unique_ptr<Node>>;
  struct Node {
    Node* before = nullptr;        // without its last turn; null: of one turn
    std::array<Node*, 3> after{};  // by the role of the turn behind
    std::array<std::shared_ptr<const Ending>, 4> endings;  // by Contents; null: not known
    std::size_t n_bytes = 0;
    pml::Role role{};  // of its last turn
    Nodes::iterator place;
  };
  using Path = std::vector<Node*>;  // beginnings of one conversation, the shortest first

  Node*& after(Node* node, pml::Role role) PC_REQUIRES(mutex_);
  Path path(std::span<const pml::Role> turns) PC_REQUIRES(mutex_);
  void grow(Path* path, std::span<const pml::Role> turns) PC_REQUIRES(mutex_);
  void put(Node* node, std::size_t kind, std::shared_ptr<const Ending> ending) PC_REQUIRES(mutex_);
  void touch(const Path& path) PC_REQUIRES(mutex_);
  void forget_oldest() PC_REQUIRES(mutex_);

  const std::size_t max_bytes_;
  mutable Mutex mutex_;
  // Asked for last in front, a beginning before those it begins.
  Nodes nodes_ PC_GUARDED_BY(mutex_);
  std::array<Node*, 3> first_ PC_GUARDED_BY(mutex_){};  // by the role of the first turn
  std::size_t n_bytes_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace pc
