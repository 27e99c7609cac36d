#include "pml/syntax/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expect.h"

using namespace pc;
using namespace pc::pml;
using pc::test::expect_error;
using pc::test::must;
namespace fs = std::filesystem;

namespace {

// schema/ is the schema's folder; secret.txt lies beside it.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "pml-source-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    root = name;
    fs::create_directories(schema() / "docs");
    write(root / "secret.txt", "secret");
    write(schema() / "docs" / "miami.txt", "Surf.");
  }
  ~Folder() { fs::remove_all(root); }
  fs::path schema() const { return root / "schema"; }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  Result<std::string> read(const std::string& path) const {
    return file_reader(schema().string())(path);
  }

  fs::path root;
};

}  // namespace

TEST_CASE("files beside the schema are read, also through links that stay") {
  const Folder folder;
  CHECK(must(folder.read("docs/miami.txt")) == "Surf.");
  CHECK(must(folder.read("./docs/miami.txt")) == "Surf.");
  fs::create_symlink("docs/miami.txt", folder.schema() / "link.txt");
  CHECK(must(folder.read("link.txt")) == "Surf.");
  fs::create_directory_symlink(folder.schema(), folder.root / "alias");
  CHECK(must(file_reader((folder.root / "alias").string())("docs/miami.txt")) == "Surf.");
  Folder::write(folder.schema() / "empty.txt", "");
  CHECK(must(folder.read("empty.txt")).empty());
}

TEST_CASE("nothing outside of the schema's folder is read") {
  const Folder folder;
  const auto refused = [&](const std::string& path, const std::string& part) {
    INFO(path);
    expect_error(folder.read(path), Code::kPmlSemantic, 0, 0, part);
  };
  refused((folder.root / "secret.txt").string(), "is absolute");
  refused("../secret.txt", "contains '..'");
  refused("docs/../docs/miami.txt", "contains '..'");
  refused("", "names no file");
  fs::create_symlink(folder.root / "secret.txt", folder.schema() / "out.txt");
  refused("out.txt", "a link that leaves");
  fs::create_directory_symlink(folder.root, folder.schema() / "up");
  refused("up/secret.txt", "a link that leaves");
  // A folder whose name begins like the schema's is another folder.
  fs::create_directories(folder.root / "schema-2");
  Folder::write(folder.root / "schema-2" / "x.txt", "x");
  fs::create_symlink(folder.root / "schema-2" / "x.txt", folder.schema() / "sibling.txt");
  refused("sibling.txt", "a link that leaves");
}

// A folder that turns into a link to the outside, and back, while files are read through it.
TEST_CASE("nothing outside is read, however fast a folder changes into a link") {
  const Folder folder;
  fs::create_directory(folder.root / "outside");
  Folder::write(folder.root / "outside" / "miami.txt", "secret");
  fs::create_directory_symlink(folder.root / "outside", folder.schema() / "link");
  const std::string docs = (folder.schema() / "docs").string(),
                    link = (folder.schema() / "link").string();
  std::atomic<bool> over{false};
  std::thread changer([&] {
    while (!over) {
      if (::renameat2(AT_FDCWD, docs.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE) != 0) return;
    }
  });
  std::atomic<int> n_read{0}, n_leaked{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r)
    readers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const auto text = folder.read("docs/miami.txt");
        n_read += text.ok();
        n_leaked += text.ok() && *text != "Surf.";
      }
    });
  for (std::thread& reader : readers) reader.join();
  over = true;
  changer.join();
  CHECK(n_read > 0);
  CHECK(n_leaked == 0);
}

TEST_CASE("what cannot be text is an error that names the file") {
  const Folder folder;
  expect_error(folder.read("nope.txt"), Code::kNotFound, 0, 0, "'nope.txt'");
  expect_error(folder.read("docs/miami.txt/x"), Code::kNotFound, 0, 0, "'docs/miami.txt/x'");
  expect_error(folder.read("docs"), Code::kIo, 0, 0, "'docs' is not a regular file");
  REQUIRE(mkfifo((folder.schema() / "fifo").c_str(), 0600) == 0);
  expect_error(folder.read("fifo"), Code::kIo, 0, 0, "not a regular file");
  fs::create_symlink("loop", folder.schema() / "loop");
  expect_error(folder.read("loop"), Code::kIo, 0, 0, "'loop'");
  expect_error(file_reader((folder.root / "gone").string())("a"), Code::kNotFound, 0, 0, "gone");
}

TEST_CASE("a file has a limit") {
  const Folder folder;
  Folder::write(folder.schema() / "full.txt", std::string(kMaxSourceFileBytes, 'x'));
  CHECK(must(folder.read("full.txt")).size() == kMaxSourceFileBytes);
  Folder::write(folder.schema() / "over.txt", std::string(kMaxSourceFileBytes + 1, 'x'));
  expect_error(folder.read("over.txt"), Code::kPmlSemantic, 0, 0, "more than 4194304 bytes");
}

TEST_CASE("files whose size is not known beforehand are read whole") {
  // The kernel's files say that they have no bytes.
  const auto read = file_reader("/proc/self");
  CHECK(must(read("status")).size() > 100);
}
