#include "runtime/checkpoint/gguf.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "simd/types.h"
#include "tests/support/cpu_seconds.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/random.h"
#include "tests/support/safetensors_bytes.h"  // as_span
#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kF32 = 0, kQ4_0 = 2, kQ4_K = 12;

Result<GgufFile> parse(const std::string& file) {
  return parse_gguf(as_span(file), "m.gguf");
}

// Refused with this code, the file's name, this part of a sentence, in one line.
void refused(const std::string& file, Code code, const std::string& part) {
  const auto parsed = parse(file);
  INFO(part);
  REQUIRE_FALSE(parsed.ok());
  INFO(parsed.error().message);
  CHECK(parsed.error().code == code);
  CHECK_THAT(parsed.error().message, Catch::Contains(part) && Catch::StartsWith("m.gguf: "));
  CHECK(parsed.error().message.find('\n') == std::string::npos);
}
void refused(const GgufBytes& bytes, Code code, const std::string& part) {
  refused(bytes.file(), code, part);
}

// One of everything; under a kilobyte.
GgufBytes small() {
  GgufBytes bytes;
  bytes.string("general.architecture", "llama").value("general.alignment", std::uint32_t{32});
  bytes.value("u8", std::uint8_t{200}).value("i8", std::int8_t{-3});
  bytes.value("u16", std::uint16_t{60000}).value("i16", std::int16_t{-5});
  bytes.value("i32", std::int32_t{7}).value("f32", 1.5f).value("bool", true);
  bytes.value("u64", std::uint64_t{1} << 40).value("i64", std::int64_t{-9}).value("f64", 0.25);
  bytes.strings("tokens", {"a", "", "\xE2\x96\x81"}).array<float>("scores", {0.0f, -1.0f, 2.5f});
  bytes.array<std::int32_t>("types", {1, 3, 6}).array<std::uint8_t>("none", {});
  bytes.tensor("a", kF32, {3, 2}, std::string(24, 'a'));
  bytes.tensor("b", kQ4_0, {64}, std::string(36, 'b'));
  return bytes;
}

}  // namespace

TEST_CASE("pairs of every type are read, in place") {
  const std::string file = small().file();
  const auto parsed = parse(file);
  REQUIRE(parsed.ok());
  const GgufMetadata& m = parsed->metadata;
  CHECK(m.file() == "m.gguf");
  CHECK(m.all().size() == 16);
  CHECK(*m.string("general.architecture") == "llama");
  CHECK(m.string("general.architecture")->data() > file.data());
  CHECK(m.string("general.architecture")->data() < file.data() + file.size());
  CHECK(*m.integer("u8") == 200);
  CHECK(*m.integer("u16") == 60000);
  CHECK(*m.integer("i32") == 7);
  CHECK(*m.integer("u64") == std::uint64_t{1} << 40);
  CHECK(*m.number("i8") == -3.0);
  CHECK(*m.number("i16") == -5.0);
  CHECK(*m.number("i64") == -9.0);
  CHECK(*m.number("f32") == 1.5);
  CHECK(*m.number("f64") == 0.25);
  CHECK(*m.boolean("bool"));
  const auto tokens = m.strings("tokens");
  REQUIRE(tokens.ok());
  CHECK(std::vector<std::string>(tokens->begin(), tokens->end()) ==
        std::vector<std::string>{"a", "", "\xE2\x96\x81"});
  CHECK(*m.floats("scores") == std::vector<float>{0.0f, -1.0f, 2.5f});
  CHECK(*m.integers("types") == std::vector<std::int64_t>{1, 3, 6});
  CHECK(m.integers("none")->empty());
  CHECK(m.find("none")->is_array);
  CHECK_FALSE(m.has("nothing"));
}

TEST_CASE("what is absent has its stand-in; what is of another type does not") {
  const std::string file = small().file();
  const auto parsed = parse(file);
  REQUIRE(parsed.ok());
  const GgufMetadata& m = parsed->metadata;
  CHECK(*m.integer_or("x", 4) == 4);
  CHECK(*m.string_or("x", "y") == "y");
  CHECK(*m.number_or("x", 0.5) == 0.5);
  CHECK(*m.boolean_or("x", true));
  CHECK(*m.integer_or("i32", 4) == 7);
  CHECK_FALSE(m.integer_or("f32", 4).ok());
  CHECK_FALSE(m.string_or("i32", "y").ok());
  CHECK_FALSE(m.number_or("tokens", 0.5).ok());
  CHECK_FALSE(m.boolean_or("u8", true).ok());
}

TEST_CASE("a getter's error names the file, the key and what was wanted") {
  GgufBytes bytes = small();
  bytes.value("nan", std::nanf("")).array<float>("scores2", {0.0f, std::nanf("")});
  bytes.array<std::uint64_t>("large", {1, kHuge}).array<bool>("bools", {});
  const std::string file = bytes.file();
  const auto parsed = parse(file);
  REQUIRE(parsed.ok());
  const GgufMetadata& m = parsed->metadata;
  CHECK(m.integer("x").error().message == "m.gguf: key \"x\": is missing, wanted an integer");
  CHECK(m.integer("f32").error().message == "m.gguf: key \"f32\": is f32, wanted an integer");
  CHECK(m.integer("i8").error().message == "m.gguf: key \"i8\": is -3, which is negative");
  CHECK(m.string("tokens").error().message ==
        "m.gguf: key \"tokens\": is an array of string, wanted a string");
  CHECK(m.strings("scores").error().message ==
        "m.gguf: key \"scores\": is an array of f32, wanted an array of strings");
  CHECK_THAT(m.number("nan").error().message, Catch::Contains("not a number"));
  CHECK_THAT(m.floats("scores2").error().message, Catch::Contains("element 1"));
  CHECK_THAT(m.floats("types").error().message, Catch::Contains("an array of i32"));
  CHECK_THAT(m.integers("large").error().message, Catch::Contains("18446744073709551615"));
  CHECK_THAT(m.integers("i32").error().message, Catch::Contains("wanted an array of integers"));
  CHECK_THAT(m.boolean("u8").error().message, Catch::Contains("wanted a boolean"));
  CHECK(m.integer("x").error().code == Code::kCorrupt);
}

TEST_CASE("tensors are views into the file, shapes slowest first") {
  const std::string file = small().file();
  const auto parsed = parse(file);
  REQUIRE(parsed.ok());
  REQUIRE(parsed->tensors.size() == 2);
  const TensorView& a = parsed->tensors.at("a");
  CHECK(a.dtype == "F32");
  CHECK(a.shape == std::vector<std::uint64_t>{2, 3});
  CHECK(a.file == "m.gguf");
  const TensorView& b = parsed->tensors.at("b");
  CHECK(b.dtype == "Q4_0");
  CHECK(b.bytes.size() == 36);
  CHECK(reinterpret_cast<const char*>(b.bytes.data()) == file.data() + file.size() - 36);
  CHECK((reinterpret_cast<const char*>(a.bytes.data()) - file.data()) % 32 == 0);
}

TEST_CASE("every type that is computed is read with its own block") {
  // The format's ids, by the names of simd/types.h.
  const std::map<std::string, std::uint32_t> ids{
      {"F32", 0},      {"F16", 1},    {"Q4_0", 2},    {"Q4_1", 3},     {"Q5_0", 6},
      {"Q5_1", 7},     {"Q8_0", 8},   {"Q2_K", 10},   {"Q3_K", 11},    {"Q4_K", 12},
      {"Q5_K", 13},    {"Q6_K", 14},  {"BF16", 30},   {"IQ2_XXS", 16}, {"IQ2_XS", 17},
      {"IQ3_XXS", 18}, {"IQ1_S", 19}, {"IQ4_NL", 20}, {"IQ3_S", 21},   {"IQ2_S", 22},
      {"IQ4_XS", 23},  {"IQ1_M", 29}, {"TQ1_0", 34},  {"TQ2_0", 35},   {"MXFP4", 39},
      {"NVFP4", 40}};
  REQUIRE(ids.size() + 1 == simd::kTypeShapes.size());
  for (const auto& shape : std::span(simd::kTypeShapes).subspan(1)) {
    INFO(shape.name);
    GgufBytes bytes;
    bytes.tensor("t", ids.at(shape.name), {shape.elements * 2ull, 3},
                 std::string(shape.bytes * 6ull, 'x'));
    const std::string file = bytes.file();
    const auto parsed = parse(file);
    REQUIRE(parsed.ok());
    CHECK(parsed->tensors.at("t").dtype == shape.name);
    CHECK(parsed->tensors.at("t").bytes.size() == shape.bytes * 6);
    CHECK_FALSE(parse(file.substr(0, file.size() - 1)).ok());
    if (shape.elements > 1) {
      refused(GgufBytes().tensor("t", ids.at(shape.name), {shape.elements / 2, 4},
                                 std::string(4096, 'x')),
              Code::kCorrupt, "comes in blocks of " + std::to_string(shape.elements));
    }
  }
}

TEST_CASE("types that nobody computes here are read by name, others are refused") {
  const std::map<std::uint32_t, std::pair<std::string, std::size_t>> known{
      {9, {"Q8_1", 288}},  {15, {"Q8_K", 292}},     {24, {"I8", 256}}, {26, {"I32", 1024}},
      {28, {"F64", 2048}}, {31, {"Q4_0_4_4", 144}}, {41, {"Q1_0", 36}}};
  for (const auto& [id, type] : known) {
    INFO(type.first);
    const std::string file =
        GgufBytes().tensor("t", id, {256}, std::string(type.second, 'x')).file();
    const auto parsed = parse(file);
    REQUIRE(parsed.ok());
    CHECK(parsed->tensors.at("t").dtype == type.first);
    CHECK(parsed->tensors.at("t").bytes.size() == type.second);
  }
  for (const std::uint32_t id : {4u, 5u, 36u, 99u, 0xFFFFFFFFu}) {
    refused(GgufBytes().tensor("t", id, {256}, std::string(4096, 'x')), Code::kUnsupported,
            "tensor \"t\" is of type " + std::to_string(id) + ",");
  }
}

TEST_CASE("no pairs and no tensors, version 2, scalars, padding: all sound") {
  CHECK(parse(GgufBytes().file()).ok());
  GgufBytes old = small();
  old.version = 2;
  CHECK(parse(old.file()).ok());
  CHECK(parse(GgufBytes().tensor("s", kF32, {}, "1234").file())->tensors.at("s").shape.empty());
  CHECK(parse(GgufBytes()
                  .tensor("a", kF32, {1}, "1234", 96)
                  .tensor("b", kF32, {1}, std::string(68, 'x'))
                  .file())
            .ok());
  CHECK(parse(small().file() + std::string(100, '\0')).ok());
  GgufBytes coarse;
  coarse.alignment = 65536;
  coarse.value("general.alignment", std::uint32_t{65536}).tensor("a", kF32, {1}, "1234");
  CHECK(parse(coarse.file()).ok());
  GgufBytes fine;
  fine.alignment = 1;
  fine.value("general.alignment", std::uint32_t{1}).tensor("a", kF32, {1}, "1234");
  fine.tensor("b", 24, {3}, "123").tensor("c", kF32, {1}, "1234");
  CHECK(parse(fine.file()).ok());
}

TEST_CASE("a file cut off anywhere is refused") {
  const std::string file = small().file();
  for (std::size_t n = 0; n < file.size(); ++n) {
    INFO(n);
    const std::string cut = file.substr(0, n);
    const auto parsed = parse_gguf(as_span(cut), "m.gguf");
    REQUIRE_FALSE(parsed.ok());
    REQUIRE(parsed.error().code == Code::kCorrupt);
    REQUIRE_THAT(parsed.error().message, Catch::StartsWith("m.gguf: "));
    if (n >= 4) REQUIRE_THAT(parsed.error().message, Catch::Contains("truncated"));
  }
}

TEST_CASE("every byte that is changed is read or refused, and stays inside") {
  const std::string file = small().file();
  for (std::size_t i = 0; i < file.size() - 36; ++i) {
    for (const int flip : {0x01, 0x02, 0x20, 0x80, 0xFF}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto parsed = parse(changed);
      if (!parsed.ok()) {
        REQUIRE(parsed.error().message.find('\n') == std::string::npos);
        continue;
      }
      for (const auto& [name, view] : parsed->tensors) {
        REQUIRE(view.bytes.data() >= as_span(changed).data());
        REQUIRE(view.bytes.data() + view.bytes.size() <= as_span(changed).data() + changed.size());
      }
    }
  }
}

TEST_CASE("what is no GGUF file, or one of another kind, has its own sentence") {
  refused("", Code::kCorrupt, "not a GGUF file");
  refused("GGU", Code::kCorrupt, "not a GGUF file");
  refused(std::string(64, '\0'), Code::kCorrupt, "not a GGUF file");
  refused("lmgg" + std::string(60, 'x'), Code::kUnsupported, "before GGUF");
  refused("version https://git-lfs", Code::kUnsupported, "Git LFS pointer");
  refused("GGUF", Code::kCorrupt, "truncated");
  const auto version = [](std::uint32_t n) {
    GgufBytes bytes = small();
    bytes.version = n;
    return bytes;
  };
  refused(version(1), Code::kUnsupported, "GGUF version 1; versions 2 and 3 are read, convert");
  refused(version(0), Code::kUnsupported, "GGUF version 0;");
  refused(version(4), Code::kUnsupported, "GGUF version 4;");
  refused(version(0x03000000), Code::kUnsupported, "big-endian");
  refused(version(0x02000000), Code::kUnsupported, "big-endian");
}

TEST_CASE("counts are believed as far as the file has bytes") {
  for (const std::uint64_t n : {std::uint64_t{65537}, std::uint64_t{1} << 40, kHuge, kHuge / 25}) {
    GgufBytes pairs = small(), tensors = small();
    pairs.n_pairs = n;
    tensors.n_tensors = n;
    refused(pairs, Code::kCorrupt, "counts " + std::to_string(n) + " key-value pairs");
    refused(tensors, Code::kCorrupt, "counts " + std::to_string(n) + " tensors");
  }
  GgufBytes one_more = small();
  one_more.n_pairs = 17;
  CHECK_FALSE(parse(one_more.file()).ok());
  GgufBytes many;
  many.n_tensors = 65537;
  refused(many.file() + std::string(65537 * 25, 'x'), Code::kUnsupported, "the limit is 65536");
}

// Processor time of reading so many pairs and tensors.
double seconds_of(int n) {
  GgufBytes bytes;
  for (int i = 0; i < n; ++i) {
    bytes.value("key." + std::to_string(i), std::uint8_t{1});
    bytes.tensor("blk." + std::to_string(i), 24, {1}, "x");
  }
  const std::string file = bytes.file();
  const double before = cpu_seconds();
  const auto parsed = parse(file);
  const double seconds = cpu_seconds() - before;
  REQUIRE(parsed.ok());
  CHECK(parsed->tensors.size() == static_cast<std::size_t>(n));
  return seconds;
}

TEST_CASE("65536 pairs and tensors are read without quadratic work") {
  // Sixteen times as many: 16 times as long, or a little more, where work grows with them; 256
  // times where it grows with their square.
  const double few = seconds_of(4096);
  CHECK(seconds_of(65536) < 64 * std::max(few, 0.001));
}

TEST_CASE("strings and arrays that claim too much are refused before any work") {
  const auto string_of = [](std::uint64_t n) {
    return GgufBytes().raw_pair("k", le(GgufType::kString) + le(n) + "abc");
  };
  for (const std::uint64_t n : {std::uint64_t{4}, std::uint64_t{1} << 40, kHuge}) {
    refused(string_of(n), Code::kCorrupt, "key \"k\" goes past the end");
  }
  const auto array_of = [](GgufType type, std::uint64_t n) {
    return GgufBytes().raw_pair("k", GgufBytes::array_head(type, n) + std::string(16, '\0'));
  };
  for (const std::uint64_t n : {std::uint64_t{17}, std::uint64_t{1} << 61, kHuge}) {
    for (const GgufType type : {GgufType::kU8, GgufType::kF64, GgufType::kString}) {
      refused(array_of(type, n), Code::kCorrupt, "key \"k\" goes past the end");
    }
  }
  CHECK(parse(array_of(GgufType::kU8, 16).file()).ok());
  CHECK(parse(array_of(GgufType::kString, 2).file()).ok());  // two empty ones
  refused(array_of(GgufType::kArray, 1), Code::kUnsupported, "array of arrays");
  refused(array_of(static_cast<GgufType>(13), 1), Code::kUnsupported, "value of type 13,");
  refused(GgufBytes().raw_pair("k", le(std::uint32_t{13}) + "12345678"), Code::kUnsupported,
          "value of type 13,");
}

TEST_CASE("limits: at them, and one over") {
  const std::string mebibyte(1 << 20, 'x');
  CHECK(parse(GgufBytes().string("k", mebibyte).file()).ok());
  refused(GgufBytes().string("k", mebibyte + "x"), Code::kUnsupported, "the limit is 1048576");
  CHECK(parse(GgufBytes().string(std::string(256, 'k'), "").file()).ok());
  refused(GgufBytes().string(std::string(257, 'k'), ""), Code::kUnsupported, "the limit is 256");
  CHECK(parse(GgufBytes().tensor(std::string(256, 't'), kF32, {1}, "1234").file()).ok());
  refused(GgufBytes().tensor(std::string(257, 't'), kF32, {1}, "1234"), Code::kUnsupported,
          "the limit is 256");
  CHECK(parse(GgufBytes().tensor("t", kF32, {1, 1, 1, 1}, "1234").file()).ok());
  refused(GgufBytes().tensor("t", kF32, {1, 1, 1, 1, 1}, "1234"), Code::kUnsupported,
          "5 dimensions");
  const std::uint64_t n = std::uint64_t{3} << 20;  // empty strings
  const auto strings = [](std::uint64_t count) {
    return GgufBytes().raw_pair(
        "k", GgufBytes::array_head(GgufType::kString, count) + std::string(count * 8, '\0'));
  };
  CHECK(parse(strings(n).file()).ok());
  refused(strings(n + 1), Code::kUnsupported, "the limit is 3145728 in a file");
  refused(strings(n).string("one.more", ""), Code::kUnsupported, "\"one.more\"");
  const std::string large =
      GgufBytes().array("k", std::vector<std::uint8_t>((std::size_t{2} << 20) + 1)).file();
  const auto parsed = parse(large);
  REQUIRE(parsed.ok());
  CHECK_THAT(parsed->metadata.integers("k").error().message,
             Catch::Contains("the limit is 2097152"));
}

TEST_CASE("names are printable, and stand once") {
  refused(GgufBytes().string("", "x"), Code::kCorrupt, "key-value pair 1 has a name");
  refused(GgufBytes().string("a", "x").string("a\nb", "x"), Code::kCorrupt,
          "key-value pair 2 has a name that is not printable ASCII");
  refused(GgufBytes().tensor("t\xC3\xA9", kF32, {1}, "1234"), Code::kCorrupt,
          "tensor 1 has a name");
  refused(small().value("u8", std::uint8_t{1}), Code::kCorrupt, "key \"u8\" occurs twice");
  refused(small().tensor("a", kF32, {1}, "1234"), Code::kCorrupt, "tensor \"a\" occurs twice");
  refused(GgufBytes().raw_pair("b", le(GgufType::kBool) + "\x02"), Code::kCorrupt,
          "key \"b\" has a boolean that is neither 0 nor 1");
}

TEST_CASE("the alignment is a power of two, as u32") {
  const auto aligned = [](auto n) {
    return GgufBytes().value("general.alignment", n).tensor("t", kF32, {1}, "1234");
  };
  refused(aligned(std::uint32_t{0}), Code::kCorrupt, "is 0, not a power of two");
  refused(aligned(std::uint32_t{24}), Code::kCorrupt, "is 24, not a power of two");
  refused(aligned(std::uint32_t{131072}), Code::kUnsupported, "the limit is 65536");
  refused(aligned(std::uint32_t{0x80000000}), Code::kUnsupported, "the limit is 65536");
  refused(aligned(std::uint64_t{32}), Code::kCorrupt, "\"general.alignment\" is not a u32");
  refused(aligned(32.0f), Code::kCorrupt, "is not a u32");
  refused(GgufBytes().array<std::uint32_t>("general.alignment", {32}), Code::kCorrupt,
          "is not a u32");
  refused(GgufBytes().tensor("t", kF32, {1}, std::string(64, 'x'), 16), Code::kCorrupt,
          "begins at byte 16 of the data, no multiple");
}

TEST_CASE("shapes and offsets that overflow, overlap or leave the file are refused") {
  const auto shaped = [](const std::vector<std::uint64_t>& extents, std::uint32_t type = kF32) {
    return GgufBytes().tensor("t", type, extents, std::string(64, 'x'));
  };
  const std::uint64_t half = std::uint64_t{1} << 32;
  refused(shaped({0}), Code::kCorrupt, "dimension of zero");
  refused(shaped({4, 0}), Code::kCorrupt, "dimension of zero");
  refused(shaped({half, half}), Code::kCorrupt, "2^64");
  refused(shaped({half, half, half, half}), Code::kCorrupt, "2^64");
  refused(shaped({std::uint64_t{1} << 62}), Code::kCorrupt, "2^64");
  refused(shaped({kHuge}), Code::kCorrupt, "2^64");
  refused(shaped({std::uint64_t{1} << 60}), Code::kCorrupt, "of which there are only 64");
  refused(shaped({256, half, half / 128}, kQ4_K), Code::kCorrupt, "2^64");
  refused(shaped({17}), Code::kCorrupt, "ends at byte 68 of the data, of which there are only 64");
  const auto at = [](std::uint64_t offset) {
    return GgufBytes().tensor("t", kF32, {16}, std::string(64, 'x'), offset);
  };
  CHECK(parse(at(0).file()).ok());
  refused(at(32), Code::kCorrupt, "only 64");
  refused(at(std::uint64_t{1} << 40), Code::kCorrupt, "only 64");
  refused(at(kHuge - 31), Code::kCorrupt, "goes past the end");
  const auto two = [](std::uint64_t a, std::uint64_t b) {
    return GgufBytes()
        .tensor("a", kF32, {16}, std::string(64, 'x'), a)
        .tensor("b", kF32, {16}, std::string(64, 'x'), b);
  };
  CHECK(parse(two(0, 64).file()).ok());
  CHECK(parse(two(64, 0).file()).ok());
  refused(two(0, 0), Code::kCorrupt, "inside another tensor");
  refused(two(0, 32), Code::kCorrupt, "tensor \"b\" begins at byte 32 of the data, inside");
  refused(two(64, 32), Code::kCorrupt, "tensor \"a\" begins at byte 64");
}

TEST_CASE("any layout of tensors without overlap is read, with overlap refused") {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    GgufBytes bytes;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    const std::uint32_t n = 1 + random.below(5);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint64_t begin = 32 * random.below(32), length = 1 + random.below(100);
      places.emplace_back(begin, begin + length);
      bytes.tensor("t" + std::to_string(i), 24, {length}, "", begin);
    }
    bool is_sound = true;
    for (std::uint32_t i = 0; i < n; ++i) {
      is_sound = is_sound && places[i].second <= 1024;
      for (std::uint32_t j = 0; j < i; ++j) {
        is_sound = is_sound &&
                   (places[i].second <= places[j].first || places[j].second <= places[i].first);
      }
    }
    CHECK(parse(bytes.file() + std::string(1024, 'x')).ok() == is_sound);
  }
}

TEST_CASE("published vocabularies are read") {
  const char* shared = std::getenv("PC_SHARED_DIR");
  const std::string path =
      std::string(shared ? shared : "") + "/assets/tokenizers/ggml-vocab-llama-spm.gguf";
  if (!is_gguf(path)) {
    WARN("skipped: " << path << " is absent");
    return;
  }
  const auto model = open_gguf(path);
  REQUIRE(model.ok());
  CHECK(model->checkpoint.tensors.empty());
  CHECK(*model->metadata.string("tokenizer.ggml.model") == "llama");
  CHECK(model->metadata.strings("tokenizer.ggml.tokens")->size() == 32000);
  CHECK(model->metadata.floats("tokenizer.ggml.scores")->size() == 32000);
}
