#include "tools/serve/openai/openai_logprobs.h"

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

Json text_logprobs(const std::vector<DrawnToken>& tokens, std::size_t offset) {
  Json texts = Json::array(), chances = Json::array(), tops = Json::array(),
       offsets = Json::array();
  for (const DrawnToken& drawn : tokens) {
    texts.push(drawn.token.bytes);
    chances.push(static_cast<double>(drawn.token.logprob));
    Json top = Json::object();
    for (const TokenChance& token : drawn.top)
      top.set(token.bytes, static_cast<double>(token.logprob));
    tops.push(top);
    offsets.push(offset);
    offset += drawn.token.bytes.size();
  }
  return Json::object()
      .set("tokens", texts)
      .set("token_logprobs", chances)
      .set("top_logprobs", tops)
      .set("text_offset", offsets);
}

}  // namespace pc::serve
