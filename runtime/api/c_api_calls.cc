// The C API's tools: how their calls are read out of answers, demanded, and written.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_grammar.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/calls/reading/call_stream.h"
#include "runtime/calls/writing/call_grammar.h"
#include "runtime/calls/writing/called_answer.h"

namespace {

using pc::Code;
using pc::Json;
using pc::Result;
using pc::Status;
using pc::calls::CallPiece;
using pc::calls::CallReading;
using pc::calls::CallShape;
using pc::calls::CallStream;
using pc::constrain::Grammar;
using namespace pc::capi;

static_assert(static_cast<int>(CallPiece::Kind::kText) == PC_ANSWER_TEXT &&
              static_cast<int>(CallPiece::Kind::kName) == PC_ANSWER_CALL &&
              static_cast<int>(CallPiece::Kind::kArguments) == PC_ANSWER_ARGUMENTS &&
              static_cast<int>(CallPiece::Kind::kEnd) == PC_ANSWER_CALL_END);

}  // namespace

struct pc_tools {
  // What readers share; immutable.
  struct Known {
    std::shared_ptr<const pc::Engine> engine;  // which has the shape
    Json list;
    pc::calls::ToolTypes types;

    const CallShape& shape() const { return *engine->call_shape(); }
  };
  std::shared_ptr<const Known> tools;
};

struct pc_call_reader {
  std::shared_ptr<const pc_tools::Known> tools;
  CallStream stream;  // borrows of tools
  bool is_over = false;
  std::vector<CallPiece> pieces = {};
  std::vector<pc_answer_piece> given = {};  // borrows of pieces
};

namespace {

constexpr std::size_t kMostMessageBytes = std::size_t{64} << 20;

Status check_tools(const Json& list) {
  if (!list.is_array()) return pc::error(Code::kInvalidArgument, "tools must be a list");
  const std::vector<Json> tools = list.items();
  for (std::size_t i = 0; i < tools.size(); ++i)
    if (!tools[i].is_object() || tools[i]["function"]["name"].view().empty())
      return pc::error(Code::kInvalidArgument,
                       "tools[" + std::to_string(i) + "].function.name must be a string");
  return pc::ok();
}

Result<CallReading> reading_of(std::uint32_t flags) {
  if ((flags & ~std::uint32_t{PC_CALLS_FORCED | PC_CALLS_AS_WRITTEN}) != 0)
    return pc::error(Code::kUnsupported,
                     "flags has a bit that this version of the library does not know");
  return CallReading{.must_call = (flags & PC_CALLS_FORCED) != 0,
                     .takes_loose_calls = (flags & PC_CALLS_AS_WRITTEN) == 0};
}

// Calls of the tool of this name, or of each; and what else the answer may be.
Result<Grammar> grammar_of(const pc_tools::Known& tools, const char* name, std::string_view form) {
  const CallShape shape =
      pc::calls::marked(tools.shape(), tools.engine->constrainer().vocabulary());
  std::vector<Grammar> alternatives;
  std::size_t number = 0;
  for (const Json& tool : tools.list.items()) {
    const Json function = tool["function"];
    const std::string where = "tools[" + std::to_string(number) + "].function.name";
    const bool is_wanted = !name || function["name"].view() == name;
    if (is_wanted && !pc::calls::can_name(shape, function["name"].view()))
      return pc::error(Code::kUnsupported, where + ": " + pc::calls::kBareNames);
    if (is_wanted) alternatives.push_back(pc::calls::call_grammar(shape, function, number));
    ++number;
  }
  if (alternatives.empty())
    return pc::error(Code::kInvalidArgument,
                     name ? "there is no tool called \"" + std::string(name) + "\" among the tools"
                          : std::string("there are no tools to call"));
  if (form.data()) {
    PC_TRY(Grammar grammar, schema_grammar(form));
    alternatives.push_back(std::move(grammar));
  }
  return alternatives.size() == 1 ? alternatives.front() : pc::constrain::choice(alternatives);
}

Json as_json(const pc::calls::ReadAnswer& answer) {
  Json calls = Json::array();
  for (const pc::calls::ToolCall& call : answer.calls)
    calls.push(Json::object()
                   .set("name", call.name)
                   .set("arguments", call.arguments)
                   .set("whole", call.is_whole));
  return Json::object().set("content", answer.text).set("tool_calls", calls);
}

void add(std::vector<CallPiece> more, std::vector<CallPiece>* pieces) {
  for (CallPiece& piece : more) pieces->push_back(std::move(piece));
}

}  // namespace

extern "C" {

pc_status pc_tools_read(const pc_engine* engine, const char* tools, std::size_t bytes,
                        pc_tools** read, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(tools);
    PC_REQUIRE(read);
    PC_TRY(Json list, read_json(view_of(tools, bytes), kMostMessageBytes, "tools"));
    PC_CHECK_OK(check_tools(list));
    if (!engine->engine->call_shape())
      return pc::error(Code::kUnsupported,
                       "this model's chat template writes no calls of tools that could be read "
                       "back; give it one that does (chat_template)");
    pc::calls::ToolTypes types(list);
    *read = new pc_tools{std::make_shared<const pc_tools::Known>(
        pc_tools::Known{engine->engine, std::move(list), std::move(types)})};
    return pc::ok();
  });
}

void pc_tools_close(pc_tools* tools) {
  delete tools;
}

pc_status pc_chat_called(const pc_engine* engine, const char* message, std::size_t bytes,
                         char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(engine);
    PC_REQUIRE(message);
    PC_REQUIRE(json);
    PC_TRY(const Json read, read_json(view_of(message, bytes), kMostMessageBytes, "message"));
    PC_TRY(const Json with_objects, pc::calls::with_argument_objects(read));
    const bool has_calls = !read["tool_calls"].items().empty();
    if (!has_calls || !engine->engine->call_shape()) return give(with_objects.dump(), json);
    return give(pc::calls::called_answer(with_objects, *engine->engine->call_shape()).dump(), json);
  });
}

pc_status pc_constraint_from_tools(const pc_tools* tools, const char* name, const char* form,
                                   std::size_t form_bytes, pc_constraint** constraint,
                                   pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(tools);
    PC_REQUIRE(constraint);
    const std::string_view schema = form ? view_of(form, form_bytes) : std::string_view();
    PC_TRY(const Grammar grammar, grammar_of(*tools->tools, name, schema));
    PC_TRY(auto begin, tools->tools->engine->constrainer().compile(grammar));
    *constraint = new pc_constraint{tools->tools->engine, std::move(begin)};
    return pc::ok();
  });
}

pc_status pc_call_reader_open(const pc_tools* tools, std::uint32_t flags, pc_call_reader** reader,
                              pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(tools);
    PC_REQUIRE(reader);
    PC_TRY(const CallReading reading, reading_of(flags));
    const pc_tools::Known& of = *tools->tools;
    *reader = new pc_call_reader{tools->tools, CallStream(of.shape(), of.types, reading)};
    return pc::ok();
  });
}

pc_status pc_call_reader_push(pc_call_reader* reader, const char* text, std::size_t bytes,
                              const pc_answer_piece** pieces, std::size_t* n, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(reader);
    PC_REQUIRE(pieces);
    PC_REQUIRE(n);
    if (reader->is_over)
      return pc::error(Code::kInvalidArgument,
                       "the answer is over, or a call before failed: another reader reads anew");
    reader->is_over = true;  // until nothing failed
    reader->pieces = text ? reader->stream.push(view_of(text, bytes)) : reader->stream.finish();
    reader->given.clear();
    for (const CallPiece& piece : reader->pieces)
      reader->given.push_back(
          {static_cast<std::int32_t>(piece.kind), piece.text.c_str(), piece.text.size()});
    *pieces = reader->given.data();
    *n = reader->given.size();
    reader->is_over = !text;
    return pc::ok();
  });
}

void pc_call_reader_close(pc_call_reader* reader) {
  delete reader;
}

pc_status pc_calls_read(const pc_tools* tools, std::uint32_t flags, const char* answer,
                        std::size_t bytes, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(tools);
    PC_REQUIRE(answer);
    PC_REQUIRE(json);
    PC_TRY(const CallReading reading, reading_of(flags));
    CallStream stream(tools->tools->shape(), tools->tools->types, reading);
    std::vector<CallPiece> pieces = stream.push(view_of(answer, bytes));
    add(stream.finish(), &pieces);
    return give(as_json(pc::calls::gather(pieces)).dump(), json);
  });
}

}  // extern "C"
