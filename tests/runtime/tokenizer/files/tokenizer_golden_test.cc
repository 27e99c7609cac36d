// The small trained tokenizers of tests/golden/tokenizers, against the ids that
// the `tokenizers` and `sentencepiece` packages give (make_tokenizer_fixtures.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/json/json.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/fixture.h"  // golden
#include "tests/support/one_span.h"

using namespace pc;

namespace {

JsonDocument read(const std::string& path) {
  auto document = JsonDocument::read_file(path);
  if (!document.ok()) FAIL(document.error().message);
  return std::move(document).value();
}

std::unique_ptr<Tokenizer> load(const std::string& name) {
  auto tokenizer = load_tokenizer(test::golden("tokenizers/" + name));
  if (!tokenizer.ok()) FAIL(tokenizer.error().message);
  return std::move(tokenizer).value();
}

Tokens ids(JsonView list) {
  Tokens out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    out.push_back(static_cast<TokenId>(*list.at(i).integer()));
  }
  return out;
}

std::vector<std::string> texts() {
  const auto document = read(test::golden("tokenizers/texts.json"));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < document.root().size(); ++i) {
    out.emplace_back(*document.root().at(i).string());
  }
  REQUIRE(out.size() > 300);
  return out;
}

std::string decode(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::string out;
  for (const TokenId id : tokens) tokenizer.append_bytes(id, &out);
  return out;
}

const std::vector<std::string> kAll = {"llama3",
                                       "qwen2",
                                       "smollm2",
                                       "metaspace",
                                       "gemma4",
                                       "sentencepiece_bpe",
                                       "sentencepiece_unigram",
                                       "sentencepiece_defined"};

}  // namespace

TEST_CASE("the ids of every text are the reference's") {
  const auto all = texts();
  for (const std::string& name : kAll) {
    const auto tokenizer = load(name);
    const auto expected = read(test::golden("tokenizers/" + name + "/expected.json"));
    const JsonView lists = *expected.root().member("text");
    REQUIRE(lists.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      INFO(name << ", text " << i << ": \"" << all[i] << "\"");
      const auto encoded = tokenizer->encode(all[i]);
      if (!encoded.ok()) FAIL(encoded.error().message);
      CHECK(*encoded == ids(lists.at(i)));
    }
    const JsonView markup = *expected.root().member("markup");
    for (std::size_t i = 0; i < markup.size(); ++i) {
      const std::string text(*markup.at(i).at(0).string());
      INFO(name << ", markup \"" << text << "\"");
      CHECK(*test::markup_span(*tokenizer, text) == ids(markup.at(i).at(1)));
    }
  }
}

TEST_CASE("tokens spell the text they came from") {
  for (const std::string name : {"llama3", "smollm2", "metaspace", "sentencepiece_bpe"}) {
    const auto tokenizer = load(name);
    for (const std::string& text : texts()) {
      INFO(name << " \"" << text << "\"");
      // The mark itself decodes to a space, in sentencepiece's own reading too.
      if (name != "llama3" && name != "smollm2" && text.find("▁") != std::string::npos) continue;
      const std::string spelled = decode(*tokenizer, *tokenizer->encode(text));
      CHECK((spelled == text || spelled == " " + text));
      CHECK(decode(*tokenizer, *test::one_span(*tokenizer, text, false, false)) == text);
    }
  }
}

TEST_CASE("a text that goes on gets no dummy prefix, and a space of its own is its tokens") {
  for (const std::string name : {"metaspace", "sentencepiece_bpe"}) {
    const auto tokenizer = load(name);
    CHECK(tokenizer->facts().adds_prefix_space);
    for (const std::string& text : texts()) {
      if (text.starts_with(' ') || text.starts_with("▁") || text.empty()) continue;
      INFO(name << " \"" << text << "\"");
      CHECK(*test::one_span(*tokenizer, " " + text, false, false) == *tokenizer->encode(text));
    }
  }
  for (const std::string name : {"llama3", "qwen2", "smollm2"}) {
    const auto tokenizer = load(name);
    for (const std::string& text : texts())
      CHECK(*test::one_span(*tokenizer, text, false, false) == *tokenizer->encode(text));
  }
}

TEST_CASE("special tokens never come out of text, and always out of markup") {
  for (const std::string& name : kAll) {
    const auto tokenizer = load(name);
    for (const std::string special : {"<|begin_of_text|>", "<|eot_id|>", "<|im_start|>",
                                      "<|endoftext|>", "<s>", "</s>", "<|user|>"}) {
      const auto id = tokenizer->token_to_id(special);
      if (!id) continue;
      INFO(name << " " << special);
      CHECK(*test::markup_span(*tokenizer, special) == Tokens{*id});
      CHECK(*test::markup_span(*tokenizer, special + special) == Tokens{*id, *id});
      for (const std::string& text : {special, "a" + special, special + " b", special + special}) {
        const Tokens tokens = *tokenizer->encode(text);
        CHECK(std::count(tokens.begin(), tokens.end(), *id) == 0);
        CHECK(tokens.size() > 1);
      }
      CHECK(decode(*tokenizer, {*id}).empty());
      std::string spelled;
      tokenizer->append_bytes(*id, &spelled, Tokenizer::Controls::kSpell);
      CHECK(spelled == special);
    }
  }
}

TEST_CASE("facts from the small files") {
  const auto llama3 = load("llama3");
  CHECK(llama3->bos() == llama3->token_to_id("<|begin_of_text|>"));
  CHECK(llama3->eos() == llama3->token_to_id("<|eot_id|>"));
  CHECK(llama3->add_bos());  // from the post_processor
  CHECK_FALSE(llama3->unk());
  CHECK(llama3->placeholder() == *llama3->token_to_id("Ġ"));
  CHECK(llama3->vocab_size() == 705);
  CHECK(llama3->facts().description == "byte-level bpe, 705 tokens");

  const auto qwen2 = load("qwen2");
  CHECK_FALSE(qwen2->bos());
  CHECK_FALSE(qwen2->add_bos());
  CHECK(qwen2->facts().chat_template == "<|im_start|>");  // the one named default

  const auto smollm2 = load("smollm2");
  CHECK_FALSE(smollm2->add_bos());
  CHECK(smollm2->placeholder() == *smollm2->unk());

  const auto metaspace = load("metaspace");
  CHECK(metaspace->add_bos());
  CHECK(metaspace->eos() == metaspace->token_to_id("</s>"));
  CHECK(metaspace->placeholder() == *metaspace->token_to_id("<unk>"));

  const auto sentencepiece = load("sentencepiece_bpe");
  CHECK(sentencepiece->add_bos());
  CHECK(sentencepiece->bos() == 1);
  CHECK(sentencepiece->eos() == 2);
  CHECK(sentencepiece->unk() == 0);
  CHECK(sentencepiece->vocab_size() == 700);
  CHECK(sentencepiece->token_to_id("<|end|>") == 4);
  CHECK_FALSE(sentencepiece->token_to_id("no such piece"));
}

TEST_CASE("no two tokenizers share a digest, and loading again gives the same") {
  std::vector<Digest> digests;
  for (const std::string& name : kAll) {
    digests.push_back(load(name)->digest());
    CHECK(load(name)->digest() == digests.back());
  }
  std::sort(digests.begin(), digests.end());
  CHECK(std::unique(digests.begin(), digests.end()) == digests.end());
}
