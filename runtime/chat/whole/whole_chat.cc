#include "runtime/chat/whole/whole_chat.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "runtime/chat/whole/content_parts.h"
#include "runtime/chat/whole/dropped_calls.h"
#include "runtime/chat/whole/text_marks.h"
#include "runtime/chat/whole/tool_ranges.h"

namespace pc {
namespace {

using jinja::Value;

// Something that is put into a text, at a byte of it. At one byte, what has the lower rank is
// first.
struct Insertion {
  std::size_t at;
  int rank;
  const std::string* mark;
};

std::string with_insertions(const std::string& text, std::vector<Insertion> insertions) {
  std::ranges::stable_sort(insertions, [](const Insertion& a, const Insertion& b) {
    return std::pair(a.at, a.rank) < std::pair(b.at, b.rank);
  });
  std::string out;
  std::size_t done = 0;
  for (const Insertion& insertion : insertions) {
    out.append(text, done, insertion.at - done).append(*insertion.mark);
    done = insertion.at;
  }
  return out.append(text, done);
}

// Without the white space at its ends, which a template may strip.
TextRange core(std::string_view text) {
  const std::size_t end = trim_end(text).size();
  return {end - trim_begin(text.substr(0, end)).size(), end};
}

Status check_no_calls(const ChatRequest& request) {
  for (std::size_t i = 0; i < request.messages.size(); ++i)
    for (const auto& [key, value] : request.messages[i].fields)
      if (key.text() == "tool_calls" && value.is(jinja::Kind::kList) && !value.items().empty())
        return error(Code::kUnsupported,
                     "the model's chat template writes no calls of tools: those of message " +
                         std::to_string(i + 1) + " would be lost");
  return ok();
}

// One conversation on its way through the template.
class Writing {
 public:
  Writing(const ChatProgram& program, const ChatClock& clock, const ContentParts& forms,
          const ChatRequest& request, const FindControl& find_control)
      : program_(program), forms_(forms), request_(request), find_control_(find_control) {
    options_.add_generation_prompt = request.opens_answer;
    options_.clock = clock;
  }

  Result<ChatText> write() {
    PC_CHECK_OK(choose_marks());
    PC_CHECK_OK(make_texts_safe());
    PC_TRY(const Unmarked plain, render(safe_tools_, false));
    text_ = plain.text;
    for (const Unmarked::Mark& mark : plain.marks) add_spelling(mark);
    find_contents();
    PC_CHECK_OK(find_modules());
    if (request_.continues_last) PC_CHECK_OK(end_with_last());
    const std::size_t before = head();
    ChatText cut = cut_chat(text_, plain_, modules_, before, std::min(before, opening()));
    cut.remarks = std::move(remarks_);
    return cut;
  }

 private:
  // The marks' numbers.
  static constexpr std::size_t kSpelling = 0;
  std::size_t content_mark(std::size_t message) const { return 1 + 2 * message; }
  std::size_t part_mark(std::size_t part) const {
    return 1 + 2 * request_.messages.size() + 2 * part;
  }
  std::size_t tool_mark() const { return part_mark(n_parts_); }

  Status choose_marks() {
    std::vector<Value> values;
    for (const ChatMessage& message : request_.messages) {
      first_parts_.push_back(n_parts_);
      n_parts_ += message.parts.size();
      PC_TRY(values.emplace_back(), jinja::make_string(nullptr, message.text()));
      PC_TRY(values.emplace_back(), jinja::make_dict(nullptr, message.fields));
    }
    for (const ChatTool& tool : request_.tools) values.push_back(tool.value);
    for (const auto& [name, value] : request_.variables) values.push_back(value);
    PC_TRY(marks_, TextMarks::choose(tool_mark() + request_.tools.size() + 1, values));
    return ok();
  }

  // A mark behind the first character of each control token that a text spells.
  std::vector<Insertion> spellings(const std::string& text) const {
    std::vector<Insertion> found;
    for (auto at = find_control_(text, 0); at; at = find_control_(text, *at + 1))
      found.push_back({*at + utf8_length(text[*at]), 4, &marks_[kSpelling]});
    return found;
  }

  // Of a content: not those that begin in a part whose control tokens are meant.
  std::vector<Insertion> unmeant_spellings(const ChatMessage& message,
                                           const std::string& text) const {
    std::vector<Insertion> found = spellings(text);
    std::size_t begin = 0;
    for (const ChatPart& part : message.parts) {
      const std::size_t end = begin + part.text.size();
      if (part.has_controls)
        std::erase_if(found, [&](const Insertion& i) { return begin < i.at && i.at <= end; });
      begin = end;
    }
    return found;
  }

  Result<Value> safe(const Value& value) const {
    return with_texts(
        value, [this](const std::string& text) { return with_insertions(text, spellings(text)); });
  }

  Status make_texts_safe() {
    for (const ChatTool& tool : request_.tools) {
      PC_TRY(Value made, safe(tool.value));
      safe_tools_.push_back(std::move(made));
    }
    for (const auto& [name, value] : request_.variables) {
      PC_TRY(options_.variables[name], safe(value));
    }
    return ok();
  }

  std::string content(std::size_t index, bool marked) const {
    const ChatMessage& message = request_.messages[index];
    const std::string text = message.text();
    std::vector<Insertion> insertions = unmeant_spellings(message, text);
    if (!marked) return with_insertions(text, std::move(insertions));
    const auto enclose = [&](const TextRange& range, std::size_t mark, int open, int close) {
      if (range.begin == range.end) return;
      insertions.push_back({range.begin, open, &marks_[mark]});
      insertions.push_back({range.end, close, &marks_[mark + 1]});
    };
    enclose(core(text), content_mark(index), 2, 1);
    std::size_t begin = 0, number = first_parts_[index];
    for (const ChatPart& part : message.parts) {
      const TextRange own = core(part.text);
      if (part.is_module) enclose({begin + own.begin, begin + own.end}, part_mark(number), 3, 0);
      begin += part.text.size();
      ++number;
    }
    return with_insertions(text, std::move(insertions));
  }

  // Of parts that the template writes itself: the texts of each. What stands at a border is the
  // begin of the part behind it where it opens one, and else the end of the one before.
  std::vector<std::string> parts_of(std::size_t index, bool marked) const {
    const ChatMessage& message = request_.messages[index];
    std::vector<Insertion> spelled = unmeant_spellings(message, message.text());
    std::vector<std::string> texts;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < message.parts.size(); ++i) {
      const std::string& text = message.parts[i].text;
      const std::size_t mark = part_mark(first_parts_[index] + i), end = begin + text.size();
      std::vector<Insertion> insertions;
      for (const Insertion& insertion : spelled)
        if (insertion.at > begin && insertion.at <= end)
          insertions.push_back({insertion.at - begin, insertion.rank, insertion.mark});
      if (const TextRange own = core(text); marked && own.begin < own.end) {
        insertions.push_back({own.begin, 3, &marks_[mark]});
        insertions.push_back({own.end, 0, &marks_[mark + 1]});
      }
      texts.push_back(with_insertions(text, std::move(insertions)));
      begin = end;
    }
    return texts;
  }

  // Does the template write the parts of this message's content itself?
  bool writes_parts(const ChatMessage& message) const {
    return message.in_parts && forms_.writes(message.role);
  }

  Result<Value> content_value(std::size_t index, bool marked) const {
    if (writes_parts(request_.messages[index])) return parts_value(parts_of(index, marked));
    std::string text = content(index, marked);
    return forms_.only() ? parts_value({std::move(text)})
                         : jinja::make_string(nullptr, std::move(text));
  }

  Result<Value> message_value(std::size_t index, bool marked) const {
    const ChatMessage& message = request_.messages[index];
    PC_TRY(const Value fields, jinja::make_dict(nullptr, message.fields));
    PC_TRY(const Value safe_fields, safe(fields));
    auto entries = safe_fields.dict().entries;
    if (message.content == ChatMessage::Content::kNull)
      entries.emplace_back(jinja::word("content"), jinja::none());
    if (message.content == ChatMessage::Content::kText) {
      PC_TRY(Value value, content_value(index, marked));
      entries.emplace_back(jinja::word("content"), std::move(value));
    }
    return jinja::make_dict(nullptr, std::move(entries));
  }

  Result<Unmarked> render(const std::vector<Value>& tools, bool marked) const {
    std::vector<Value> messages;
    for (std::size_t i = 0; i < request_.messages.size(); ++i) {
      PC_TRY(Value message, message_value(i, marked));
      messages.push_back(std::move(message));
    }
    PC_TRY(const Value list, jinja::make_list(nullptr, std::move(messages)));
    PC_TRY(const Value tool_list, jinja::make_list(nullptr, tools));
    const bool has_list = !tools.empty() || (request_.has_tool_list && request_.tools.empty());
    PC_TRY(const std::string text,
           program_.render(list, has_list ? tool_list : jinja::none(), options_));
    return marks_.take_out(text);
  }

  // The character in front of this mark is text.
  void add_spelling(const Unmarked::Mark& mark) {
    std::size_t begin = mark.at;
    while (begin > 0 && (static_cast<unsigned char>(text_[--begin]) & 0xC0) == 0x80) continue;
    plain_.push_back({begin, mark.at});
  }

  struct Found {
    std::size_t at = 0, times = 0;
  };
  // [marks], in one pass: a conversation may have as many as there are marks.
  std::vector<Found> find_marks(const Unmarked& text) const {
    std::vector<Found> found(tool_mark() + request_.tools.size() + 1);
    for (const Unmarked::Mark& mark : text.marks) {
      found[mark.number].at = mark.at;
      ++found[mark.number].times;
    }
    return found;
  }

  // What stands between a mark and the next, where both are there once and in order.
  static std::optional<TextRange> range_of(const std::vector<Found>& marks, std::size_t open) {
    const Found &begin = marks[open], &end = marks[open + 1];
    if (begin.times != 1 || end.times != 1 || begin.at > end.at) return std::nullopt;
    return TextRange{begin.at, end.at};
  }

  void find_contents() {
    contents_.resize(request_.messages.size());
    parts_.resize(n_parts_);
    const auto marked = render(safe_tools_, true);
    if (!marked.ok() || marked->text != text_) return;
    const std::vector<Found> found = find_marks(*marked);
    for (std::size_t i = 0; i < contents_.size(); ++i)
      contents_[i] = range_of(found, content_mark(i));
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i] = range_of(found, part_mark(i));
    std::size_t end = 0;
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      const ChatMessage& message = request_.messages[i];
      if (writes_parts(message)) {
        contents_[i] = range_of_parts(i);
        for (std::size_t part = 0; part < message.parts.size(); ++part)
          if (!message.parts[part].has_controls) add_plain(parts_[first_parts_[i] + part], &end);
      } else if (!message.has_controls()) {
        add_plain(contents_[i], &end);
      }
    }
  }

  void add_plain(const std::optional<TextRange>& range, std::size_t* end) {
    if (!range || range->begin < *end) return;
    plain_.push_back(*range);
    *end = range->end;
  }

  // From the first part that has a text to the last, where all are there, in order.
  std::optional<TextRange> range_of_parts(std::size_t index) const {
    std::optional<TextRange> all;
    const std::vector<ChatPart>& parts = request_.messages[index].parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (const TextRange own = core(parts[i].text); own.begin == own.end) continue;
      const auto& range = parts_[first_parts_[index] + i];
      if (!range || (all && range->begin < all->end)) return std::nullopt;
      all = TextRange{all ? all->begin : range->begin, range->end};
    }
    return all;
  }

  Status find_modules() {
    for (std::size_t i = 0, number = 0; i < request_.messages.size(); ++i) {
      for (const ChatPart& part : request_.messages[i].parts) {
        const auto& range = parts_[number++];
        if (part.is_module) add_module(range, "a part of message " + std::to_string(i + 1));
      }
    }
    if (std::ranges::any_of(request_.tools, &ChatTool::is_module)) find_tools();
    std::ranges::sort(modules_, {}, &TextRange::begin);
    for (std::size_t i = 1; i < modules_.size(); ++i)
      if (modules_[i].begin < modules_[i - 1].end)
        return error(Code::kUnsupported, "the chat template writes one module inside another");
    return ok();
  }

  void add_module(const std::optional<TextRange>& range, const std::string& what) {
    if (range && range->begin < range->end)
      modules_.push_back(*range);
    else
      remarks_.push_back(what +
                         " cannot be a module: the chat template changes its text, or writes " +
                         "it never or twice");
  }

  void find_tools() {
    const auto ranges =
        tool_ranges(safe_tools_, text_, marks_, tool_mark(),
                    [this](const std::vector<Value>& tools) { return render(tools, false); });
    if (!ranges.ok()) {
      remarks_.push_back("tools cannot be modules: the chat template " + ranges.error().message);
      return;
    }
    for (std::size_t i = 0; i < request_.tools.size(); ++i)
      if (request_.tools[i].is_module) modules_.push_back((*ranges)[i]);
  }

  Status end_with_last() {
    const auto& last = contents_.back();
    if (!last)
      return error(Code::kUnsupported,
                   "the model's chat template changes the text of the last message, so that it "
                   "cannot be gone on with");
    const std::string text = request_.messages.back().text();
    const std::string_view space = std::string_view(text).substr(core(text).end);
    std::size_t end = last->end;
    if (text_.compare(end, space.size(), space) == 0) end += space.size();
    text_.resize(end);
    return ok();
  }

  // What all modules see: the text before the first one, where that stands in the system's message
  // or the first of the user's; else the system's message.
  std::size_t head() const {
    if (modules_.empty()) return 0;
    const std::size_t before = modules_.front().begin;
    const bool has_system = request_.messages[0].role == "system";
    const std::size_t first = has_system ? 1 : 0;
    const bool is_early =
        first >= contents_.size() || !contents_[first] || before <= contents_[first]->end;
    if (is_early) return before;
    return has_system && contents_[0] ? contents_[0]->end : 0;
  }

  // Up to the first content that is not empty; nothing where the template changes that.
  std::size_t opening() const {
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      const std::string text = request_.messages[i].text();
      if (const TextRange own = core(text); own.begin < own.end)
        return contents_[i] ? contents_[i]->begin : 0;
    }
    return text_.size();
  }

  const ChatProgram& program_;
  const ContentParts& forms_;
  const ChatRequest& request_;
  const FindControl& find_control_;
  ChatOptions options_;
  TextMarks marks_;
  std::vector<std::size_t> first_parts_;  // [messages] of all parts
  std::size_t n_parts_ = 0;
  std::vector<Value> safe_tools_;
  std::string text_;
  std::vector<TextRange> plain_, modules_;
  std::vector<std::optional<TextRange>> contents_, parts_;  // where they stand as they are
  std::vector<std::string> remarks_;
};

}  // namespace

WholeChat::WholeChat(ChatProgram program, ChatClock clock)
    : program_(std::move(program)),
      clock_(std::move(clock)),
      forms_(program_, clock_),
      drops_calls_(drops_calls(program_, clock_)) {}

Result<ChatText> WholeChat::write(const ChatRequest& request,
                                  const FindControl& find_control) const {
  if (drops_calls_) PC_CHECK_OK(check_no_calls(request));
  return Writing(program_, clock_.standing(), forms_, request, find_control).write();
}

}  // namespace pc
