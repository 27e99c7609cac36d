#include "runtime/constrain/automata/state.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace pc::constrain {
namespace {

Fingerprint print_of(const FramePtr& frame) {
  return frame ? frame->fingerprint : Fingerprint();
}

Fingerprint print_of(const Thread& thread) {
  Fingerprint print = print_of(thread.frame);
  print.mix(std::uint64_t{thread.node} << 32 | thread.count);
  return print;
}

std::uint16_t nesting_of(const FramePtr& frame) {
  return frame ? frame->nesting : std::uint16_t{0};
}

// Makes a state of the threads that arrive behind a byte.
class Arrivals {
 public:
  explicit Arrivals(const Automaton& automaton) : automaton_(automaton) {}

  // Its byte was taken, or its rule begins.
  void add(Thread thread) {
    if (!is_new(thread)) return;
    threads_.push_back(std::move(thread));
  }

  State finish() {
    for (std::size_t i = 0; i < threads_.size(); ++i) leave(threads_[i].node, threads_[i].frame);
    for (const Thread& thread : threads_) call_from(thread.node, thread.frame);
    while (!called_.empty()) enter();
    std::erase_if(threads_, [this](const Thread& t) { return automaton_.edges(t.node).empty(); });
    const auto key = [](const Thread& t) { return std::tuple(t.node, t.count, print_of(t.frame)); };
    std::ranges::sort(threads_, {}, key);
    State state{std::move(threads_), may_end_, {}};
    for (const Thread& t : state.threads) {
      state.fingerprint.mix(std::uint64_t{t.node} << 32 | t.count);
      state.fingerprint.mix(print_of(t.frame).low);
      state.fingerprint.mix(print_of(t.frame).high);
    }
    state.fingerprint.mix(may_end_);
    return state;
  }

  void leave_rule(const FramePtr& frame) {
    if (!frame) {
      may_end_ = true;
      return;
    }
    for (const Frame::Return& to : frame->returns) add({to.node, 0, to.frame});
  }

 private:
  // Looks through a few, and beyond them for its fingerprint: of rules that may all be over now,
  // as many threads arrive as the text is deep.
  bool is_new(const Thread& thread) {
    constexpr std::size_t kFew = 32;
    if (threads_.size() < kFew) return is_new_among_few(thread);
    if (prints_.empty())
      for (const Thread& t : threads_) prints_.insert(print_of(t));
    return prints_.insert(print_of(thread)).second;
  }

  bool is_new_among_few(const Thread& thread) const {
    return std::ranges::none_of(threads_, [&](const Thread& t) {
      return t.node == thread.node && t.count == thread.count &&
             print_of(t.frame) == print_of(thread.frame);
    });
  }

  void leave(NodeId node, FramePtr frame) {
    if (automaton_.is_final(node)) leave_rule(frame);
  }

  // Calls what fits into the arrays and objects that may still be opened.
  void call_from(NodeId node, const FramePtr& frame) {
    const std::uint16_t nesting = nesting_of(frame);
    for (const Call& call : automaton_.calls(node)) {
      const Rule& rule = automaton_.rule(call.rule);
      const std::size_t inside = nesting + std::size_t{rule.nests} + automaton_.need(rule.entry);
      const std::size_t behind = nesting + std::size_t{automaton_.need(call.to)};
      if (std::max(inside, behind) > kMaxNesting) continue;
      Called& called = called_[{rule.order, call.rule}];
      called.nesting = std::max(called.nesting, nesting);
      add_returns(call.to, frame, &called.returns);
    }
  }

  // Where nothing is left of the caller's rule but its end, what called the caller is gone back to:
  // a rule that calls itself at its end, as lists in grammars do, needs no frame for each item.
  void add_returns(NodeId to, const FramePtr& frame, std::vector<Frame::Return>* returns) const {
    const bool is_end =
        automaton_.is_final(to) && automaton_.edges(to).empty() && automaton_.calls(to).empty();
    if (is_end && frame)
      returns->insert(returns->end(), frame->returns.begin(), frame->returns.end());
    else
      returns->push_back({to, frame});
  }

  // The first of the called rules: those behind it may be called by it, none before.
  void enter() {
    auto called = called_.extract(called_.begin());
    const Rule& rule = automaton_.rule(called.key().second);
    const FramePtr frame = frame_of(std::move(called.mapped()), rule.nests);
    threads_.push_back({rule.entry, 0, frame});
    call_from(rule.entry, frame);
  }

  struct Called {
    std::vector<Frame::Return> returns;
    std::uint16_t nesting = 0;  // of those who call
  };

  // Ways to one place are one, in whatever order they came: so frames of the same fingerprint are
  // found again behind each item of a list.
  static FramePtr frame_of(Called called, bool nests) {
    const auto key = [](const Frame::Return& to) { return std::pair(to.node, print_of(to.frame)); };
    auto& returns = called.returns;
    std::ranges::sort(returns, {}, key);
    const auto are_same = [&](const auto& a, const auto& b) { return key(a) == key(b); };
    returns.erase(std::unique(returns.begin(), returns.end(), are_same), returns.end());
    auto made = std::make_unique<Frame>();
    for (const Frame::Return& to : returns) {
      made->fingerprint.mix(to.node);
      made->fingerprint.mix(print_of(to.frame).low);
      made->fingerprint.mix(print_of(to.frame).high);
    }
    made->returns = std::move(returns);
    made->nesting = static_cast<std::uint16_t>(called.nesting + nests);
    made->fingerprint.mix(made->nesting);
    return FramePtr(std::move(made));
  }

  const Automaton& automaton_;
  std::vector<Thread> threads_;
  std::unordered_set<Fingerprint> prints_;  // of them, once they are many
  std::map<std::pair<std::uint32_t, RuleId>, Called> called_;
  bool may_end_ = false;
};

// A character begins, or the text ends: has it room, was it long enough?
bool count_character(const Rule& rule, std::uint8_t byte, std::uint32_t* count) {
  if (byte == '"') return *count >= rule.least;
  if (*count >= rule.most) return false;
  // Without a limit only the least number matters: fewer states are told apart.
  if (rule.most != UINT32_MAX || *count < rule.least) ++*count;
  return true;
}

std::optional<Thread> moved(const Automaton& automaton, const Thread& thread, std::uint8_t byte) {
  const auto edges = automaton.edges(thread.node);
  const auto edge = std::ranges::lower_bound(edges, byte, {}, &Edge::last);
  if (edge == edges.end() || edge->first > byte) return std::nullopt;
  if (automaton.need(edge->to) + std::size_t{nesting_of(thread.frame)} > kMaxNesting)
    return std::nullopt;
  std::uint32_t count = thread.count;
  const Rule& rule = automaton.rule_of(thread.node);
  if (rule.kind == Rule::Kind::kCounted && thread.node == rule.entry &&
      !count_character(rule, byte, &count))
    return std::nullopt;
  return Thread{edge->to, count, thread.frame};
}

}  // namespace

State start_of(const Automaton& automaton) {
  Arrivals arrivals(automaton);
  arrivals.add({automaton.start(), 0, nullptr});
  return arrivals.finish();
}

State behind_byte(const Automaton& automaton, const State& state, std::uint8_t byte) {
  Arrivals arrivals(automaton);
  for (const Thread& thread : state.threads)
    if (auto to = moved(automaton, thread, byte)) arrivals.add(std::move(*to));
  return arrivals.finish();
}

State behind_rule(const Automaton& automaton, const FramePtr& frame) {
  Arrivals arrivals(automaton);
  arrivals.leave_rule(frame);
  return arrivals.finish();
}

}  // namespace pc::constrain
