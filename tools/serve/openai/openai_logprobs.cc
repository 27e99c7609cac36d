#include "tools/serve/openai/openai_logprobs.h"

#include <algorithm>

namespace pc::serve {
namespace {

Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push(static_cast<unsigned>(static_cast<unsigned char>(c)));
  return bytes;
}

Json json_of(const TokenChance& token) {
  return Json::object()
      .set("token", token.bytes)
      .set("logprob", static_cast<double>(token.logprob))
      .set("bytes", bytes_of(token.bytes));
}

// The likeliest, and the one that stands there where it is none of them.
Json top_of(const DrawnToken& drawn) {
  Json top = Json::object();
  for (const TokenChance& token : drawn.top)
    top.set(token.bytes, static_cast<double>(token.logprob));
  if (top[drawn.token.bytes].is_null())
    top.set(drawn.token.bytes, static_cast<double>(drawn.token.logprob));
  return top;
}

std::size_t characters_of(const DrawnToken& drawn) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return drawn.is_apart
             ? 0
             : static_cast<std::size_t>(std::ranges::count_if(drawn.token.bytes, begins));
}

}  // namespace

Json chat_logprobs(const std::vector<DrawnToken>& tokens) {
  Json list = Json::array();
  for (const DrawnToken& drawn : tokens) {
    Json top = Json::array();
    for (const TokenChance& token : drawn.top) top.push(json_of(token));
    list.push(json_of(drawn.token).set("top_logprobs", top));
  }
  return list;
}

Json text_logprobs(const std::vector<DrawnToken>& tokens, std::size_t* offset) {
  Json texts = Json::array(), chances = Json::array(), tops = Json::array(),
       offsets = Json::array();
  for (const DrawnToken& drawn : tokens) {
    texts.push(drawn.token.bytes);
    chances.push(drawn.has_chance ? Json(static_cast<double>(drawn.token.logprob)) : Json());
    tops.push(drawn.has_chance ? top_of(drawn) : Json());
    offsets.push(*offset);
    *offset += characters_of(drawn);
  }
  return Json::object()
      .set("tokens", texts)
      .set("token_logprobs", chances)
      .set("top_logprobs", tops)
      .set("text_offset", offsets);
}

}  // namespace pc::serve
