#include "runtime/tokenizer/sentencepiece/sentencepiece_model.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace pc;

namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7F));
  return out + static_cast<char>(value);
}
std::string bytes_field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string int_field(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}
std::string float_field(int number, float value) {
  std::string out = varint(static_cast<std::uint64_t>(number) << 3 | 5) + std::string(4, '\0');
  std::memcpy(out.data() + out.size() - 4, &value, 4);
  return out;
}
std::string piece(const std::string& text, std::uint64_t type) {
  return bytes_field(1, bytes_field(1, text) + float_field(2, -1.5f) + int_field(3, type));
}

// A table in which "a" has a rule whose text starts at `value`.
struct Charsmap {
  std::vector<std::uint32_t> units = std::vector<std::uint32_t>(256);
  std::string texts = std::string("b\0", 2);

  explicit Charsmap(std::uint32_t value) {
    units[0] = 1u << 10;                        // steps go to 1 ^ label
    units[1 ^ 'a'] = 'a' | 1u << 8 | 2u << 10;  // has a leaf, at its own place ^ 2
    units[1 ^ 'a' ^ 2] = value;
  }
  std::string model() const {
    const std::uint32_t n = static_cast<std::uint32_t>(units.size() * 4);
    std::string map(4 + n, '\0');
    std::memcpy(map.data(), &n, 4);
    std::memcpy(map.data() + 4, units.data(), n);
    return piece("<unk>", 2) + bytes_field(3, bytes_field(2, map + texts));
  }
};

std::string refusal(const std::string& bytes) {
  const auto model = parse_sentencepiece_model(bytes, "m");
  return model.ok() ? "" : model.error().message;
}

constexpr std::uint32_t kValue = 1u << 31;

}  // namespace

TEST_CASE("what a model file says is read, with the format's defaults") {
  const std::string bytes = piece("<unk>", 2) + bytes_field(1, bytes_field(1, "a")) +
                            bytes_field(2, int_field(3, 2)) + bytes_field(3, int_field(4, 0));
  const auto model = parse_sentencepiece_model(bytes, "m");
  REQUIRE(model.ok());
  CHECK(model->kind == SentencepieceModel::Kind::kBpe);
  REQUIRE(model->pieces.size() == 2);
  CHECK(model->pieces[0].text == "<unk>");
  CHECK(model->pieces[0].type == SentencepieceModel::Type::kUnknown);
  CHECK(model->pieces[0].score == -1.5f);
  CHECK(model->pieces[1].type == SentencepieceModel::Type::kNormal);
  CHECK(model->add_dummy_prefix);
  CHECK_FALSE(model->remove_extra_whitespaces);
}

TEST_CASE("rewriting changes types, drops self-tests, and turns the prefix off") {
  const std::string bytes = piece("<unk>", 2) +
                            bytes_field(1, bytes_field(1, std::string(200, 'a'))) +
                            bytes_field(4, bytes_field(1, "self-test")) + piece("b", 4);
  auto model = parse_sentencepiece_model(bytes, "m");
  REQUIRE(model.ok());
  for (auto& p : model->pieces) {
    if (p.text != "<unk>") p.type = SentencepieceModel::Type::kControl;
  }
  const std::string rewritten = rewrite_sentencepiece_model(*model, false);
  const auto again = parse_sentencepiece_model(rewritten, "m");
  REQUIRE(again.ok());
  CHECK(again->pieces[0].type == SentencepieceModel::Type::kUnknown);
  CHECK(again->pieces[1].text == std::string(200, 'a'));
  CHECK(again->pieces[1].type == SentencepieceModel::Type::kControl);
  CHECK(again->pieces[2].type == SentencepieceModel::Type::kControl);
  CHECK_FALSE(again->add_dummy_prefix);
  CHECK(rewritten.find("self-test") == std::string::npos);
}

TEST_CASE("a table that points outside itself is refused") {
  CHECK(refusal(Charsmap(kValue | 0).model()).empty());
  CHECK(refusal(Charsmap(kValue | 1).model()).empty());
  const std::string outside = "m: the normalizer's table points outside itself";
  CHECK(refusal(Charsmap(kValue | 2).model()) == outside);
  CHECK(refusal(Charsmap(2).model()) ==
        outside);  // the leaf is no value unit: read as one all the same
  Charsmap step(kValue);
  step.units[1 ^ 'a'] = 'a' | 256u << 10;
  CHECK(refusal(step.model()) == outside);
  Charsmap root(kValue);
  root.units[0] |= kValue | 1u << 20;
  CHECK(refusal(root.model()) == outside);
  Charsmap open(kValue);
  open.texts = "b";
  CHECK(refusal(open.model()) == "m: the normalizer's texts do not end");
  Charsmap odd(kValue);
  odd.units.resize(300);
  CHECK(refusal(odd.model()) == "m: the normalizer's table has a wrong size");
}

TEST_CASE("damage and what is not supported") {
  const std::string unk = piece("<unk>", 2);
  CHECK(refusal("") == "m: holds no pieces; is it a sentencepiece model?");
  CHECK(refusal("{\"version\"") == "m: no sentencepiece model, or damaged in the model");
  for (std::size_t n = 1; n < unk.size(); ++n) CHECK_FALSE(refusal(unk.substr(0, n)).empty());
  CHECK(refusal(unk + piece("", 1)).find("piece 1 has no text") != std::string::npos);
  CHECK(refusal(unk + piece(std::string(513, 'a'), 1)).find("over 512 bytes") != std::string::npos);
  CHECK(refusal(unk + piece("a", 7)) == "m: piece 1 has an unknown type");
  CHECK(refusal(unk + bytes_field(1, bytes_field(1, "a") + float_field(2, 0.0f / 0.0f)))
            .find("no number") != std::string::npos);
  CHECK(refusal(unk + bytes_field(2, int_field(3, 3))).find("word and char are not supported") !=
        std::string::npos);
  CHECK(refusal(unk + bytes_field(3, int_field(3, 1)) + bytes_field(3, int_field(3, 1))) ==
        "m: has two normalizer sections");
  // A table in a field of another wire type is none for the library, nor for us.
  CHECK(refusal(unk + bytes_field(3, int_field(2, 9))).empty());
}
