// The rules that all kinds of tokenizers share, bad files, and hostile texts.
#include "runtime/tokenizer/text/tokenizer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/bpe_tokenizer.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "runtime/tokenizer/sentencepiece/sentencepiece_model.h"
#include "runtime/tokenizer/sentencepiece/sentencepiece_tokenizer.h"
#include "runtime/tokenizer/sentencepiece/sentencepiece_writer.h"
#include "tests/support/cpu_seconds.h"
#include "tests/support/cut_spans.h"  // flat
#include "tests/support/fixture.h"
#include "tests/support/one_span.h"
#include "tests/support/random.h"
#include "tests/support/temp_folder.h"

using namespace pc;

namespace {

// "" with a printed message when the data is absent.
std::string assets() {
  const auto shared = test::shared_dir();
  return shared.empty() ? "" : (shared / "assets").string() + "/";
}

std::unique_ptr<Tokenizer> take(Result<std::unique_ptr<Tokenizer>> tokenizer) {
  if (!tokenizer.ok()) FAIL(tokenizer.error().message);
  return std::move(tokenizer).value();
}

std::unique_ptr<Tokenizer> load(const std::string& name) {
  return take(load_tokenizer(test::golden("tokenizers/" + name)));
}

Result<std::unique_ptr<Tokenizer>> from_json(const std::string& text,
                                             const TokenizerConfig& config = {}) {
  const auto document = JsonDocument::parse(text, "t.json");
  if (!document.ok()) FAIL(document.error().message);
  return make_bpe_tokenizer(*document, config);
}

Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Four letters, one merge, the usual alphabet of a byte-level model not needed.
const std::string kSmall = R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3," ":4},
    "merges":["a b"]},"added_tokens":[{"id":5,"content":"<x>","special":true},
    {"id":6,"content":"<y>","special":false},{"id":7,"content":"<strip>","special":true,
    "lstrip":true,"rstrip":true},{"id":8,"content":"   ","special":false}]})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("tokens for the middle are known by their spellings, in whichever file they stand") {
  CHECK(take(from_json(kSmall))->facts().fim == FimTokens{});
  const auto added =
      take(from_json(replaced(replaced(kSmall, "<x>", "<|fim_prefix|>"), "<y>", "<|fim_suffix|>")));
  CHECK(added->facts().fim.prefix == 5);
  CHECK(added->facts().fim.suffix == 6);
  CHECK_FALSE(added->facts().fim.middle);
  const auto piece = take(from_json(replaced(kSmall, "\"c\":2", "\"<fim_middle>\":2")));
  CHECK(piece->facts().fim.middle == 2);
  // What the files say by a key comes first, each by itself.
  TokenizerConfig config;
  config.fim.prefix = 1;
  const auto named =
      take(from_json(replaced(replaced(kSmall, "<x>", "<PRE>"), "<y>", "<SUF>"), config));
  CHECK(named->facts().fim.prefix == 1);
  CHECK(named->facts().fim.suffix == 6);
}

TEST_CASE("Llama 2's dialogue, cut as PML cuts it, has the published tokens") {
  if (assets().empty()) return;
  const auto tokenizer =
      take(load_sentencepiece_tokenizer(assets() + "tokenizers/llama2-tokenizer.model", {}));
  const auto text = [&](const char* t) { return *tokenizer->encode(t); };
  const auto markup = [&](const char* t) { return *test::markup_span(*tokenizer, t); };
  // As the model was trained: each turn is one text, with BOS before and EOS behind it.
  const Tokens bos = {1}, eos = {2};
  const Tokens published =
      bos + text("[INST] Hello [/INST] Hi there. ") + eos + bos + text("[INST] And now? [/INST]");
  const std::vector<pml::TextSpan> spans = {
      {"<s>[INST] ", true}, {"Hello"},     {" [/INST]", true},
      {" ", true},          {"Hi there."}, {" </s>", true},
      {"<s>[INST] ", true}, {"And now?"},  {" [/INST]", true}};
  for (const bool opens : {true, false})
    CHECK(test::flat(*tokenizer->encode_spans(spans, opens)) == published);
  // The space that ends markup is that of the word behind it.
  const auto turn = *tokenizer->encode_spans(std::vector(spans.begin(), spans.begin() + 2), true);
  CHECK(turn == std::vector<Tokens>{markup("<s>[INST]") + text("Hello"), {}});
  // Opening markup stands behind BOS: its tokens are those behind "<s>".
  const auto opening = [&](const char* t) { return *test::one_span(*tokenizer, t, true, true); };
  CHECK(opening("[INST] Hello [/INST]") == text("[INST] Hello [/INST]"));
  CHECK(bos + opening("[INST] ") == markup("<s>[INST] "));
  CHECK(opening("<s>[INST] ") == markup("<s>[INST] "));
  CHECK(opening("[INST] ").front() == 518);  // "▁[", as transformers has it
  CHECK(markup("[INST] ").front() != 518);
  CHECK(*test::one_span(*tokenizer, " ", false, false) == Tokens{29871});
  CHECK(text(" ") == Tokens{259});
  CHECK(tokenizer->add_bos());
  CHECK(tokenizer->placeholder() == 0);
}

TEST_CASE("Llama 2's vocabulary gives the same ids from tokenizer.model and tokenizer.json") {
  if (assets().empty()) return;
  const auto config = read_tokenizer_config(assets() + "tiny-random-llama");
  REQUIRE(config.ok());
  CHECK((config->llama_class && config->legacy == true));
  const auto model =
      take(load_sentencepiece_tokenizer(assets() + "tokenizers/llama2-tokenizer.model", *config));
  const auto json = take(load_tokenizer(assets() + "tiny-random-llama"));
  CHECK(json->add_bos());
  CHECK(json->bos() == 1);
  CHECK(json->vocab_size() == model->vocab_size());
  CHECK(json->facts().chat_template.find("[INST]") != std::string::npos);
  CHECK(json->facts().adds_prefix_space);
  const auto texts = JsonDocument::read_file(test::golden("tokenizers/texts.json"));
  REQUIRE(texts.ok());
  for (std::size_t i = 0; i < texts->root().size(); ++i) {
    const std::string text(*texts->root().at(i).string());
    INFO(i << " \"" << text << "\"");
    // Its tokenizer.json lost this one character: the entry's text is empty there.
    if (text.find("\u2028") != std::string::npos) continue;
    CHECK(test::same_encodings(*json, *model, text));
  }
  for (TokenId id = 0; id < static_cast<TokenId>(json->vocab_size()); ++id) {
    if (id == 31353) continue;  // U+2028
    std::string a, b;
    json->append_bytes(id, &a);
    model->append_bytes(id, &b);
    REQUIRE(a == b);
  }
}

TEST_CASE("added tokens: text, markup, and white space at their sides") {
  const auto tokenizer = take(from_json(kSmall));
  CHECK(tokenizer->encode("<x>")->empty());  // no "<", "x" or ">" in this vocabulary
  CHECK(*tokenizer->encode("ab c") == Tokens{3, 4, 2});
  CHECK(*test::markup_span(*tokenizer, "ab<x>c<y>") == Tokens{3, 5, 2, 6});
  CHECK(*test::markup_span(*tokenizer, "a <strip> b") == Tokens{0, 7, 1});
  CHECK(*test::markup_span(*tokenizer, "<strip> ") == Tokens{7});
  CHECK(*tokenizer->encode("a   b    c") == Tokens{0, 8, 1, 8, 4, 2});  // white space is text
  std::string shown;
  for (const TokenId id : {5, 6, 7, 8, 0, 99, -1}) tokenizer->append_bytes(id, &shown);
  CHECK(shown == "<y>   a");
  CHECK(tokenizer->bytes(6) == "<y>");
  for (const TokenId id : {5, 99, -1}) {
    CHECK(tokenizer->is_hidden(id));
    CHECK(tokenizer->bytes(id).empty());
  }
  CHECK(tokenizer->vocab_size() == 9);
}

TEST_CASE("user-defined pieces of a sentencepiece model: markup is not text") {
  const auto tokenizer = load("sentencepiece_unigram");
  const TokenId sep = *tokenizer->token_to_id("<|sep|>"), keep = *tokenizer->token_to_id("<keep>");
  const auto holds = [](const Tokens& tokens, TokenId id) {
    return std::find(tokens.begin(), tokens.end(), id) != tokens.end();
  };
  CHECK_FALSE(holds(*tokenizer->encode("a <|sep|> b"), sep));
  CHECK(holds(*test::markup_span(*tokenizer, "a <|sep|> b"), sep));
  CHECK(holds(*tokenizer->encode("a <keep> b"), keep));  // an ordinary word of the model
  TokenizerConfig config;
  config.specials = {"<keep>", "▁the"};  // one user-defined, one ordinary
  const auto strict = take(load_sentencepiece_tokenizer(
      test::golden("tokenizers/sentencepiece_unigram/tokenizer.model"), config));
  CHECK_FALSE(holds(*strict->encode("a <keep> b"), keep));
  CHECK(*tokenizer->encode("the") == Tokens{*tokenizer->token_to_id("▁the")});
  CHECK_FALSE(holds(*strict->encode("the"), *strict->token_to_id("▁the")));
  CHECK(strict->digest() != tokenizer->digest());
}

// Where a user-defined piece begins with a space, the library adds the dummy prefix
// itself and has the text as a whole; elsewhere it is given a space and parts.
TEST_CASE("a text has the same tokens however the library is told of it") {
  const auto mapped =
      MappedFile::open(test::golden("tokenizers/sentencepiece_bpe/tokenizer.model"));
  REQUIRE(mapped.ok());
  const std::string_view file(reinterpret_cast<const char*>(mapped->bytes().data()),
                              mapped->bytes().size());
  const auto model = parse_sentencepiece_model(file, "tokenizer.model");
  REQUIRE(model.ok());
  SentencepieceParts parts;
  for (const auto& piece : model->pieces)
    parts.pieces.push_back({std::string(piece.text), piece.score, piece.type});
  parts.pieces.push_back({"ab", 0, SentencepieceModel::Type::kUserDefined});
  parts.pieces.push_back({">▁", 0, SentencepieceModel::Type::kNormal});  // a space behind a letter
  parts.pieces.push_back({"\x01\x01", 0, SentencepieceModel::Type::kUserDefined});
  const auto spelled =
      take(make_sentencepiece_tokenizer(write_sentencepiece_model(parts), "spelled", {}));
  parts.pieces.back().text = " \x01";  // in no text
  const auto added =
      take(make_sentencepiece_tokenizer(write_sentencepiece_model(parts), "added", {}));
  const char* const units[] = {" ", "  ", "a",  "ab", "the ", "\n",
                               "▁", "é",  "日", "1",  "\t",   "> </"};
  test::Random random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::uint32_t n = i % 100 == 0 ? 4000 : random.below(8); n > 0; --n)
      text += units[random.below(std::size(units))];
    INFO("\"" << text << "\"");
    REQUIRE(test::same_encodings(*spelled, *added, text));
  }
}

TEST_CASE("bad text is refused with its place") {
  for (const char* name : {"llama3", "sentencepiece_bpe"}) {
    const auto tokenizer = load(name);
    for (const auto& bad : test::encodings(*tokenizer, "abc\xFFz")) {
      REQUIRE_FALSE(bad.ok());
      CHECK(bad.error().code == Code::kInvalidArgument);
      CHECK(bad.error().message == "the text is not valid UTF-8 at byte 3");
    }
    for (const auto& bad : test::encodings(*tokenizer, std::string(kMaxTextBytes + 1, 'a')))
      CHECK_FALSE(bad.ok());
  }
}

TEST_CASE("a long text of anything is encoded in linear time on a small stack") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG) || \
    defined(PC_EMULATED)
  constexpr std::size_t kSlower = 16;
#else
  constexpr std::size_t kSlower = 1;
#endif
  const std::vector<std::string> units = {
      "a",  " ", "\n",  "1", "!",  "\xF0\x9F\x98\x80", "\u0301", "é",  "日",          "▁", " \n",
      "ab", "'", "\t ", "<", "<|", "\u200d",           "A a",    "\r", "\u0323\u0301"};
  const auto seconds_for = [](const Tokenizer& tokenizer, const std::string& unit,
                              std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += unit;
    bool ok = false;
    const double seconds = test::seconds_on_small_stack([&] { ok = tokenizer.encode(text).ok(); });
    CHECK(ok);
    return seconds;
  };
  // A sixteenth of a mebibyte for all units, and the whole for some, shows that
  // it is linear. The sentencepiece library takes about a second for the whole.
  for (const char* name :
       {"llama3", "qwen2", "smollm2", "metaspace", "sentencepiece_bpe", "sentencepiece_unigram"}) {
    const auto tokenizer = load(name);
    for (const std::string& unit : units) {
      INFO(name << " \"" << unit << "\"");
      CHECK(seconds_for(*tokenizer, unit, (1 << 16) / kSlower) < 0.5);
    }
    for (const char* unit : {" ", "<"}) {
      INFO(name << " \"" << unit << "\"");
      CHECK(seconds_for(*tokenizer, unit, (1 << 20) / kSlower) < 2.0);
    }
  }
}

TEST_CASE("tokenizer.json with one thing wrong") {
  const auto message = [](const std::string& from, const std::string& to) {
    const auto tokenizer = from_json(replaced(kSmall, from, to));
    INFO(to);
    REQUIRE_FALSE(tokenizer.ok());
    return tokenizer.error().message;
  };
  CHECK(message("\"BPE\"", "\"Unigram\"") ==
        "t.json: $.model: type \"Unigram\" is not supported; BPE is");
  CHECK(message("\"ab\":3", "\"ab\":-3") == "t.json: $.model.vocab.ab: is -3, wanted 0 to 1048575");
  CHECK(message("\"ab\":3", "\"ab\":1e3") ==
        "t.json: $.model.vocab.ab: is number, wanted an integer");
  CHECK(message("\"ab\":3", "\"ab\":2000000") ==
        "t.json: $.model.vocab.ab: is 2000000, wanted 0 to 1048575");
  CHECK(message("\"c\":2", "\"c\":1") == "t.json: $.model.vocab.c: its id 1 is also that of \"b\"");
  CHECK(message("\"a b\"", "\"a d\"") ==
        "t.json: $.model.merges[0]: merges tokens that the vocabulary does not have");
  CHECK(message("\"a b\"", "\"ab\"") ==
        "t.json: $.model.merges[0]: is not two tokens with a space between");
  CHECK(message("\"a b\"", "[\"a\",\"b\",\"c\"]") ==
        "t.json: $.model.merges[0]: is array, wanted a string");
  CHECK(message("\"merges\"", "\"merge\"") == "t.json: $.model: has no \"merges\"");
  CHECK(message("\"id\":5", "\"id\":-5") ==
        "t.json: $.added_tokens[0]: the token id -5 is out of range");
  CHECK(message("<y>", "ab").find("\"ab\" has the id 6, but 3 in the vocabulary") !=
        std::string::npos);
  CHECK(message("\"type\":\"BPE\"", "\"type\":\"BPE\",\"dropout\":0.1") ==
        "t.json: $.model: dropout other than 0");
  CHECK(message("\"type\":\"BPE\"", "\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\"") ==
        "t.json: $.model: end_of_word_suffix is not empty");
  CHECK(message("\"type\":\"BPE\"", "\"type\":\"BPE\",\"unk_token\":\"?\"") ==
        "t.json: $.model: unk_token is not in the vocabulary");
  CHECK(message("{\"model\"", "{\"decoder\":{\"type\":\"WordPiece\"},\"model\"") ==
        "t.json: $.decoder: type \"WordPiece\" does not fit the pre_tokenizer; Replace, "
        "ByteFallback, "
        "Fuse, Strip and Metaspace do");
  CHECK(message("{\"model\"", "{\"post_processor\":{\"type\":\"BertProcessing\"},\"model\"") ==
        "t.json: $.post_processor: type \"BertProcessing\" is not supported; ByteLevel, "
        "TemplateProcessing or a Sequence of them is");
}

TEST_CASE("whatever decides about ids is in the digest") {
  const Digest digest = take(from_json(kSmall))->digest();
  const std::pair<const char*, const char*> changes[] = {
      {"\"c\":2", "\"d\":2"},
      {"[\"a b\"]", "[]"},
      {"\"<x>\"", "\"<z>\""},
      {"\"id\":6", "\"id\":9"},
      {"{\"model\"", R"({"normalizer":{"type":"NFC"},"model")"},
      {"{\"model\"", R"({"pre_tokenizer":{"type":"Digits"},"model")"},
      {"\"type\":\"BPE\"", "\"type\":\"BPE\",\"ignore_merges\":true"},
      {"\"type\":\"BPE\"", "\"type\":\"BPE\",\"unk_token\":\"c\""},
      {"\"lstrip\":true", "\"lstrip\":false"}};
  for (const auto& [from, to] : changes) {
    INFO(to);
    CHECK(take(from_json(replaced(kSmall, from, to)))->digest() != digest);
  }
  TokenizerConfig config;
  config.bos = "<x>";
  const Digest with_bos = take(from_json(kSmall, config))->digest();
  CHECK(with_bos != digest);
  config.add_bos = true;
  CHECK(take(from_json(kSmall, config))->digest() != with_bos);
  CHECK(take(from_json(replaced(kSmall, "\"type\":\"BPE\"", "\"type\": \"BPE\"")))->digest() ==
        digest);
}

TEST_CASE("special tokens stay out of text even where the vocabulary could spell them") {
  // "ab" is a word, a merge and a special token at once.
  const std::string json =
      replaced(replaced(kSmall, "\"id\":5,\"content\":\"<x>\"", "\"id\":3,\"content\":\"ab\""),
               "\"type\":\"BPE\"", "\"type\":\"BPE\",\"ignore_merges\":true");
  const auto tokenizer = take(from_json(json));
  CHECK(*tokenizer->encode("ab") == Tokens{0, 1});
  CHECK(*test::markup_span(*tokenizer, "abc") == Tokens{3, 2});
}

TEST_CASE("a folder's small files") {
  const test::TempFolder folder;
  CHECK(load_tokenizer(folder.path()).error().code == Code::kNotFound);
  folder.write("tokenizer.json", kSmall);
  CHECK(take(load_tokenizer(folder.path()))->facts().chat_template.empty());

  folder.write("tokenizer_config.json",
               R"({"bos_token":{"content":"<x>"},"eos_token":"<y>","add_bos_token":true,
      "added_tokens_decoder":{"9":{"content":"<new>","special":true}},"chat_template":"from the config"})");
  folder.write("added_tokens.json", R"({"<newer>":11})");
  folder.write("special_tokens_map.json",
               R"({"bos_token":"<y>","unk_token":"c","additional_special_tokens":["<y>"]})");
  auto tokenizer = take(load_tokenizer(folder.path()));
  CHECK(tokenizer->bos() == 5);  // tokenizer_config.json wins
  CHECK(tokenizer->eos() == 6);
  CHECK(tokenizer->unk() == 2);
  CHECK(tokenizer->add_bos());
  CHECK(tokenizer->placeholder() == 2);
  CHECK(tokenizer->vocab_size() == 12);
  CHECK(*test::markup_span(*tokenizer, "<new><newer>") == Tokens{9, 11});
  CHECK(tokenizer->facts().chat_template == "from the config");
  folder.write("chat_template.jinja", "from the file");
  CHECK(take(load_tokenizer(folder.path()))->facts().chat_template == "from the file");

  // Added tokens that the model has no row for are none, in whichever file.
  for (const std::string config :
       {R"({"vocab_size":9})", R"({"vocab_size":99,"text_config":{"vocab_size":9}})"}) {
    folder.write("config.json", config);
    const auto cut = take(load_tokenizer(folder.path()));
    CHECK(cut->vocab_size() == 9);
    CHECK_FALSE(cut->token_to_id("<new>"));
    CHECK(cut->token_to_id("<y>") == 6);
  }
  folder.write("config.json", R"({"vocab_size":6})");
  CHECK_FALSE(take(load_tokenizer(folder.path()))->token_to_id("<y>"));  // of tokenizer.json
  for (const std::string config : {"{", R"({"vocab_size":"9"})", R"({"vocab_size":0})", "{}"}) {
    folder.write("config.json", config);
    CHECK(take(load_tokenizer(folder.path()))->vocab_size() == 12);
  }

  const auto error = [&](const std::string& config) {
    folder.write("tokenizer_config.json", config);
    const auto result = load_tokenizer(folder.path());
    REQUIRE_FALSE(result.ok());
    return result.error().message;
  };
  const std::string name = folder.path() + "/tokenizer_config.json: ";
  CHECK(error("{") == name + "not valid JSON at byte 2");
  CHECK(error(R"({"bos_token":7})") == name + "$.bos_token: is number, wanted a string");
  CHECK(error(R"({"add_bos_token":"yes"})") ==
        name + "$.add_bos_token: is string, wanted true or false");
  CHECK(error(R"({"added_tokens_decoder":{"1x":{"content":"a"}}})") ==
        name + "$.added_tokens_decoder.1x: its key is not a token id");
  folder.write("tokenizer_config.json", "{}");
  folder.write("tokenizer.model", "this is no sentencepiece model");
  CHECK(load_tokenizer(folder.path()).error().code ==
        Code::kCorrupt);  // and it wins over tokenizer.json
}

TEST_CASE("a sentencepiece file that is cut off anywhere is refused or sound") {
  const std::string whole =
      test::read_file(test::golden("tokenizers/sentencepiece_unigram/tokenizer.model"));
  std::size_t accepted = 0;
  for (std::size_t n = 0; n < whole.size(); n += 7) {
    const auto tokenizer = make_sentencepiece_tokenizer(whole.substr(0, n), "m", {});
    if (!tokenizer.ok()) continue;
    ++accepted;  // cut between two sections that may be absent
    CHECK((*tokenizer)->encode("the city").ok());
  }
  CHECK(accepted < 40);
}
