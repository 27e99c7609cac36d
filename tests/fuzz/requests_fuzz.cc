// Fuzzes what reads the bodies of requests, and the calls that models write: whatever comes, it is
// read or refused in words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <promptcache/promptcache.hpp>
#include <string>
#include <string_view>

#include "runtime/calls/reading/call_stream.h"
#include "runtime/calls/writing/told_calls.h"
#include "tools/serve/anthropic/anthropic.h"
#include "tools/serve/openai/openai_chat.h"
#include "tools/serve/openai/openai_text.h"
#include "tools/serve/openai/responses_request.h"
#include "tools/serve/request/fields.h"
#include "tools/serve/request/route_path.h"
#include "tools/serve/routes/pml_requests.h"
#include "tools/serve/routes/prompt_schema.h"

namespace {

using namespace pc::calls;
using namespace pc::serve;

void require(bool promise) {
  if (!promise) std::abort();
}

ModelFacts model() {
  ModelFacts facts{"m", {}};
  facts.engine.vocab_size = 100;
  facts.engine.context_tokens = 1000;
  return facts;
}

// Reads it as each protocol does; what is refused has a sentence and a status for the client.
template <class Read>
void read_as(const Json& body, Read read) {
  try {
    read(body, model());
  } catch (const ApiError& error) {
    require(error.status() >= 400 && error.status() < 500);
    require(!error.openai()["error"]["message"].string().empty());
  }
}

void read_calls(std::string_view text) {
  CallShape object, header, parameters, python;
  object.begin = object.between = "<t>";
  object.end = "</t>";
  object.name_key = "name";
  object.arguments_key = "arguments";
  header.kind = CallShape::Kind::kHeader;
  header.begin = header.between = "[T]";
  parameters.kind = CallShape::Kind::kParameters;
  parameters.begin = "<f=";
  parameters.key_open = "><p=";
  parameters.key_close = ">";
  parameters.value_close = "</p";
  parameters.end = "></f>";
  python.kind = CallShape::Kind::kPython;
  python.begin = "<p>";
  python.end = "</p>";
  const ToolTypes types;
  for (const CallShape& shape : {object, header, parameters, python}) {
    const ReadAnswer answer = read_answer(shape, types, text);
    require(!answer.calls.empty() || answer.text == text);  // nothing is lost
  }
}

// What a text tells of calls reads the calls that are written so.
void read_told(const std::string& bytes) {
  const std::string text = Json::read(Json(bytes).dump()).string();  // in UTF-8
  const auto shape = told_call_shape(text);
  if (!shape) return;
  const ToolCall call{"f", Json::object().set("a", text)};
  const Json function = Json::object().set("name", call.name).set("arguments", call.arguments);
  const Json message = Json::object().set(
      "tool_calls", Json::array().push(Json::object().set("function", function)));
  std::string written;
  for (const Json& part : with_told_calls(message, *shape)["content"].items())
    written += part["text"].string();
  require(read_answer(*shape, ToolTypes(), written) == ReadAnswer{"", {call}});
}

// A response's request goes on behind itself.
void read_response(const Json& body, const ModelFacts& model) {
  ResponsesRequest request = read_responses(body, model);
  const Json input = request.conversation;
  go_on(input, &request);
  require(request.conversation.items().size() == 2 * input.items().size());
}

void read_path(const std::string& text) {
  try {
    require(name_in(text).size() <= text.size());
  } catch (const ApiError& error) {
    require(error.status() == 400);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_calls(text);
  read_told(text);
  read_path(text);
  require(text.find(schema_of_prompt(text)) != text.npos);
  try {
    const Json body = read_body(text);
    read_as(body, read_openai_chat);
    read_as(body, read_openai_text);
    read_as(body, read_pml_run);
    read_as(body, read_response);
    read_as(body, [](const Json& json, const ModelFacts&) { read_schema_upload(json); });
    read_as(body, [](const Json& json, const ModelFacts& model) {
      return read_anthropic(json, model, size_t{json.dump().size()} % 2 == 0);
    });
  } catch (const ApiError&) {
  }
  return 0;
}
