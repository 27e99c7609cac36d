#include "runtime/jinja/interpreter/loop.h"

namespace pc::jinja {

Result<std::optional<Value>> Loop::read() {
  if (next_ahead_ < read_ahead_.size()) return std::optional(read_ahead_[next_ahead_++]);
  while (true) {
    PC_TRY(auto element, cursor_.next());
    if (!element || !stmt_->test) return element;
    if (!frame_) return std::optional<Value>();
    PC_TRY(const bool passes, interpreter_->passes(*stmt_, *element, frame_));
    if (passes) return element;
  }
}

Result<std::optional<Value>> Loop::peek() {
  if (!after_) {
    PC_TRY(after_, read());
  }
  return after_;
}

Result<std::optional<Value>> Loop::advance() {
  std::optional<Value> element = std::exchange(after_, std::nullopt);
  if (!element) {
    PC_TRY(element, read());
  }
  if (!element) return element;
  ++index0_;
  before_ = std::exchange(current_, element);
  return element;
}

Result<std::int64_t> Loop::length() {
  if (length_) return *length_;
  if (const auto n = stmt_->test ? std::nullopt : cursor_.length()) {
    length_ = static_cast<std::int64_t>(*n);
    return *length_;
  }
  std::vector<Value> rest;
  while (true) {
    PC_TRY(auto element, read());
    if (!element) break;
    rest.push_back(std::move(*element));
  }
  read_ahead_ = std::move(rest);
  next_ahead_ = 0;
  length_ = static_cast<std::int64_t>(read_ahead_.size()) + index0_ + 1 + after_.has_value();
  return *length_;
}

Result<Value> Loop::call(Runtime&, const Arguments& arguments) {
  PC_TRY(const Bound bound, Bound::bind("loop", arguments, {"iterable"}, 1));
  if (!stmt_->is_recursive)
    return error(Code::kInvalidArgument,
                 "The loop must have the 'recursive' marker to be called recursively.");
  return interpreter_->recurse(*stmt_, outer_, *bound.get(0), depth0_ + 1);
}

Result<std::string> Loop::repr() {
  PC_TRY(const std::int64_t n, length());
  return "<LoopContext " + std::to_string(index0_ + 1) + "/" + std::to_string(n) + ">";
}

Result<std::optional<Value>> Loop::attribute(Runtime&, std::string_view name) {
  using Found = std::optional<Value>;
  if (name == "index0") return Found(integer(index0_));
  if (name == "index") return Found(integer(index0_ + 1));
  if (name == "first") return Found(boolean(index0_ == 0));
  if (name == "depth0") return Found(integer(depth0_));
  if (name == "depth") return Found(integer(depth0_ + 1));
  if (name == "length" || name == "revindex" || name == "revindex0") {
    PC_TRY(const std::int64_t n, length());
    return Found(integer(name == "length" ? n : n - index0_ - (name == "revindex0")));
  }
  if (name == "last" || name == "nextitem") {
    PC_TRY(const auto next, peek());
    if (name == "last") return Found(boolean(!next));
    return Found(next ? *next : undefined("there is no next item"));
  }
  if (name == "previtem")
    return Found(index0_ > 0 && before_ ? *before_ : undefined("there is no previous item"));
  return Found();
}

}  // namespace pc::jinja
