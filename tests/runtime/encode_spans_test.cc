// Text and markup side by side: the ids that transformers gives for whole
// conversations (make_span_fixtures.py), and what must hold for any spans.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runtime/json.h"
#include "runtime/tokenizer.h"
#include "runtime/utf8.h"
#include "tests/support/fixture.h"
#include "tests/support/random.h"
#include "tests/support/small_vocabulary.h"
#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace {

// Spans and the texts that they view.
struct Written {
  std::vector<std::pair<bool, std::string>> parts;  // markup?, text

  std::vector<pml::TextSpan> spans() const {
    std::vector<pml::TextSpan> out;
    for (const auto& [markup, text] : parts) out.push_back({text, markup});
    return out;
  }
};

Tokens flat(const std::vector<Tokens>& tokens) {
  Tokens out;
  for (const Tokens& part : tokens) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<Tokens> encode(const Tokenizer& tokenizer, const Written& written, bool opens = true) {
  auto tokens = tokenizer.encode_spans(written.spans(), opens);
  if (!tokens.ok()) FAIL(tokens.error().message);
  REQUIRE(tokens->size() == written.parts.size());
  return std::move(tokens).value();
}

std::unique_ptr<Tokenizer> load(const std::string& name) {
  return take(load_tokenizer(golden("tokenizers/" + name)));
}

// A GGUF file, or one file of a folder with another tokenizer_config.json.
std::unique_ptr<Tokenizer> load_configured(JsonView entry) {
  const std::string folder(*entry.member("folder")->string()),
      file(*entry.member("file")->string());
  if (file.ends_with(".gguf")) return load(folder + "/" + file);
  const TempFolder temporary;
  std::filesystem::copy_file(golden("tokenizers/" + folder + "/" + file),
                             temporary.path() + "/" + file);
  temporary.write("tokenizer_config.json", entry.member("config")->dump());
  return take(load_tokenizer(temporary.path()));
}

// The same tokenizer as a GGUF file has it; none where there is no such file, or one
// of sentencepiece's, which transformers' class does not read as sentencepiece does.
std::vector<std::unique_ptr<Tokenizer>> byte_level_gguf(const Tokenizer& tokenizer,
                                                        const std::string& folder) {
  std::vector<std::unique_ptr<Tokenizer>> out;
  if (tokenizer.facts().description.starts_with("byte-level") &&
      std::filesystem::exists(golden("tokenizers/" + folder + "/vocab.gguf")))
    out.push_back(load(folder + "/vocab.gguf"));
  return out;
}

Written read_spans(JsonView list) {
  Written out;
  for (std::size_t i = 0; i < list.size(); ++i)
    out.parts.emplace_back(*list.at(i).at(0).boolean(), *list.at(i).at(1).string());
  return out;
}

std::vector<Tokens> read_ids(JsonView lists) {
  std::vector<Tokens> out(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i)
    for (std::size_t j = 0; j < lists.at(i).size(); ++j)
      out[i].push_back(static_cast<TokenId>(*lists.at(i).at(j).integer()));
  return out;
}

std::string shown(const Written& written) {
  std::string out;
  for (const auto& [markup, text] : written.parts)
    out += (markup ? "[" : "(") + text + (markup ? "]" : ")");
  return out;
}

}  // namespace

TEST_CASE("conversations have the ids that transformers gives for the whole string") {
  const auto golden_file = read_golden("spans.json");
  for (std::size_t i = 0; i < golden_file.root().size(); ++i) {
    const JsonView entry = golden_file.root().at(i);
    const auto tokenizer = load_configured(entry);
    const auto ggufs = byte_level_gguf(*tokenizer, std::string(*entry.member("folder")->string()));
    const JsonView conversations = *entry.member("conversations");
    for (std::size_t j = 0; j < conversations.size(); ++j) {
      const Written written = read_spans(*conversations.at(j).member("spans"));
      INFO(i << " " << *entry.member("folder")->string() << ", " << shown(written));
      const auto tokens = encode(*tokenizer, written);
      const auto want = read_ids(*conversations.at(j).member("ids"));
      CHECK(flat(tokens) == flat(want));
      CHECK(tokens == want);
      for (const auto& gguf : ggufs) CHECK(encode(*gguf, written) == want);
    }
  }
}

TEST_CASE("where a text is cut does not matter to its tokens") {
  const auto texts = strings(read_golden("texts.json").root());
  Random random(9);
  for (const char* name :
       {"llama3", "qwen2", "smollm2", "added", "metaspace", "prepend", "sentencepiece_bpe",
        "sentencepiece_unigram", "sentencepiece_defined", "gemma"}) {
    const auto tokenizer = load(name);
    for (const std::string& text : texts) {
      Written written;
      std::string part;
      for (std::size_t at = 0, begin = 0; at < text.size(); begin = at) {
        utf8_next(text, &at);
        part.append(text, begin, at - begin);
        if (random.below(4) != 0) continue;
        written.parts.emplace_back(false, std::exchange(part, {}));
        if (random.below(4) == 0) written.parts.emplace_back(random.below(2) == 0, "");
      }
      written.parts.emplace_back(false, part);
      INFO(name << ", " << shown(written));
      CHECK(flat(encode(*tokenizer, written)) == *tokenizer->encode(text));
      const Written whole{{{false, text}}};
      CHECK(flat(encode(*tokenizer, written, false)) == encode(*tokenizer, whole, false)[0]);
    }
  }
}

TEST_CASE("what goes on is spelled as it is written, and nothing is put in front") {
  const auto texts = strings(read_golden("texts.json").root());
  for (const char* name :
       {"llama3", "smollm2", "metaspace", "prepend", "sentencepiece_bpe", "gemma"}) {
    const auto tokenizer = load(name);
    for (const std::string& text : texts) {
      if (tokenizer->token_to_id("▁") && text.find("▁") != std::string::npos) continue;
      INFO(name << " \"" << text << "\"");
      const Written written{{{false, "x"}, {false, text}, {false, "\n"}, {false, text}}};
      std::string spelled;
      for (const TokenId id : flat(encode(*tokenizer, written, false)))
        tokenizer->append_bytes(id, &spelled);
      CHECK(spelled == "x" + text + "\n" + text);
    }
  }
}
