// manual FOLDER: writes the manual's pages and the completions of shells there, for the
// build to install, and docs/OPTIONS.md. Each is made of what --help says.
#include <promptcache/promptcache.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tools/command/command_line.h"
#include "tools/manual/completion.h"
#include "tools/manual/man_page.h"
#include "tools/manual/option_tables.h"

namespace {

using namespace pc::cli;
namespace fs = std::filesystem;

bool write(const fs::path& path, const std::string& text) {
  std::error_code exists_or_fails;  // then the file cannot be written
  fs::create_directories(path.parent_path(), exists_or_fails);
  std::ofstream file(path, std::ios::binary);
  return static_cast<bool>(file << text << std::flush);
}

bool write_pages(const fs::path& folder, const VerbHelp& verb, const std::string& parent) {
  const std::string name = page_name(verb);
  bool written = write(folder / (name + ".1"), man_page(verb, parent, pc_version()));
  for (const auto& below : verb.verbs) written &= write_pages(folder, below, name);
  return written;
}

bool write_all(const fs::path& folder) {
  const VerbHelp command = describe_command_line();
  return write_pages(folder / "man1", command, "") &
         write(folder / "OPTIONS.md", option_tables(command)) &
         write(folder / "bash" / "promptcache", bash_completion(command)) &
         write(folder / "zsh" / "_promptcache", zsh_completion(command)) &
         write(folder / "fish" / "promptcache.fish", fish_completion(command));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && write_all(argv[1])) return 0;
  std::fputs(argc == 2 ? "manual: a file could not be written\n" : "usage: manual FOLDER\n",
             stderr);
  return 1;
}
