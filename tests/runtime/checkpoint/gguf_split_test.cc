// Models in several files: open_gguf.
#include <catch2/catch.hpp>

#include "runtime/checkpoint/gguf.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/temp_folder.h"

using namespace pc;
using namespace pc::test;

namespace {

std::string split_name(int number, int n) {
  const auto five = [](int i) {
    return std::string(5 - std::to_string(i).size(), '0') + std::to_string(i);
  };
  return "m-" + five(number) + "-of-" + five(n) + ".gguf";
}

GgufBytes part(int number, int n, int n_tensors) {
  GgufBytes bytes;
  if (number == 1) bytes.string("general.architecture", "llama");
  bytes.value("split.no", static_cast<std::uint16_t>(number - 1));
  bytes.value("split.count", static_cast<std::uint16_t>(n));
  bytes.value("split.tensors.count", std::int32_t{n_tensors});
  return bytes;
}

std::string with_tensor(GgufBytes bytes, const std::string& name) {
  return bytes.tensor(name, 0, {1}, "1234").file();
}

// Three parts of one tensor each.
struct Model {
  TempFolder folder;
  Model() {
    for (int i = 1; i <= 3; ++i) {
      folder.write(split_name(i, 3), with_tensor(part(i, 3, 3), "t" + std::to_string(i)));
    }
  }
  std::string path(int i) const { return folder.path() + "/" + split_name(i, 3); }
};

void refused(const std::string& path, Code code, const std::string& text) {
  const auto model = open_gguf(path);
  REQUIRE_FALSE(model.ok());
  INFO(model.error().message);
  CHECK(model.error().code == code);
  CHECK_THAT(model.error().message, Catch::Contains(text));
}

}  // namespace

TEST_CASE("any of a model's files opens all of them") {
  const Model files;
  for (int i = 1; i <= 3; ++i) {
    const auto model = open_gguf(files.path(i));
    REQUIRE(model.ok());
    CHECK(model->checkpoint.files.size() == 3);
    CHECK(model->checkpoint.tensors.size() == 3);
    CHECK(model->checkpoint.tensors.at("t2").file == files.path(2));
    CHECK(*model->metadata.string("general.architecture") == "llama");
    CHECK(model->metadata.file() == files.path(1));
  }
}

TEST_CASE("a missing file is named") {
  const Model files;
  std::filesystem::remove(files.path(2));
  refused(files.path(1), Code::kNotFound, split_name(2, 3) + ": missing");
  refused(files.path(3), Code::kNotFound, split_name(2, 3) + ": missing");
  refused(files.path(2), Code::kNotFound, split_name(2, 3));
}

TEST_CASE("a file under a name of its own cannot have its others found") {
  const Model files;
  std::filesystem::rename(files.path(1), files.folder.path() + "/model.gguf");
  refused(files.folder.path() + "/model.gguf", Code::kNotFound, "part 1 of 3");
}

TEST_CASE("files that do not agree are refused") {
  const Model files;
  const auto second = [&](const std::string& bytes) {
    files.folder.write(split_name(2, 3), bytes);
  };
  second(with_tensor(part(3, 3, 3), "t2"));
  refused(files.path(1), Code::kMismatch, "is part 3 of 3");
  second(with_tensor(part(2, 4, 3), "t2"));
  refused(files.path(1), Code::kMismatch, "is part 2 of 4");
  second(with_tensor(part(2, 3, 5), "t2"));
  refused(files.path(1), Code::kMismatch, "5 tensors in all");
  second(with_tensor(GgufBytes(), "t2"));
  refused(files.path(1), Code::kMismatch, "is part 1 of 1");
  second(with_tensor(part(2, 3, 3), "t1"));
  refused(files.path(1), Code::kCorrupt, "tensor \"t1\" is also in " + files.path(1));
  second(part(2, 3, 3).file());
  refused(files.path(1), Code::kMismatch, "hold 2 tensors");
  second("GGUF");
  refused(files.path(1), Code::kCorrupt, split_name(2, 3));
}

TEST_CASE("split keys out of range are refused") {
  const TempFolder folder;
  const std::string path = folder.path() + "/" + split_name(4, 3);
  folder.write(split_name(4, 3), part(4, 3, 3).file());
  refused(path, Code::kCorrupt, "split.no is 3 of 3");
  folder.write(split_name(4, 3), part(4, 65535, 3).file());
  refused(path, Code::kUnsupported, "the limit is 1024");
  folder.write(split_name(4, 3), GgufBytes().string("split.count", "3").file());
  refused(path, Code::kCorrupt, "split.count");
  folder.write(split_name(4, 3), GgufBytes().value("split.count", std::uint16_t{3}).file());
  refused(path, Code::kCorrupt, "split.no");
}

TEST_CASE("one file is a model; so is one that was merged from several") {
  const TempFolder folder;
  folder.write("m.gguf", with_tensor(GgufBytes(), "t"));
  CHECK(open_gguf(folder.path() + "/m.gguf").ok());
  folder.write("m.gguf", with_tensor(part(1, 0, 9), "t"));
  const auto model = open_gguf(folder.path() + "/m.gguf");
  REQUIRE(model.ok());
  CHECK(model->checkpoint.tensors.size() == 1);
  CHECK(open_gguf(folder.path() + "/x.gguf").error().code == Code::kNotFound);
  CHECK(open_gguf(folder.path()).error().code == Code::kIo);
}

TEST_CASE("what is GGUF is told by its first bytes") {
  const TempFolder folder;
  folder.write("a", GgufBytes().file());
  folder.write("b.gguf", "GGU");
  CHECK(is_gguf(folder.path() + "/a"));
  CHECK_FALSE(is_gguf(folder.path() + "/b.gguf"));
  CHECK_FALSE(is_gguf(folder.path() + "/c"));
  CHECK_FALSE(is_gguf(folder.path()));
}
