// Takes the vocabulary out of a GGUF file and writes it as the tokenizer.json
// that the model's publisher would ship, so that published token ids can be
// tested through the product's own reader. For tests alone: trusts the file.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/json_writer.h"

namespace pc::test {

struct GgufVocab {
  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> types;  // 1 text, 3 control, 4 added
};

class GgufReader {
 public:
  explicit GgufReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }

  GgufVocab read() {
    GgufVocab vocab;
    at_ = 4 + 4 + 8;  // magic, version, number of tensors (none)
    for (auto n = take<std::uint64_t>(); n > 0; --n) {
      const std::string key = string();
      const auto type = take<std::uint32_t>();
      if (key == "tokenizer.ggml.tokens") {
        vocab.tokens = strings();
      } else if (key == "tokenizer.ggml.merges") {
        vocab.merges = strings();
      } else if (key == "tokenizer.ggml.token_type") {
        take<std::uint32_t>();
        for (auto left = take<std::uint64_t>(); left > 0; --left) {
          vocab.types.push_back(take<std::int32_t>());
        }
      } else {
        skip(type);
      }
    }
    return vocab;
  }

 private:
  static constexpr std::uint32_t kString = 8, kArray = 9;

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, view(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view view(std::size_t n) {
    const auto part = std::string_view(bytes_).substr(at_, n);
    if (part.size() != n) throw std::runtime_error("GGUF file is cut off");
    at_ += n;
    return part;
  }
  std::string string() { return std::string(view(take<std::uint64_t>())); }
  std::vector<std::string> strings() {
    take<std::uint32_t>();
    std::vector<std::string> out;
    for (auto n = take<std::uint64_t>(); n > 0; --n) out.push_back(string());
    return out;
  }
  void skip(std::uint32_t type) {
    static constexpr std::size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type == kString) {
      string();
    } else if (type == kArray) {
      const auto element = take<std::uint32_t>();
      for (auto n = take<std::uint64_t>(); n > 0; --n) skip(element);
    } else {
      view(kBytes[type]);
    }
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

// `pre_tokenizer` is the text of that member.
inline std::string to_tokenizer_json(const GgufVocab& vocab, const std::string& pre_tokenizer) {
  std::string text = "{\"pre_tokenizer\":" + pre_tokenizer + ",\"version\":";
  JsonWriter json(&text);
  json.value("1.0").key("decoder").begin_object().key("type").value("ByteLevel").end_object();
  json.key("added_tokens").begin_array();
  for (std::size_t i = 0; i < vocab.types.size(); ++i) {
    if (vocab.types[i] == 1) continue;
    json.begin_object().key("id").value(i).key("content").value(vocab.tokens[i]);
    json.key("special").value(vocab.types[i] == 3).end_object();
  }
  json.end_array().key("model").begin_object().key("type").value("BPE").key("vocab").begin_object();
  for (std::size_t i = 0; i < vocab.tokens.size(); ++i) {
    if (vocab.types[i] == 1) json.key(vocab.tokens[i]).value(i);
  }
  json.end_object().key("merges").begin_array();
  for (const std::string& merge : vocab.merges) json.value(merge);
  json.end_array().end_object();
  return text + "}";
}

}  // namespace pc::test
