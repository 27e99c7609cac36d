#include "runtime/schema/chat_stand_ins.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>

#include "base/utf8.h"
#include "runtime/schema/schema_record.h"

namespace pc {
namespace {

constexpr std::string_view kKind = "stand-ins", kText = "text ";

std::string body_of(const std::vector<std::string>& texts) {
  std::string body;
  for (const std::string& text : texts)
    body += std::string(kText) + std::to_string(text.size()) + "\n" + text + "\n";
  return body;
}

// Takes one text from the front of a body; none where the body is not of this form.
std::optional<std::string> take_text(std::string_view* body) {
  if (!body->starts_with(kText)) return std::nullopt;
  body->remove_prefix(kText.size());
  std::size_t size = 0;
  const auto [end, failure] = std::from_chars(body->data(), body->data() + body->size(), size);
  const auto n_digits = static_cast<std::size_t>(end - body->data());
  if (failure != std::errc() || !body->substr(n_digits).starts_with('\n')) return std::nullopt;
  body->remove_prefix(n_digits + 1);
  if (size > kMostStandInBytes || body->size() <= size || (*body)[size] != '\n')
    return std::nullopt;
  std::string text(body->substr(0, size));
  body->remove_prefix(size + 1);
  return text;
}

}  // namespace

Digest chat_stand_ins_key(const ModuleIdentity& base) {
  const ModuleKey model = key_of(base);
  Sha256 hash;
  hash.field("promptcache stand-ins").field(std::as_bytes(std::span(model.digest)));
  return hash.finish();
}

std::string_view as_stand_in(std::string_view text) {
  if (text.size() <= kMostStandInBytes) return text;
  return text.substr(0, utf8_valid_prefix(text.substr(0, kMostStandInBytes)));
}

std::vector<std::string> recall_stand_ins(const Digest& key, const std::string& cache_dir) {
  std::vector<std::string> texts;
  if (cache_dir.empty()) return texts;
  const auto record = recall_record(kKind, key, cache_dir);
  if (!record) return texts;
  for (std::string_view body = *record; !body.empty();) {
    auto text = take_text(&body);
    if (!text || !is_utf8(*text)) return {};
    texts.push_back(std::move(*text));
  }
  return texts;
}

void offer_stand_in(const Digest& key, std::string_view text, const std::string& cache_dir) {
  text = as_stand_in(text);
  if (cache_dir.empty() || text.size() < kLeastStandInBytes || !is_utf8(text)) return;
  std::vector<std::string> texts = recall_stand_ins(key, cache_dir);
  if (texts.size() >= kMostChatStandIns || std::ranges::find(texts, text) != texts.end()) return;
  texts.emplace_back(text);
  remember_record(kKind, key, body_of(texts), cache_dir);  // where it cannot be, there is none
}

void forget_stand_ins(const std::string& cache_dir) {
  forget_records(kKind, cache_dir);
}

}  // namespace pc
