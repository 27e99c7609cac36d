#include "runtime/checkpoint/safetensors.h"

#include <catch2/catch.hpp>

#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace {

const std::string kGood = R"({"__metadata__":{"format":"pt"},)"
                          R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                          R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]}})";

Result<TensorMap> parse(const std::string& header, std::size_t n_data) {
  const std::string file = safetensors_file(header, std::string(n_data, 'x'));
  return parse_safetensors(as_span(file), "w.safetensors");
}

// Refused with this code, the file's name, and this part of a sentence.
void refused(const std::string& header, std::size_t n_data, Code code, const std::string& part) {
  INFO(header);
  const auto tensors = parse(header, n_data);
  REQUIRE_FALSE(tensors.ok());
  CHECK(tensors.error().code == code);
  CHECK_THAT(tensors.error().message, Catch::Contains(part) && Catch::Contains("w.safetensors"));
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

}  // namespace

TEST_CASE("tensors are views into the file") {
  const std::string file = safetensors_file(kGood, "0123456789abcdef01234567ABCDEFGH");
  const auto tensors = parse_safetensors(as_span(file), "w.safetensors");
  REQUIRE(tensors.ok());
  REQUIRE(tensors->size() == 2);
  const TensorView& b = tensors->at("b");
  CHECK(b.dtype == "BF16");
  CHECK(b.shape == std::vector<std::uint64_t>{4});
  CHECK(reinterpret_cast<const char*>(b.bytes.data()) == file.data() + 8 + kGood.size() + 24);
  CHECK(b.bytes.size() == 8);
}

TEST_CASE("a scalar, an empty tensor and a padded header are sound") {
  CHECK(parse(one("F32", "[]", "[0,4]"), 4).ok());
  CHECK(parse(one("F32", "[0,9223372036854775807]", "[0,0]"), 0).ok());
  CHECK(parse(kGood + "     ", 32).ok());
  CHECK(parse("{}", 0).ok());
}

TEST_CASE("a file cut off anywhere is refused") {
  const std::string file = safetensors_file(kGood, std::string(32, 'x'));
  for (std::size_t n = 0; n < file.size(); ++n) {
    INFO(n);
    const std::string cut = file.substr(0, n);
    const auto tensors = parse_safetensors(as_span(cut), "w.safetensors");
    REQUIRE_FALSE(tensors.ok());
    REQUIRE_THAT(tensors.error().message, Catch::Contains("w.safetensors"));
  }
  CHECK(parse_safetensors(as_span(file), "w.safetensors").ok());
}

TEST_CASE("every header that is changed in one byte is read or refused") {
  const std::string file = safetensors_file(kGood, std::string(32, 'x'));
  for (std::size_t i = 0; i < file.size() - 32; ++i) {
    for (const int flip : {1, 0x20, 0x80}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto tensors = parse_safetensors(as_span(changed), "w");
      if (!tensors.ok()) continue;
      std::size_t n_bytes = 0;  // whatever was read still covers the data exactly
      for (const auto& [name, view] : *tensors) n_bytes += view.bytes.size();
      REQUIRE(n_bytes == 32);
    }
  }
}

TEST_CASE("the data is covered without overlap, hole or rest") {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[8],"data_offsets":)" + b + "}}";
  };
  CHECK(parse(two("[8,16]", "[0,8]"), 16).ok());
  refused(two("[0,8]", "[4,12]"), 12, Code::kCorrupt, "inside another tensor");
  refused(two("[0,8]", "[0,8]"), 8, Code::kCorrupt, "inside another tensor");
  refused(two("[0,8]", "[9,17]"), 17, Code::kCorrupt, "after a hole");
  refused(two("[1,9]", "[9,17]"), 17, Code::kCorrupt, "after a hole");
  refused(two("[0,8]", "[8,16]"), 17, Code::kCorrupt, "belong to none");
  refused(two("[0,8]", "[8,16]"), 15, Code::kCorrupt, "truncated");
}

TEST_CASE("a tensor's bytes follow from its type and shape") {
  refused(one("F32", "[2]", "[0,4]"), 4, Code::kCorrupt, "takes another number");
  refused(one("F4", "[3]", "[0,1]"), 1, Code::kCorrupt, "takes another number");
  refused(one("F32", "[4294967296,4294967296]", "[0,0]"), 0, Code::kCorrupt,
          "takes another number");
  refused(one("F32", "[9223372036854775807,2]", "[0,8]"), 8, Code::kCorrupt,
          "takes another number");
  refused(one("F32", "[18446744073709551616]", "[0,8]"), 8, Code::kCorrupt, "shape");
  refused(one("F32", "[-1]", "[0,4]"), 4, Code::kCorrupt, "shape");
  refused(one("F32", "[1.0]", "[0,4]"), 4, Code::kCorrupt, "shape");
  refused(one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, Code::kUnsupported, "9 dimensions");
  refused(one("Q4_K", "[1]", "[0,4]"), 4, Code::kUnsupported, "Q4_K");
}

TEST_CASE("offsets out of range or out of order are refused") {
  refused(one("F32", "[1]", "[4,0]"), 4, Code::kCorrupt, "data_offsets");
  refused(one("F32", "[1]", "[-4,0]"), 4, Code::kCorrupt, "data_offsets");
  refused(one("F32", "[1]", "[0]"), 4, Code::kCorrupt, "pair");
  refused(one("F32", "[1]", "[0,9223372036854775807]"), 4, Code::kCorrupt, "truncated");
  refused(one("F32", "[1]", "[18446744073709551612,18446744073709551615]"), 4, Code::kCorrupt,
          "data_offsets");
}

TEST_CASE("a header is JSON of the right form, each name once") {
  refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
          R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          1, Code::kCorrupt, "twice");
  refused("[]", 0, Code::kCorrupt, "object");
  refused(R"({"a":[]})", 0, Code::kCorrupt, "object");
  refused(R"({"a":{"dtype":"U8","shape":[1]}})", 1, Code::kCorrupt, "data_offsets");
  refused(R"({"__metadata__":{"n":1}})", 0, Code::kCorrupt, "string");
  refused(std::string(64, '['), 0, Code::kUnsupported, "deeper");
  refused("PK\x03\x04", 0, Code::kCorrupt, "JSON");
}

TEST_CASE("a huge header and a huge count are refused before any work") {
  std::string file(8, '\xff');
  CHECK(parse_safetensors(as_span(file), "w").error().code == Code::kUnsupported);
  const std::uint64_t n = (std::uint64_t{16} << 20) + 1;
  std::memcpy(file.data(), &n, sizeof n);
  CHECK(parse_safetensors(as_span(file), "w").error().code == Code::kUnsupported);

  std::string many = "{";
  for (int i = 0; i < 65538; ++i) many += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  refused(many + "}", 0, Code::kUnsupported, "65536");
}

TEST_CASE("shards are plain names") {
  const auto index = [](const std::string& file) {
    return parse_safetensors_index(R"({"weight_map":{"t":")" + file + R"("}})", "index.json");
  };
  CHECK(index("model-00001-of-00002.safetensors").ok());
  for (const char* bad : {"../x", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
    INFO(bad);
    const auto map = index(bad);
    REQUIRE_FALSE(map.ok());
    CHECK(map.error().code == Code::kCorrupt);
    CHECK_THAT(map.error().message, Catch::Contains("plain file name"));
  }
  CHECK_FALSE(parse_safetensors_index(R"({"weight_map":{"t":1}})", "i").ok());
  CHECK_FALSE(parse_safetensors_index(R"({})", "i").ok());
}

namespace {

const std::string kA = safetensors_file(one("U8", "[1]", "[0,1]"), "x");
const std::string kB =
    safetensors_file(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "y");

std::string index_of(const std::string& a, const std::string& b) {
  return R"({"weight_map":{"a":")" + a + R"(","b":")" + b + R"("}})";
}

Error open_error(const TempFolder& folder) {
  const auto checkpoint = open_safetensors(folder.path());
  REQUIRE_FALSE(checkpoint.ok());
  CHECK_THAT(checkpoint.error().message, Catch::Contains(folder.path()));
  return checkpoint.error();
}

}  // namespace

TEST_CASE("a folder's weights are one file, or the shards of its index") {
  const TempFolder folder;
  CHECK_THAT(open_error(folder).message, Catch::Contains("no *.safetensors"));
  folder.write("pytorch_model.bin", "");
  CHECK_THAT(open_error(folder).message, Catch::Contains("convert"));
  folder.write("one.safetensors", kA);
  CHECK(open_safetensors(folder.path())->tensors.contains("a"));
  folder.write("two.safetensors", kB);
  CHECK_THAT(open_error(folder).message, Catch::Contains("neither"));
  folder.write("model.safetensors.index.json", index_of("one.safetensors", "two.safetensors"));
  CHECK(open_safetensors(folder.path())->tensors.size() == 2);
  folder.write("model.safetensors", kB);
  CHECK(open_safetensors(folder.path())->tensors.size() == 1);
}

TEST_CASE("an index and its shards agree") {
  const TempFolder folder;
  folder.write("1.safetensors", kA);
  folder.write("2.safetensors", kB);
  const std::string name = "model.safetensors.index.json";
  folder.write(name, index_of("2.safetensors", "1.safetensors"));
  CHECK_THAT(open_error(folder).message, Catch::Contains("which has none"));
  folder.write(name, index_of("1.safetensors", "3.safetensors"));
  CHECK(open_error(folder).code == Code::kNotFound);
  folder.write(name, R"({"weight_map":{"a":"1.safetensors","c":"2.safetensors"}})");
  CHECK(open_error(folder).code == Code::kMismatch);
  folder.write("2.safetensors", kA);
  folder.write(name, index_of("1.safetensors", "2.safetensors"));
  CHECK_THAT(open_error(folder).message, Catch::Contains("is also in"));
  folder.write(name, R"({"weight_map":{}})");
  CHECK_THAT(open_error(folder).message, Catch::Contains("0 files"));
  folder.write(name, index_of("../1.safetensors", "2.safetensors"));
  CHECK_THAT(open_error(folder).message, Catch::Contains("plain file name"));
}

TEST_CASE("an index may list no tensor that its shards lack, nor they one that it lacks") {
  const TempFolder folder;
  folder.write("1.safetensors", kA);
  folder.write("2.safetensors", kB);
  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"1.safetensors"}})");
  CHECK(open_safetensors(folder.path())->tensors.size() == 1);
  folder.write("1.safetensors",
               safetensors_file(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                R"("z":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                "xy"));
  CHECK_THAT(open_error(folder).message, Catch::Contains("\"z\" is not in"));
}
