// Fuzzes the two readers of chat formats: the JSON file, and the recognition of
// a model's Jinja template. Each gets the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pml/chat_template.h"
#include "pml/jinja_shape.h"
#include "runtime/chat_template_file.h"

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
  require(pc::pml::jinja_shape(text).size() <= 2 * size);
  if (const auto known = pc::pml::recognise_chat_template(text))
    require(pc::pml::find_chat_template(known->name).has_value());
  return 0;
}
