// Fuzzes chat templates: the first line of the input is a conversation in JSON, the
// rest the template. Whatever it is, parsing and rendering end within small
// limits, with a text or a sentence.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "runtime/chat/program/chat_program.h"
#include "runtime/chat/turns/turn_texts.h"
#include "runtime/jinja/library/json.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

constexpr pc::jinja::Limits kSmall = {
    .steps = 100'000, .live_bytes = 1 << 20, .output_bytes = 1 << 16, .depth = 400};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line_end = input.find('\n');
  if (line_end == input.npos) return 0;
  auto messages = pc::jinja::value_from_json(input.substr(0, line_end), "fuzz");
  if (!messages.ok()) require(messages.error().message.starts_with("fuzz: "));
  const auto program = pc::ChatProgram::parse(input.substr(line_end + 1), {"<s>", "</s>", {}});
  if (!program.ok()) {
    require(!program.error().message.empty());
    return 0;
  }
  pc::ChatOptions options;
  options.clock = pc::ChatClock::at(0);
  options.limits = kSmall;
  options.add_generation_prompt = true;
  const auto text =
      program->render(messages.ok() ? *messages : pc::jinja::none(), pc::jinja::none(), options);
  if (text.ok())
    require(pc::is_utf8(*text) && text->size() <= kSmall.output_bytes);
  else
    require(!text.error().message.empty());
  constexpr pc::pml::Role kRoles[] = {pc::pml::Role::kSystem, pc::pml::Role::kUser};
  const auto turns = pc::turn_texts(*program, kRoles, options);
  require(turns.ok() ? turns->turns.size() == 2 : !turns.error().message.empty());
  return 0;
}
