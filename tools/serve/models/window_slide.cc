#include "tools/serve/models/window_slide.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tools/opening/window_fit.h"

namespace pc::serve {
namespace {

using Messages = std::vector<Json>;

bool is_from(const Json& message, const char* role) {
  return message["role"] == Json(role);
}

std::uint64_t tokens_of(const ServedModel& model, const Question& question,
                        const std::vector<const char*>& said) {
  Json messages = Json::array();
  for (std::size_t i = 0; i < said.size(); ++i)
    messages.push(
        Json::object().set("role", i % 2 == 0 ? "user" : "assistant").set("content", said[i]));
  Question asked = question;
  asked.chat.set("messages", messages);
  return model.prompt_of(asked).tokens().size();
}

// What the template writes: around each message, which is half of what a question and an answer
// more make, but for the texts' own two; and for tools and in front of all.
struct Markup {
  std::uint64_t around = 0, in_front = 0;
};

Markup markup_of(const ServedModel& model, const Question& question) {
  const std::uint64_t one = tokens_of(model, question, {"a"}),
                      three = tokens_of(model, question, {"a", "a", "a"});
  return {three > one + 2 ? (three - one - 2 + 1) / 2 : 0, one};
}

std::uint64_t tokens_of(const ServedModel& model, const Json& message) {
  const Json content = message["content"];
  const std::string text =
      content.is_string() && message["tool_calls"].is_null() ? content.string() : message.dump();
  return model.engine().tokenize(text).size();
}

// Messages [first, end) in parts that begin where `begins` says so.
struct Part {
  std::size_t begin;
  std::uint64_t n_tokens;
};
template <class Begins>
std::vector<Part> parts_of(const std::vector<std::uint64_t>& tokens, std::size_t first,
                           Begins begins) {
  std::vector<Part> parts;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    if (parts.empty() || begins(i)) parts.push_back({i, 0});
    parts.back().n_tokens += tokens[i];
  }
  return parts;
}

// Which messages are left when `first` parts of `parts` go, those in front of them among them.
struct Cut {
  std::size_t begin = 0, end = 0;  // what goes
};

Cut cut_of(const std::vector<Part>& parts, std::uint64_t n_fixed, std::uint64_t window,
           std::size_t n_more) {
  std::vector<std::uint64_t> tokens;
  for (const Part& part : parts) tokens.push_back(part.n_tokens);
  const std::size_t n =
      std::min(cli::exchanges_that_go(tokens, n_fixed, window) + n_more, parts.size() - 1);
  return {parts.front().begin, parts[n].begin};
}

class Slide {
 public:
  Slide(const ServedModel& model, const Question& question, const Messages& messages)
      : messages_(messages) {
    const Markup markup = markup_of(model, question);
    n_fixed_ = markup.in_front;
    for (const Json& message : messages)
      tokens_.push_back(markup.around + tokens_of(model, message));
    window_ = model.facts().engine.context_tokens;
    const auto is_question = [this](std::size_t i) { return is_from(messages_[i], "user"); };
    std::size_t first = 0;
    while (first < messages.size() && !is_question(first)) n_fixed_ += tokens_[first++];
    exchanges_ = parts_of(tokens_, first, is_question);
    if (exchanges_.empty()) return;
    const std::size_t last = exchanges_.back().begin;
    calls_ = parts_of(tokens_, last + 1,
                      [this](std::size_t i) { return is_from(messages_[i], "assistant"); });
  }

  // How many more parts may go than are too many.
  std::size_t n_most() const { return exchanges_.size() + calls_.size(); }

  // What is left when so many more go.
  Messages left(std::size_t n_more) const {
    if (exchanges_.empty()) return messages_;
    const Cut old = cut_of(exchanges_, n_fixed_, window_, n_more);
    const std::size_t last = exchanges_.back().begin, n_before = exchanges_.size() - 1;
    Cut call{last + 1, last + 1};
    if (old.end == last && calls_.size() > 1)
      call = cut_of(calls_, n_fixed_ + tokens_[last], window_,
                    n_more > n_before ? n_more - n_before : 0);
    Messages left;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const bool goes = (i >= old.begin && i < old.end) || (i >= call.begin && i < call.end);
      if (!goes) left.push_back(messages_[i]);
    }
    return left;
  }

 private:
  const Messages& messages_;
  std::uint64_t n_fixed_ = 0, window_ = 0;
  std::vector<std::uint64_t> tokens_;  // [messages]
  std::vector<Part> exchanges_, calls_;
};

bool fits(const ServedModel& model, const Question& question) {
  const std::size_t answer = question.sampling.max_tokens == 0 ? 0 : 1;
  return model.prompt_of(question).tokens().size() + answer <= model.facts().engine.context_tokens;
}

// A token has a byte at least, but for those that a template writes: no more than there are bytes.
bool fits_certainly(const ServedModel& model, const Question& question) {
  return question.chat.dump().size() < model.facts().engine.context_tokens / 2;
}

Question with(const Question& question, const Messages& messages) {
  Json list = Json::array();
  for (const Json& message : messages) list.push(message);
  Question shorter = question;
  shorter.chat.set("messages", list);
  return shorter;
}

}  // namespace

void slide_window(const ServedModel& model, Question* question) {
  if (question->chat.is_null() || question->of_schema) return;
  if (fits_certainly(model, *question) || fits(model, *question)) return;
  const Messages messages = question->chat["messages"].items();
  const Slide slide(model, *question, messages);
  const auto does = [&](std::size_t n_more) {
    const Messages left = slide.left(n_more);
    return left.size() < messages.size() && fits(model, with(*question, left));
  };
  // Most often what was counted is right. Else the fewest that are enough, since each try writes
  // all.
  std::size_t n_more = 0;
  if (!does(0)) {
    std::size_t most = slide.n_most();
    if (!does(most)) return;  // it is refused as it is
    for (std::size_t too_few = 0; most - too_few > 1;) {
      const std::size_t middle = too_few + (most - too_few) / 2;
      (does(middle) ? most : too_few) = middle;
    }
    n_more = most;
  }
  const Messages left = slide.left(n_more);
  *question = with(*question, left);
  question->n_dropped = messages.size() - left.size();
}

}  // namespace pc::serve
