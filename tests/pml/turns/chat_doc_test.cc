// docs/CHAT_TEMPLATES.md lists every format with its strings.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "pml/turns/chat_template.h"

using namespace pc::pml;

namespace {

// A turn as the page shows it: ␣ for a space, ⏎ for a line end.
std::string cell(const std::string& prefix, const std::string& suffix, bool turn = true) {
  std::string out;
  for (const char c : prefix + (turn ? "\1" : "") + suffix) {
    if (c == '\1')
      out += "…";
    else if (c == ' ')
      out += "␣";
    else if (c == '\n')
      out += "⏎";
    else if (c == '|')
      out += "\\|";
    else
      out += c;
  }
  return out.empty() ? " " : " `" + out + "` ";
}

std::string row(const ChatTemplate& chat) {
  std::string user = cell(chat.user.prefix, chat.user.suffix);
  if (chat.user_prefix_after_system)
    user += "after a system turn" + cell(*chat.user_prefix_after_system, chat.user.suffix);
  if (chat.user_prefix_after_assistant)
    user += "after an assistant's" + cell(*chat.user_prefix_after_assistant, chat.user.suffix);
  return "| `" + chat.name + "` |" + cell(chat.system.prefix, chat.system.suffix) + "|" + user +
         "|" + cell(chat.assistant.prefix, chat.assistant.suffix) + "|" +
         cell(chat.generation_prefix, "", false) + "|" + (chat.bos ? " yes " : " ") + "|";
}

}  // namespace

TEST_CASE("docs/CHAT_TEMPLATES.md has a row for every format") {
  const char* source = std::getenv("PC_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/docs/CHAT_TEMPLATES.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const ChatTemplate& chat : chat_templates()) {
    INFO("this row is missing:\n" << row(chat));
    CHECK(page.find("\n" + row(chat) + "\n") != page.npos);
  }
}
