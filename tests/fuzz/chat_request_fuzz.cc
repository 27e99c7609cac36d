// Fuzzes whole conversations: whatever the JSON is, it is read or refused in words; its text is the
// template's, and no spelling of a control token in what it says is recognised as one, unless a
// part says that it is meant.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/chat/whole/whole_chat.h"

namespace {

constexpr std::string_view kControl = "<|x|>";

void require(bool promise) {
  if (!promise) std::abort();
}

std::optional<std::size_t> find_control(std::string_view text, std::size_t from) {
  const std::size_t at = text.find(kControl, from);
  return at == text.npos ? std::nullopt : std::optional(at);
}

// Tools as a list, as JSON and by parts; contents stripped, split and as they are. It spells no
// control token itself.
const pc::WholeChat& whole_chat() {
  static const pc::WholeChat whole(
      *pc::ChatProgram::parse(
          "{% if tools %}[{% for t in tools %}{{ t | tojson }}{% if not loop.last %}, {% endif %}"
          "{% endfor %}]{% endif %}{% for m in messages %}[{{ m.role }}]"
          "{% if m.content is string and '</t>' in m.content %}{{ m.content.split('</t>')[-1] | "
          "trim }}"
          "{% else %}{{ m.content }}{% endif %}{% for c in m.tool_calls or [] %}{{ c | tojson }}"
          "{% endfor %}{% endfor %}{% if add_generation_prompt %}[assistant]{{ style }}{% endif %}",
          {}),
      pc::ChatClock::at(0));
  return whole;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto chat = pc::read_chat({reinterpret_cast<const char*>(data), size});
  if (!chat.ok()) {
    require(!chat.error().message.empty());
    return 0;
  }
  const auto text = whole_chat().write(*chat, find_control);
  if (!text.ok()) {
    require(!text.error().message.empty());
    return 0;
  }
  const bool is_meant = std::ranges::any_of(chat->messages, &pc::ChatMessage::has_controls);
  std::string region;  // that stands where control tokens count
  for (const pc::ChatSpan& span : text->spans) {
    require(!span.text.empty());
    region = span.markup ? region + span.text : "";
    require(is_meant || region.find(kControl) == region.npos);
  }
  require(text->n_head <= text->spans.size());
  return 0;
}
