// Fuzzes src=: which file of a schema's folder a path names.
//
// A fixed small tree has files, folders, a FIFO and links that stay inside, lead out, or go round;
// the input is a path, or a document that names one. What is read is the text of a file inside the
// folder, every file of which says so; else there is an error. Nothing hangs.
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "pml/syntax/schema_parser.h"
#include "pml/syntax/source_file.h"
#include "tests/support/fuzz_bytes.h"
#include "tests/support/fuzz_folder.h"

namespace {

using pc::test::FuzzFolder;
using pc::test::require;

constexpr std::string_view kInside = "inside";
constexpr std::string_view kOutside = "secret";

const std::string& base() {
  static const FuzzFolder folder;
  static const std::string path = [] {
    const std::string root = folder.path() + "/schema", below = root + "/a";
    std::filesystem::create_directories(below + "/b");
    std::filesystem::create_directories(folder.path() + "/schemas");
    for (const std::string& name :
         {root + "/f", root + "/..f", root + "/ ", below + "/f", below + "/b/f"})
      FuzzFolder::write(name, kInside);
    for (const std::string& name : {folder.path() + "/f", folder.path() + "/schemas/f"})
      FuzzFolder::write(name, kOutside);
    const auto link = [&](const std::string& target, const std::string& name) {
      require(::symlink(target.c_str(), name.c_str()) == 0);
    };
    link("a/f", root + "/l");
    link("..", below + "/up");        // to the schema's folder
    link("../..", below + "/b/out");  // to the schema's folder, too
    link("../../f", below + "/of");   // a file outside
    link("../schemas", root + "/o");  // a folder outside
    link("/", root + "/r");
    link(folder.path() + "/f", root + "/of");
    link("loop", root + "/loop");
    link("/proc/self/root", root + "/p");
    require(::mkfifo((root + "/q").c_str(), 0600) == 0);
    return root;
  }();
  return path;
}

void check(const pc::Result<std::string>& read) {
  if (read.ok())
    require(*read == kInside);
  else
    require(!read.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path(reinterpret_cast<const char*>(data), size);
  static const auto read = pc::pml::file_reader(base());
  check(read(path));
  check(read("a/" + path));
  const auto watching = [&](const std::string& relative) {
    auto text = read(relative);
    check(text);
    return text;
  };
  const std::string document =
      "<schema name=\"s\"><module name=\"m\" src=\"" + path + "\"/></schema>";
  const auto schema = pc::pml::parse_schema(document, watching);
  if (!schema.ok()) require(!schema.error().message.empty());
  return 0;
}
