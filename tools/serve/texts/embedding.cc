#include "tools/serve/texts/embedding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstring>
#include <span>
#include <string_view>

#include "tools/serve/request/failure_of.h"
#include "tools/serve/texts/watched.h"

namespace pc::serve {
namespace {

using Tokens = std::vector<std::int32_t>;

// What the model's tokenizer puts behind a text stays behind one that is cut.
void cut(Tokens* tokens, std::size_t window, std::size_t n_end) {
  if (tokens->size() <= window) return;
  const auto surplus = static_cast<std::ptrdiff_t>(tokens->size() - window);
  const auto end = tokens->end() - static_cast<std::ptrdiff_t>(n_end);
  tokens->erase(end - surplus, end);
}

// As models that embed are trained: control tokens that a text spells are those.
Tokens tokens_of(const ServedModel& model, const EmbedRequest& request, std::size_t index) {
  const RawPiece& piece = request.texts[index].pieces.front();
  const std::size_t window = model.facts().engine.context_tokens;
  Tokens tokens = piece.tokens;
  std::size_t n_end = 0;
  if (tokens.empty()) {
    tokens = model.engine().tokenize(piece.text, PC_TEXT_CONTROLS | PC_TEXT_BOS | PC_TEXT_END);
    n_end = model.engine().tokenize("", PC_TEXT_END).size();
  }
  const std::string path = std::string(request.field) + "[" + std::to_string(index) + "]";
  if (piece.text.empty() && piece.tokens.empty())
    throw ApiError::bad_request(path + " is empty", path);
  if (request.is_cut) cut(&tokens, window, n_end);
  if (tokens.size() > window) throw ApiError::too_long({tokens.size(), 0, window}, path);
  return tokens;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j)
      word = word << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= n ? kDigits[word >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::span<const float> vector_of(const Embeddings& made, std::size_t index) {
  return std::span(made.numbers).subspan(index * made.n_dimensions, made.n_dimensions);
}

// The shortest digits that are this number in f32, which are half as many as those of f64.
double short_number(float x) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), x).ptr;
  double read = 0;
  std::from_chars(digits.begin(), end, read);
  return read;
}

Json list_of(std::span<const float> vector) {
  Json list = Json::array();
  for (const float x : vector) list.push(short_number(x));
  return list;
}

Json base64_of(std::span<const float> vector) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(vector.size_bytes(), '\0');
  std::memcpy(bytes.data(), vector.data(), bytes.size());
  return base64(bytes);
}

std::size_t n_texts(const Embeddings& made) {
  return made.numbers.size() / made.n_dimensions;
}

}  // namespace

Embeddings embed(const ServedModel& model, const EmbedRequest& request,
                 const std::function<bool()>& is_wanted) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Tokens> texts;
  Embeddings made;
  for (std::size_t i = 0; i < request.texts.size(); ++i) {
    texts.push_back(tokens_of(model, request, i));
    made.n_tokens += texts.back().size();
  }
  promptcache::TextsOptions options = watched(is_wanted);
  options.pooling = request.pooling;
  options.n_dimensions = request.n_dimensions;
  made.n_dimensions =
      request.n_dimensions != 0 ? request.n_dimensions : model.facts().engine.n_dimensions;
  made.numbers = model.engine().embed(texts, options);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  made.took_us = static_cast<std::uint64_t>(took.count());
  return made;
}

Json openai_embeddings(const Embeddings& made, const EmbedRequest& request,
                       const std::string& model) {
  Json data = Json::array();
  for (std::size_t i = 0; i < n_texts(made); ++i) {
    const std::span<const float> vector = vector_of(made, i);
    data.push(Json::object()
                  .set("object", "embedding")
                  .set("index", i)
                  .set("embedding", request.as_base64 ? base64_of(vector) : list_of(vector)));
  }
  return Json::object()
      .set("object", "list")
      .set("data", data)
      .set("model", model)
      .set("usage",
           Json::object().set("prompt_tokens", made.n_tokens).set("total_tokens", made.n_tokens));
}

Json llama_embeddings(const Embeddings& made) {
  Json list = Json::array();
  for (std::size_t i = 0; i < n_texts(made); ++i)
    list.push(Json::object()
                  .set("index", i)
                  .set("embedding", Json::array().push(list_of(vector_of(made, i)))));
  return list;
}

Json ollama_embed(const Embeddings& made, const std::string& model) {
  Json list = Json::array();
  for (std::size_t i = 0; i < n_texts(made); ++i) list.push(list_of(vector_of(made, i)));
  return Json::object()
      .set("model", model)
      .set("embeddings", list)
      .set("total_duration", made.took_us * 1000)
      .set("load_duration", 0)
      .set("prompt_eval_count", made.n_tokens);
}

Json ollama_embedding(const Embeddings& made) {
  return Json::object().set("embedding", list_of(vector_of(made, 0)));
}

}  // namespace pc::serve
