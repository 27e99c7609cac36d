// Fuzzes the reader of a chat format's JSON file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pml/turns/chat_template.h"
#include "runtime/chat/program/chat_template_file.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

bool fits(const pc::pml::RoleStrings& strings) {
  return strings.prefix.size() <= pc::kMaxRoleStringBytes &&
         strings.suffix.size() <= pc::kMaxRoleStringBytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto chat = pc::parse_chat_template(text, "fuzz");
  if (chat.ok())
    require(fits(chat->system) && fits(chat->user) && fits(chat->assistant));
  else
    require(!chat.error().message.empty());
  return 0;
}
