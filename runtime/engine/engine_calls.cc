// How an engine's model writes calls of tools.

#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/calls/writing/call_learning.h"
#include "runtime/engine/engine.h"

namespace pc {
namespace {

// What the template refuses teaches something; that memory ran out does not, and is no shape for
// good: std::call_once asks again.
template <class T>
bool is_there(const Result<T>& result) {
  if (!result.ok() && result.error().code == Code::kOutOfMemory) throw std::bad_alloc();
  return result.ok();
}

// A conversation that ends with an answer, whose turn nothing is asked behind.
std::optional<std::string> rendered(const Engine& engine, Json conversation) {
  const auto request = read_chat(conversation.set("add_generation_prompt", false).dump());
  if (!is_there(request)) return std::nullopt;
  const auto text =
      engine.whole_chat()->write(*request, [&](std::string_view said, std::size_t from) {
        return engine.tokenizer().find_control(said, from);
      });
  return is_there(text) ? std::optional(text->text()) : std::nullopt;
}

}  // namespace

const std::optional<calls::CallShape>& Engine::call_shape() const {
  std::call_once(learns_calls_, [this] {
    if (whole_chat_)
      call_shape_ = calls::learn_call_shape(
          [this](const Json& conversation) { return rendered(*this, conversation); });
  });
  return call_shape_;
}

}  // namespace pc
