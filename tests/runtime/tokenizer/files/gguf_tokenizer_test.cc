// Tokenizers out of GGUF files: against the publishers' own files, the splits of
// each pre-tokeniser against the `tokenizers` package (make_tokenizer_fixtures.py), and
// wrong files.
#include "runtime/tokenizer/files/gguf_tokenizer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/gguf_pretokenizers.h"
#include "runtime/tokenizer/bpe/pretokenizer.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "runtime/tokenizer/text/text_normalizer.h"
#include "tests/support/cut_spans.h"
#include "tests/support/fixture.h"
#include "tests/support/one_span.h"
#include "tests/support/small_vocabulary.h"
#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace {

std::string message(const Small& small) {
  const auto tokenizer = from_bytes(small.bytes());
  REQUIRE_FALSE(tokenizer.ok());
  CHECK(tokenizer.error().message.find('\n') == std::string::npos);
  return tokenizer.error().message;
}

// ---- hostile texts

}  // namespace

TEST_CASE("a GGUF file gives the ids of the publisher's own files") {
  const auto texts = strings(read_golden("texts.json").root());
  for (const std::string name :
       {"llama3", "qwen2", "smollm2", "sentencepiece_bpe", "sentencepiece_defined", "gemma4"}) {
    const auto folder = take(load_tokenizer(test::golden("tokenizers/" + name)));
    const auto gguf = take(load_tokenizer(test::golden("tokenizers/" + name + "/vocab.gguf")));
    const auto facts = [](const Tokenizer& t) {
      return std::tuple(t.bos(), t.eos(), t.unk(), t.add_bos(), t.placeholder(), t.vocab_size(),
                        t.facts().adds_prefix_space, t.facts().chat_template,
                        t.facts().description);
    };
    CHECK(facts(*gguf) == facts(*folder));
    for (const std::string& text : texts) {
      INFO(name << " \"" << text << "\"");
      CHECK(same_encodings(*gguf, *folder, text));
      const auto spans = cut_spans(text, true);
      for (const bool opens : {true, false})
        CHECK(*gguf->encode_spans(spans, opens) == *folder->encode_spans(spans, opens));
    }
    for (std::size_t id = 0; id < gguf->vocab_size(); ++id) {
      for (const auto controls : {Tokenizer::Controls::kHide, Tokenizer::Controls::kSpell}) {
        std::string a, b;
        gguf->append_bytes(static_cast<TokenId>(id), &a, controls);
        folder->append_bytes(static_cast<TokenId>(id), &b, controls);
        INFO(name << " " << id);
        CHECK(a == b);
      }
    }
  }
}

TEST_CASE("each pre-tokeniser cuts texts as its publisher's rules do") {
  const auto golden = read_golden("splits.json");
  auto texts = strings(read_golden("texts.json").root());
  for (const std::string& text : strings(*golden.root().member("texts"))) texts.push_back(text);
  const JsonView rules = *golden.root().member("rules");
  std::set<std::string> tested;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const JsonView words = *rules.at(r).member("words");
    REQUIRE(words.size() == texts.size());
    for (const std::string& name : strings(*rules.at(r).member("names"))) {
      tested.insert(name);
      const auto* row = find_gguf_pretokenizer(name);
      REQUIRE(row != nullptr);
      const auto json = JsonDocument::parse(row->rules, name);
      if (!json.ok()) FAIL(json.error().message);
      const auto normalizer = TextNormalizer::from_json(json->root().find("normalizer"));
      const auto pretokenizer = Pretokenizer::from_json(json->root().find("pre_tokenizer"));
      REQUIRE((normalizer.ok() && pretokenizer.ok()));
      CHECK(pretokenizer->is_byte_level());
      for (std::size_t i = 0; i < texts.size(); ++i) {
        INFO(name << ", text " << i << ": \"" << texts[i] << "\"");
        const auto split = pretokenizer->split(normalizer->apply(texts[i], true), true);
        REQUIRE(split.ok());
        std::vector<std::int64_t> lengths, expected;
        std::size_t at = 0;
        for (const std::uint32_t end : split->ends) {
          lengths.push_back(0);
          for (; at < end; ++lengths.back()) utf8_next(split->text, &at);
        }
        for (std::size_t w = 0; w < words.at(i).size(); ++w) {
          expected.push_back(*words.at(i).at(w).integer());
        }
        CHECK(lengths == expected);
      }
    }
  }
  std::istringstream names(gguf_pretokenizer_names());
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    INFO(name);
    CHECK(tested.contains(name));
  }
}

TEST_CASE("keys of a GGUF file name the tokens for the middle") {
  Small small;
  small.more = [](GgufBytes& out) {
    out.value("tokenizer.ggml.fim_pre_token_id", std::uint32_t{5});
    out.value("tokenizer.ggml.fim_suf_token_id", std::uint32_t{6});
    out.value("tokenizer.ggml.middle_token_id", std::uint32_t{2});  // as older files have it
    out.value("tokenizer.ggml.fim_pad_token_id", std::uint32_t{7});
    out.value("tokenizer.ggml.fim_rep_token_id", std::uint32_t{0});
    out.value("tokenizer.ggml.fim_sep_token_id", std::uint32_t{1});
  };
  CHECK(take(from_bytes(small.bytes()))->facts().fim == FimTokens{5, 6, 2, 7, 0, 1});
  const Digest digest = take(from_bytes(small.bytes()))->digest();
  small.more = [](GgufBytes& out) {
    out.value("tokenizer.ggml.fim_pre_token_id", std::uint32_t{900});
  };
  CHECK(message(small).find("tokenizer.ggml.fim_pre_token_id") != std::string::npos);
  // They decide about no text's ids.
  small.more = [](GgufBytes&) {};
  CHECK(take(from_bytes(small.bytes()))->facts().fim == FimTokens{});
  CHECK(take(from_bytes(small.bytes()))->digest() == digest);
}

TEST_CASE("types, ids and flags of a byte-level file") {
  Small small;
  small.more = [](GgufBytes& out) {
    out.value("tokenizer.ggml.bos_token_id", std::uint32_t{5});
    out.value("tokenizer.ggml.eos_token_id", std::uint32_t{5});
    out.string("tokenizer.chat_template", "jinja");
  };
  const auto base = small.more;
  auto tokenizer = take(from_bytes(small.bytes()));
  CHECK(tokenizer->vocab_size() == 9);
  CHECK(*tokenizer->encode("ab c") == Tokens{3, 4, 2});
  CHECK(tokenizer->encode("<x>")->empty());  // none of these letters in this vocabulary
  CHECK(*markup_span(*tokenizer, "ab<x>c<y>") == Tokens{3, 5, 2, 6});
  CHECK(markup_span(*tokenizer, "[PAD7]")->empty());
  std::string shown;
  for (const TokenId id : {5, 6, 7, 8, 4}) tokenizer->append_bytes(id, &shown);
  CHECK(shown == "<y> ");
  CHECK(tokenizer->bos() == 5);
  CHECK(tokenizer->facts().turn_ends == Tokens{8});  // eos is no further end
  CHECK(tokenizer->facts().chat_template == "jinja");
  CHECK_FALSE(tokenizer->add_bos());

  // "c" stays a letter where a file calls it BOS; a longer word does not.
  small.more = [](GgufBytes& out) {
    out.value("tokenizer.ggml.bos_token_id", std::uint32_t{2});
    out.value("tokenizer.ggml.eos_token_id", std::uint32_t{3});
  };
  tokenizer = take(from_bytes(small.bytes()));
  CHECK(*tokenizer->encode("abc") == Tokens{0, 1, 2});
  CHECK(tokenizer->bos() == 2);
  CHECK(tokenizer->eos() == 3);
  small.more = base;

  small.pre = "llama-bpe";
  tokenizer = take(from_bytes(small.bytes()));
  CHECK(tokenizer->add_bos());
  small.more = [&](GgufBytes& out) {
    base(out);
    out.value("tokenizer.ggml.add_bos_token", false);
    out.value("tokenizer.ggml.eot_token_id", std::int32_t{6});
  };
  tokenizer = take(from_bytes(small.bytes()));
  CHECK_FALSE(tokenizer->add_bos());
  CHECK(tokenizer->facts().turn_ends == Tokens{6, 8});
  shown.clear();
  tokenizer->append_bytes(6, &shown);
  CHECK(shown.empty());  // a token that ends a turn is a control token
}

TEST_CASE("words that are in the vocabulary whole, where the publisher looks there first") {
  Small small;
  small.merges = {};
  for (const char* pre : {"llama-bpe", "falcon3", "falcon-h1", "lfm2", "tekken", "smaug-bpe"}) {
    small.pre = pre;
    CHECK(*take(from_bytes(small.bytes()))->encode("ab") == Tokens{3});
  }
  for (const char* pre : {"gpt-2", "qwen2", "dbrx", "gpt-4o"}) {
    small.pre = pre;
    CHECK(*take(from_bytes(small.bytes()))->encode("ab") == Tokens{0, 1});
  }
}

TEST_CASE("a sentencepiece vocabulary: prefix, unknown token, and Phi-3's white space") {
  Small small = small_llama();
  auto tokenizer = take(from_bytes(small.bytes()));
  CHECK(*tokenizer->encode("ab") == Tokens{6, 5});  // "ab" has the better score
  CHECK(*tokenizer->encode("aa") == Tokens{7, 3});
  CHECK(*tokenizer->encode("?") == Tokens{6, 0});
  CHECK(tokenizer->add_bos());
  CHECK(tokenizer->bos() == 1);
  CHECK(tokenizer->unk() == 0);
  CHECK(*markup_span(*tokenizer, "<|user|>\n") == Tokens{9, 6, 8});

  small.more = [](GgufBytes& out) { out.string("general.architecture", "phi3"); };
  tokenizer = take(from_bytes(small.bytes()));
  CHECK(*markup_span(*tokenizer, "<|user|>\nab") == Tokens{9, 6, 5});
  CHECK(*markup_span(*tokenizer, "<s>\n") == Tokens{1, 6, 8});

  small.more = [](GgufBytes& out) { out.value("tokenizer.ggml.add_space_prefix", false); };
  tokenizer = take(from_bytes(small.bytes()));
  CHECK(*tokenizer->encode("a  b") == Tokens{3, 6, 6, 4});

  small.more = [](GgufBytes& out) { out.value("tokenizer.ggml.remove_extra_whitespaces", true); };
  tokenizer = take(from_bytes(small.bytes()));
  CHECK(*tokenizer->encode("a  b ") == Tokens{7, 6, 4});

  small.types[0] = 1;  // no type says so: the key does, else the first token is it
  CHECK(take(from_bytes(small.bytes()))->unk() == 0);
  small.more = [](GgufBytes& out) {
    out.value("tokenizer.ggml.unknown_token_id", std::uint32_t{2});
  };
  CHECK(take(from_bytes(small.bytes()))->unk() == 2);

  // An unknown token that is BOS too stands in no slot: a space does, without a prefix.
  small = small_llama();
  small.tokens.push_back("▁▁");
  small.types.push_back(1);
  small.scores.push_back(-1);
  small.more = [](GgufBytes& out) { out.value("tokenizer.ggml.bos_token_id", std::uint32_t{0}); };
  CHECK(take(from_bytes(small.bytes()))->placeholder() == 6);
}

TEST_CASE("a vocabulary without all bytes has no byte fallback") {
  Small small = small_llama();
  small.tokens[8] = "<0x0A>";
  small.types[8] = 6;
  auto tokenizer = take(from_bytes(small.bytes()));
  CHECK(*tokenizer->encode("a\nb") == Tokens{7, 0, 4});
  CHECK(*tokenizer->encode("é") == Tokens{6, 0});
  small.tokens[8] = "<0xZZ>";
  CHECK(message(small).find("calls token 8, \"<0xZZ>\", a byte") != std::string::npos);

  small = small_llama();
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kHex[] = "0123456789ABCDEF";
    small.tokens.push_back(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">");
    small.types.push_back(6);
    small.scores.push_back(0);
  }
  tokenizer = take(from_bytes(small.bytes()));
  CHECK(*tokenizer->encode("é") == Tokens{6, 10 + 0xC3, 10 + 0xA9});
}

// Types that converters have written, and texts that must stay texts.
TEST_CASE("no text spells the markup of a sentencepiece file, whatever its types") {
  const auto with = [](const std::vector<std::string>& tokens, int type, const char* chat,
                       const char* family) {
    Small small = small_llama();
    for (const char c : std::string("</>_adefklmnorstu[]|")) {
      const std::string letter(1, c);
      if (std::ranges::find(small.tokens, letter) != small.tokens.end()) continue;
      small.tokens.push_back(letter);
      small.types.push_back(1);
      small.scores.push_back(-9);
    }
    for (const std::string& token : tokens) {
      small.tokens.push_back(token);
      small.types.push_back(type);
      small.scores.push_back(-1000);
    }
    small.more = [=](GgufBytes& out) {
      out.string("general.architecture", family).string("tokenizer.chat_template", chat);
    };
    return take(from_bytes(small.bytes()));
  };
  const auto check_markup = [](const Tokenizer& tokenizer, const std::string& token) {
    INFO(token);
    const TokenId id = *tokenizer.token_to_id(token);
    for (const bool opens : {true, false}) {
      const Tokens ids = *one_span(tokenizer, "a" + token + "b", false, opens);
      CHECK(std::ranges::find(ids, id) == ids.end());
      CHECK(ids.size() > 3);
    }
    CHECK(*markup_span(tokenizer, token) == Tokens{id});
  };
  const std::vector<std::string> turns = {"<start_of_turn>", "<end_of_turn>"};
  for (const int type : {1, 3, 4}) {
    const auto tokenizer = with(turns, type, "{{'<start_of_turn>'}}", "gemma3");
    for (const std::string& token : turns) check_markup(*tokenizer, token);
    CHECK(tokenizer->facts().turn_ends == Tokens{*tokenizer->token_to_id("<end_of_turn>")});
  }
  const auto tools = with({"<tool>", "</tool>"}, 4, "<tool>{{m}}</tool>", "llama");
  check_markup(*tools, "<tool>");
  check_markup(*tools, "</tool>");
  std::string shown;
  tools->append_bytes(*tools->token_to_id("<tool>"), &shown);
  CHECK(shown == "<tool>");  // an answer may show it
  const auto phi = with({"</s_>", "<|end|>"}, 4, "", "phi3");
  check_markup(*phi, "</s_>");
  check_markup(*phi, "<|end|>");
  // A word of the vocabulary that no template spells stays one (Gemma's HTML).
  const auto words = with({"<tt>"}, 4, "{{'<start_of_turn>'}}", "gemma3");
  CHECK(words->encode("a<tt>b")->size() == 3);
}

TEST_CASE("a file with one thing wrong is refused by its key") {
  const auto wrong = [](auto change) {
    Small small;
    change(small);
    return message(small);
  };
  const auto with = [&](auto change) { return wrong([&](Small& s) { s.more = change; }); };
  const std::string key = "t.gguf: key \"tokenizer.ggml.";
  CHECK(wrong([](Small& s) { s.model = "bert"; }) ==
        key +
            "model\": \"bert\" is not supported; llama (sentencepiece), gpt2 (byte-level "
            "BPE) and gemma4 (BPE over characters) are");
  const std::string no_pre = wrong([](Small& s) { s.pre = "default"; });
  CHECK(no_pre.starts_with(key + "pre\": \"default\" is not known, so how the publisher splits"));
  CHECK(no_pre.find("llama-bpe") != std::string::npos);
  CHECK(wrong([](Small& s) { s.types.pop_back(); }) ==
        key + "token_type\": is no list of one number for each of the 9 tokens");
  CHECK(wrong([](Small& s) { s.types[2] = 7; }) ==
        key + "token_type\": token 2, \"c\", has the type 7, wanted 1 to 6");
  CHECK(wrong([](Small& s) { s.tokens[2] = "a"; }) ==
        "t.gguf: tokenizer.ggml.tokens[2], \"a\": is also tokens[0]");
  CHECK(wrong([](Small& s) { s.merges[0] = "a d"; }) ==
        "t.gguf: tokenizer.ggml.merges[0], \"a d\": merges tokens that the vocabulary does not "
        "have");
  CHECK(wrong([](Small& s) { s.merges[0] = "b\na"; }) ==
        "t.gguf: tokenizer.ggml.merges[0], \"b?a\": is not two tokens with a space between");
  CHECK(wrong([](Small& s) { s.tokens[1] = "\xFF"; }).starts_with(key + "tokens\": token 1, "));
  CHECK(wrong([](Small& s) {
          s.tokens[1] = std::string(5000, 'a');
        }).starts_with(key + "tokens\": token 1, \"aaaa"));
  CHECK(with([](GgufBytes& out) { out.value("tokenizer.ggml.bos_token_id", std::uint32_t{9}); }) ==
        key + "bos_token_id\": is 9, but there are 9 tokens");
  CHECK(with([](GgufBytes& out) {
          out.value("tokenizer.ggml.eos_token_id", 1.5f);
        }).starts_with(key + "eos_token_id\": is f32"));
  CHECK(with([](GgufBytes& out) {
          out.value("tokenizer.ggml.add_bos_token", std::uint32_t{1});
        }).starts_with(key + "add_bos_token\": is u32"));
  CHECK(with([](GgufBytes& out) { out.string("tokenizer.chat_template", "\xFF"); }) ==
        "t.gguf: key \"tokenizer.chat_template\": is not UTF-8");

  const auto llama = [](auto change) {
    Small small = small_llama();
    change(small);
    return message(small);
  };
  CHECK(llama([](Small& s) { s.scores[3] = std::numeric_limits<float>::quiet_NaN(); }) ==
        key + "scores\": element 3 is infinite or not a number");
  CHECK(llama([](Small& s) { s.scores.assign(10, -1000); }).find("order of merges is lost") !=
        std::string::npos);
  CHECK(llama([](Small& s) { s.scores.clear(); }) == key + "scores\": is missing");
  CHECK(llama([](Small& s) { s.scores.pop_back(); }) ==
        key + "scores\": is no list of one number for each of the 10 tokens");
  CHECK(llama([](Small& s) { s.tokens[4] = "a"; }).starts_with("t.gguf: tokenizer.ggml: "));
  CHECK(llama([](Small& s) {
          s.more = [](GgufBytes& out) {
            out.array("tokenizer.ggml.precompiled_charsmap", std::vector<std::uint8_t>{1, 2, 3});
          };
        }).starts_with("t.gguf: tokenizer.ggml: the normalizer's table"));
}

TEST_CASE("a file that is no GGUF and no folder") {
  const test::TempFolder folder;
  folder.write("x.gguf", "GGUF");
  CHECK(load_tokenizer(folder.path() + "/x.gguf").error().message.find("x.gguf") !=
        std::string::npos);
  CHECK(load_tokenizer(folder.path() + "/none.gguf").error().code == Code::kNotFound);
}
