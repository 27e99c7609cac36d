#include "runtime/calls/reading/call_stream.h"

#include <algorithm>
#include <utility>

#include "runtime/calls/reading/object_head.h"

namespace pc::calls {
namespace {

constexpr std::string_view kFence = "```";
// A call's name and what stands around it is shorter.
constexpr std::size_t kMostHead = 4096;

std::size_t first_of(std::string_view text) {
  return std::min(text.find_first_not_of(kSpace), text.size());
}

}  // namespace

std::vector<CallPiece> CallStream::push(std::string_view text) {
  held_.push(text);
  while (step()) {
  }
  return std::exchange(out_, {});
}

bool CallStream::step() {
  switch (state_) {
    case State::kText:
      return take_text();
    case State::kFence:
      return take_fence();
    case State::kWhole:
      return false;
    case State::kHead:
      return take_head();
    case State::kArguments:
      return take_arguments();
    case State::kTail:
      return take_tail();
    case State::kBetween:
      return take_between();
  }
  return false;
}

// ---- Text

void CallStream::say(std::string_view text) {
  if (!has_said_ && n_calls_ > 0) text.remove_prefix(first_of(text));  // it is the call's
  if (text.empty()) return;
  has_said_ = has_said_ || first_of(text) < text.size();
  if (out_.empty() || out_.back().kind != CallPiece::Kind::kText)
    out_.push_back({CallPiece::Kind::kText, ""});
  out_.back().text += text;
}

// All of an answer may be a call: JSON, or where calls have no word to begin with, the name of a
// tool.
CallStream::Candidate CallStream::candidate_at_begin(std::size_t first) const {
  const std::size_t size = held_.view().size();
  const Candidate none{size}, open{0};
  if (first == size) return open;
  const bool has_word = !shape_.begin.empty();
  if (!has_word && reading_.must_call) return {0, State::kHead};
  if (has_word && !reading_.takes_loose_calls) return none;
  const std::string_view text = held_.view().substr(first);
  CallCursor at(text.substr(0, kMostHead));
  if (shape_.kind == CallShape::Kind::kPython) at.take("[");
  const auto name =
      has_word || shape_.kind == CallShape::Kind::kObject ? std::nullopt : at.take_name();
  if (name && at.rest().empty() && text.size() <= kMostHead) return open;
  if (name && types_.knows(std::string(*name))) return {0, State::kWhole};
  if (text.front() != '{' && text.front() != '[') return none;
  switch (likeness(text)) {
    case Likeness::kNone:
      return none;
    case Likeness::kOpen:
      return open;
    case Likeness::kLikely:
      return {0, State::kWhole};
  }
  return none;
}

Likeness CallStream::likeness(std::string_view text) const {
  const Likeness like = likeness_of_call(text.substr(0, kMostHead), types_);
  return like == Likeness::kOpen && text.size() > kMostHead ? Likeness::kNone : like;
}

CallStream::Candidate CallStream::candidate_of_word() {
  const std::string_view word = call_trigger(shape_), held = held_.view();
  if (word.empty()) return {held.size()};
  const std::size_t at = word_.place_in(held_, word);
  return {at, held.substr(at).starts_with(word) ? State::kHead : State::kText};
}

// What a block begins with tells whether it may be a call.
CallStream::Candidate CallStream::candidate_of_fence() {
  const std::string_view held = held_.view();
  const std::size_t at = fence_.place_in(held_, kFence);
  const bool is_known = in_code_ ? held.substr(at).starts_with(kFence)
                                 : line_.place_in(held_, "\n", at) < held.size();
  return {at, is_known ? State::kFence : State::kText};
}

CallStream::Candidate CallStream::candidate() {
  const std::size_t size = held_.view().size();
  if (!has_said_ && n_calls_ == 0) {
    const Candidate at_begin = candidate_at_begin(held_.n_space());
    if (at_begin.at < size || size == 0) return at_begin;
  }
  const Candidate word = candidate_of_word();
  const Candidate fence = reading_.takes_loose_calls ? candidate_of_fence() : Candidate{size};
  return fence.at < word.at ? fence : word;
}

bool CallStream::take_text() {
  const Candidate found = candidate();
  const bool ends_code = found.state == State::kFence && in_code_;
  const std::string_view before = held_.view().substr(0, found.at);
  // The white space before a call is the call's.
  const std::size_t n_words = held_.n_space() < found.at ? before.find_last_not_of(kSpace) + 1 : 0;
  const std::size_t end = ends_code ? found.at + kFence.size() : n_words;
  say(held_.view().substr(0, end));
  held_.drop(end);
  if (ends_code) {
    in_code_ = false;
    return true;
  }
  if (found.state == State::kText) return false;
  state_ = found.state;
  is_begun_ = in_list_ = false;
  return true;
}

// A fenced block is a call where it is JSON that looks like one, and nothing stands behind it.
bool CallStream::take_fence() {
  const std::string_view held = held_.view();
  const std::size_t line = held.find('\n', held_.n_space());
  const std::size_t first = line + first_of(held.substr(line));
  if (first == held.size()) return false;
  const bool is_json = held[first] == '{' || held[first] == '[';
  const Likeness like = is_json ? likeness(held.substr(first)) : Likeness::kNone;
  const std::size_t close = fence_end_.place_in(held_, kFence, line);
  const bool is_closed = held.substr(close).starts_with(kFence);
  const std::size_t behind = std::min(close + kFence.size(), held.size());
  const bool ends = !is_closed || behind + first_of(held.substr(behind)) == held.size();
  if (like != Likeness::kNone && ends) return false;
  // What closes it is found as what opens one is.
  in_code_ = !is_closed || like == Likeness::kNone;
  const std::size_t end = in_code_ ? line : behind;
  say(held.substr(0, end));
  held_.drop(end);
  state_ = State::kText;
  return true;
}

// ---- The beginning of a call

void CallStream::open(std::string_view rest) {
  held_.pass(held_.view().size() - rest.size());
}

void CallStream::keep(std::string_view rest) {
  held_.drop(held_.view().size() - rest.size());
}

// One character of what looked like a call is text; another call may begin behind it.
bool CallStream::give_up() {
  held_.go_back();
  const std::size_t n = std::min(held_.n_space() + 1, held_.view().size());
  say(held_.view().substr(0, n));
  held_.drop(n);
  state_ = State::kText;
  return true;
}

bool CallStream::take_head() {
  if (!is_begun_) {
    CallCursor at(held_.view());
    if (!at.take(shape_.begin)) {
      const bool is_long = held_.view().size() - held_.n_space() > kMostHead;
      return (is_long || !is_cut(held_.view(), shape_.begin)) && give_up();
    }
    open(at.rest());
    is_begun_ = true;
  }
  const bool has_list =
      shape_.kind == CallShape::Kind::kObject || shape_.kind == CallShape::Kind::kPython;
  CallCursor at(held_.view());
  if (has_list && !in_list_ && at.take("[")) {
    open(at.rest());
    in_list_ = true;
  }
  if (held_.is_space()) return false;
  const std::string_view head = held_.view().substr(0, kMostHead);
  const bool goes_on =
      shape_.kind == CallShape::Kind::kObject ? take_object_head(head) : take_named_head(head);
  const bool waits = !goes_on && state_ == State::kHead;
  return waits && held_.view().size() > kMostHead ? give_up() : goes_on;
}

bool CallStream::take_object_head(std::string_view text) {
  CallCursor at(text);
  at.skip_space();
  if (!at.rest().starts_with('{')) return !at.rest().empty() && give_up();
  const ObjectHead head = read_object_head(shape_, at.rest());
  switch (head.kind) {
    case ObjectHead::Kind::kMore:
      return false;
    case ObjectHead::Kind::kNone:
      return give_up();
    case ObjectHead::Kind::kWhole:
      state_ = State::kWhole;
      return false;
    case ObjectHead::Kind::kFound:
      break;
  }
  at.skip(head.arguments);
  held_.pass(text.size() - at.rest().size());
  begin_call(head.name);
  return true;
}

// A name, and what stands between it and the arguments.
bool CallStream::take_named_head(std::string_view text) {
  CallCursor at(text);
  const auto name = at.take_name();
  if (!name) return !at.rest().empty() && give_up();
  if (at.rest().empty()) return false;
  if (shape_.kind == CallShape::Kind::kHeader) {
    // A template may write what names the call in between.
    const std::size_t bracket = at.rest().find('{');
    if (bracket == std::string_view::npos) return false;
    at.skip(bracket);
  } else {
    const std::string_view behind =
        shape_.kind == CallShape::Kind::kPython ? "(" : std::string_view(shape_.after_name);
    if (!at.take(behind)) return !is_cut(at.rest(), behind) && give_up();
  }
  const std::string called(*name);
  const auto fit = CallArguments(shape_, types_, called).fit(at.rest());
  if (fit != CallArguments::Fit::kYes) return fit == CallArguments::Fit::kNo && give_up();
  held_.pass(text.size() - at.rest().size());
  begin_call(called);
  return true;
}

void CallStream::begin_call(std::string_view name) {
  ++n_calls_;
  has_said_ = false;
  held_.drop(0);
  out_.push_back({CallPiece::Kind::kName, std::string(name)});
  arguments_.emplace(shape_, types_, std::string(name));
  state_ = State::kArguments;
}

// ---- Arguments, and what stands behind them

void CallStream::say_arguments(std::string text) {
  if (text.empty()) return;
  if (out_.empty() || out_.back().kind != CallPiece::Kind::kArguments)
    out_.push_back({CallPiece::Kind::kArguments, ""});
  out_.back().text += text;
}

void CallStream::end_call() {
  out_.push_back({CallPiece::Kind::kEnd, ""});
  state_ = State::kBetween;
}

bool CallStream::take_arguments() {
  std::string json;
  std::string_view rest = held_.view();
  const bool is_over = arguments_->go_on(&rest, &json);
  keep(rest);
  say_arguments(std::move(json));
  if (!is_over) return false;
  tail_ = {.depth = 1};
  if (shape_.kind == CallShape::Kind::kObject)
    state_ = State::kTail;
  else
    end_call();
  return true;
}

// The rest of an object says nothing more.
bool CallStream::take_tail() {
  const std::string_view held = held_.view();
  std::size_t at = 0;
  while (at < held.size() && tail_.depth > 0) tail_.take(held[at++]);
  held_.drop(at);
  if (tail_.depth > 0) return false;
  end_call();
  return true;
}

void CallStream::begin_next(std::string_view rest) {
  open(rest);
  is_begun_ = true;
  state_ = State::kHead;
}

bool CallStream::take_in_list() {
  CallCursor at(held_.view());
  if (at.take(",")) {
    begin_next(at.rest());
    return true;
  }
  in_list_ = false;
  at.take("]");
  keep(at.rest());
  return true;
}

// Where what stands between two calls is what ends the last one, too, only an object behind it
// tells that another comes; a word that calls begin with is found as in any text.
bool CallStream::take_between() {
  if (held_.is_space()) return false;
  if (in_list_) return take_in_list();
  CallCursor at(held_.view());
  if (!trimmed(shape_.between).empty()) {
    if (at.take(shape_.between)) {
      const bool is_end = trimmed(shape_.between) == trimmed(shape_.end);
      at.skip_space();
      if (is_end && at.rest().empty()) return false;
      if (!is_end || at.rest().starts_with('{')) {
        begin_next(at.rest());
        return true;
      }
    } else if (is_cut(held_.view(), shape_.between)) {
      return false;
    }
  }
  CallCursor end(held_.view());
  if (!end.take(shape_.end) && is_cut(held_.view(), shape_.end)) return false;
  keep(end.rest());
  state_ = State::kText;
  return true;
}

// ---- The end of the answer

// The calls that what is held is, and what stands behind them; nothing where it is none.
std::optional<std::vector<ToolCall>> CallStream::read_whole(std::string* behind) const {
  std::string begun = is_begun_ ? shape_.begin + (in_list_ ? "[" : "") : "";
  if (state_ == State::kHead || state_ == State::kWhole) {
    if (auto read = read_calls(shape_, types_, begun.append(held_.view()))) {
      *behind = read->text;
      return std::move(read->calls);
    }
  }
  return is_begun_ ? std::nullopt : read_loose_calls(held_.view(), types_);
}

void CallStream::finish_whole() {
  std::string behind;
  const auto calls = read_whole(&behind);
  if (!calls) {
    held_.go_back();
    return say(held_.view());
  }
  for (const ToolCall& call : *calls) {
    begin_call(call.name);
    say_arguments(call.arguments.dump());
    end_call();
  }
  say(behind);
}

std::vector<CallPiece> CallStream::finish() {
  if (state_ == State::kArguments) arguments_->end_text();
  while (step()) {
  }
  switch (state_) {
    case State::kText:
      say(held_.view());
      break;
    case State::kFence:
    case State::kWhole:
    case State::kHead:
      finish_whole();
      state_ = State::kBetween;
      break;
    case State::kArguments: {
      std::string json;
      arguments_->cut(held_.view(), &json);
      say_arguments(std::move(json));
      break;
    }
    case State::kTail:
    case State::kBetween:  // the beginning of words that belong to calls
      break;
  }
  return std::exchange(out_, {});
}

ReadAnswer gather(const std::vector<CallPiece>& pieces) {
  ReadAnswer read;
  std::vector<std::string> arguments;
  for (const CallPiece& piece : pieces) {
    if (piece.kind == CallPiece::Kind::kText) read.text += piece.text;
    if (piece.kind == CallPiece::Kind::kArguments) arguments.back() += piece.text;
    if (piece.kind == CallPiece::Kind::kEnd) read.calls.back().is_whole = true;
    if (piece.kind != CallPiece::Kind::kName) continue;
    read.calls.push_back({piece.text, {}, false});
    arguments.emplace_back();
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    read.calls[i].arguments = object_of(arguments[i]);
  return read;
}

ReadAnswer read_answer(const CallShape& shape, const ToolTypes& types, std::string_view text) {
  CallStream stream(shape, types);
  std::vector<CallPiece> pieces = stream.push(text);
  for (CallPiece& piece : stream.finish()) pieces.push_back(std::move(piece));
  return gather(pieces);
}

}  // namespace pc::calls
