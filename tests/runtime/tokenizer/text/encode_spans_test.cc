// Text and markup side by side: the ids that transformers gives for whole
// conversations (make_span_fixtures.py), and what must hold for any spans.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/cut_spans.h"
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

std::vector<Tokens> encode(const Tokenizer& tokenizer, const Written& written, bool opens = true,
                           bool chat_writes_bos = false) {
  auto tokens = tokenizer.encode_spans(written.spans(), opens, chat_writes_bos);
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
      const bool behind_bos = *conversations.at(j).member("behind_bos")->boolean();
      const auto tokens = encode(*tokenizer, written, true, behind_bos);
      const auto want = read_ids(*conversations.at(j).member("ids"));
      CHECK(flat(tokens) == flat(want));
      CHECK(tokens == want);
      for (const auto& gguf : ggufs) CHECK(encode(*gguf, written, true, behind_bos) == want);
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

TEST_CASE("control tokens are recognised in markup, and strings of markup that touch are one") {
  const auto tokenizer = load("added");
  const TokenId start = *tokenizer->token_to_id("<|im_start|>");
  const auto tokens = [&](const Written& written) { return encode(*tokenizer, written); };
  CHECK(tokens({{{true, "<|im_"}, {true, ""}, {true, "start|>"}}})[0] == Tokens{start});
  for (const Written& text :
       {Written{{{false, "<|im_start|>"}}}, Written{{{true, "<|im_"}, {false, "start|>"}}},
        Written{{{false, "<|im_"}, {true, "start|>"}}},
        Written{{{true, "<|im_"}, {false, "start"}, {true, "|>"}}}}) {
    INFO(shown(text));
    const Tokens all = flat(tokens(text));
    CHECK(std::ranges::find(all, start) == all.end());
    CHECK(all == *tokenizer->encode("<|im_start|>"));
  }
  // A token that is text is found across a border, and is its first span's.
  const TokenId think = *tokenizer->token_to_id("<think>");
  const auto over = tokens({{{true, "a<thi"}, {false, "nk>b"}}});
  CHECK(over[0].back() == think);
  CHECK(over[1] == *tokenizer->encode("b"));
  CHECK(*tokenizer->encode("<think>") == Tokens{think});
  const Tokens beautiful = *tokenizer->encode("sch\xC3\xB6n");
  CHECK(std::ranges::count(beautiful, *tokenizer->token_to_id("\xC3\xB6")) == 1);
}

TEST_CASE(
    "a dummy prefix stands at the start of a text, and behind BOS where its publisher has it") {
  const auto with = [](const char* config) {
    const TempFolder folder;
    std::filesystem::copy_file(golden("tokenizers/sentencepiece_bpe/tokenizer.model"),
                               folder.path() + "/tokenizer.model");
    folder.write("tokenizer_config.json", config);
    return take(load_tokenizer(folder.path()));
  };
  const auto prefixed = [](const Tokenizer& tokenizer, bool markup, bool opens,
                           bool chat_writes_bos = true) {
    std::string piece;
    tokenizer.append_bytes(
        encode(tokenizer, {{{markup, "the"}}}, opens, chat_writes_bos)[0].front(), &piece);
    return piece.starts_with(' ');
  };
  const auto always = with(R"({"legacy":true})"), once = with(R"({"legacy":false})"),
             unsaid = with(R"({"legacy":false,"add_bos_token":false})");
  for (const auto* tokenizer : {always.get(), once.get(), unsaid.get()}) {
    for (const bool chat_writes_bos : {true, false}) {
      CHECK(prefixed(*tokenizer, false, true, chat_writes_bos));
      CHECK_FALSE(prefixed(*tokenizer, false, false, chat_writes_bos));
      CHECK_FALSE(prefixed(*tokenizer, true, false, chat_writes_bos));
    }
    CHECK(prefixed(*tokenizer, true, true, false));  // BOS is none of the chat's
  }
  CHECK(prefixed(*always, true, true));
  CHECK_FALSE(prefixed(*once, true, true));
  CHECK_FALSE(prefixed(*unsaid, true, true));  // the chat writes it where the tokenizer adds none
  CHECK(prefixed(*with("{}"), true, true));
  CHECK(encode(*once, {{{false, ""}, {true, "the"}}}, true, true)[1] ==
        encode(*once, {{{true, "the"}}}, true, true)[0]);
  CHECK(always->digest() != once->digest());

  // transformers' class takes a text's own space for the prefix, sentencepiece adds one.
  const Written own{{{false, " the"}}};
  CHECK(encode(*always, own)[0].size() == 2);
  const auto llama = with(R"({"legacy":true,"tokenizer_class":"LlamaTokenizer"})");
  CHECK(encode(*llama, own)[0] == *llama->encode("the"));
  CHECK(*llama->encode("▁the") == *llama->encode("the"));
}

TEST_CASE("a model that drops white space at a text's start keeps that of a text that goes on") {
  const auto tokenizer = load("sentencepiece_unigram");
  const auto tokens = encode(*tokenizer, {{{false, " the city"}}}, false);
  CHECK(tokens[0] == *tokenizer->encode("the city"));
  CHECK(encode(*tokenizer, {{{false, "the"}, {false, " city"}}})[1] == *tokenizer->encode("city"));
}

TEST_CASE("characters that a vocabulary lacks are dealt to their spans") {
  Small small = small_llama();  // without bytes: its unknown token stands for one character
  const auto tokenizer = take(from_bytes(small.bytes()));
  const auto tokens =
      encode(*tokenizer, {{{false, "aé"}, {false, "b"}, {false, "日本"}, {false, "a"}}});
  CHECK(tokens == std::vector<Tokens>{{7, 0}, {4}, {0}, {3}});
}

TEST_CASE("spans that are not text") {
  const auto tokenizer = load("llama3");
  const auto message = [&](const std::string& a, const std::string& b) {
    const auto tokens = tokenizer->encode_spans(Written{{{false, a}, {true, b}}}.spans(), true);
    REQUIRE_FALSE(tokens.ok());
    CHECK(tokens.error().code == Code::kInvalidArgument);
    return tokens.error().message;
  };
  CHECK(message("ab", "c\xFF") == "the text is not valid UTF-8 at byte 3");
  CHECK(message("a\xC3", "\xA9") == "the text is not valid UTF-8 at byte 1");  // half a character
  CHECK(message(std::string(kMaxTextBytes, 'a'), "b").find("more than 8388608 bytes") !=
        std::string::npos);
  CHECK(tokenizer->encode_spans({}, true)->empty());
  CHECK(encode(*tokenizer, {{{false, ""}, {true, ""}}}) == std::vector<Tokens>(2));
}
