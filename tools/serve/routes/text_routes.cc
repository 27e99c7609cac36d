// The routes that compute nothing: texts, tokens, and what a request would cost.
#include <utility>

#include "tools/serve/answer/prompt_echo.h"
#include "tools/serve/anthropic/anthropic.h"
#include "tools/serve/http/json_reply.h"
#include "tools/serve/openai/openai_text.h"
#include "tools/serve/request/fields.h"
#include "tools/serve/routes/explaining.h"
#include "tools/serve/routes/routes.h"

namespace pc::serve {
namespace {

Json tokens_json(const std::vector<std::int32_t>& tokens) {
  Json list = Json::array();
  for (const std::int32_t token : tokens) list.push(token);
  return Json::object().set("tokens", list);
}

// Whole characters of text, or bytes.
Json piece_json(const std::string& piece) {
  if (Json::read(Json(piece).dump()) == Json(piece)) return piece;
  Json bytes = Json::array();
  for (const char c : piece) bytes.push(static_cast<unsigned>(static_cast<unsigned char>(c)));
  return bytes;
}

Json with_pieces(const std::vector<std::int32_t>& tokens, const promptcache::Engine& engine) {
  Json list = Json::array();
  for (const std::int32_t token : tokens) {
    const std::string piece = shown(engine, {token, 0}).bytes;
    list.push(Json::object().set("id", token).set("piece", piece_json(piece)));
  }
  return Json::object().set("tokens", list);
}

Json tokenize(const Json& body, const ServedModel& model) {
  Fields fields(body);
  const std::string text = fields.required_string("content");
  std::uint32_t flags = fields.boolean("parse_special").value_or(true) ? PC_TEXT_CONTROLS : 0;
  if (fields.boolean("add_special").value_or(false)) flags |= PC_TEXT_BOS;
  const std::vector<std::int32_t> tokens = model.engine().tokenize(text, flags);
  return fields.boolean("with_pieces").value_or(false) ? with_pieces(tokens, model.engine())
                                                       : tokens_json(tokens);
}

Json detokenize(const Json& body, const ServedModel& model) {
  Fields fields(body);
  const auto list = fields.array("tokens");
  if (!list) fields.refuse("tokens", "is missing: a list");
  std::vector<std::int32_t> tokens;
  for_each_item(*list, "tokens", [&](const Json& item, const std::string& path) {
    const auto token = item.integer();
    if (!token || *token < 0 || *token >= model.facts().engine.vocab_size)
      throw ApiError::bad_request(path + " is no token of this model", path);
    tokens.push_back(static_cast<std::int32_t>(*token));
  });
  return Json::object().set("content", model.engine().detokenize(tokens.data(), tokens.size()));
}

// Also of more than fit into the window: who asks wants to know how much to leave out.
Json count_tokens(const Json& body, const ServedModel& model) {
  const AnthropicRequest request = read_anthropic(body, model.facts(), true);
  return Json::object().set("input_tokens", model.prompt_of(request.question).n_tokens());
}

Json apply_template(const Json& body, const ServedModel& model) {
  return Json::object().set("prompt", model.text_of(question_of(body, model.facts())));
}

}  // namespace

void add_text_routes(Service* service, Router* router) {
  const auto post = [router](const char* path, Json (*make)(const Json&, const ServedModel&)) {
    router->add_of_model("POST", path, [make](const Asked& asked, const auto& reply) {
      send(reply, make(asked.body, asked.model()));
    });
  };
  post("/tokenize", tokenize);
  post("/detokenize", detokenize);
  post("/apply-template", apply_template);
  router->add_of_model("POST", "/v1/prompt_cache/explain",
                       [service](const Asked& asked, const auto& reply) {
                         Question question = question_of(asked.body, asked.model().facts());
                         service->complete(asked.http, &question);
                         send(reply, explain(&asked.loaded->planner, question));
                       });
  router->add_of_model(
      "POST", "/v1/messages/count_tokens",
      [](const Asked& asked, const auto& reply) {
        send(reply, count_tokens(asked.body, asked.model()));
      },
      Protocol::kAnthropic);
}

}  // namespace pc::serve
