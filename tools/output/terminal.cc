#include "tools/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace pc::cli {
namespace {

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// A C0 control, DEL, or the two bytes U+0080..U+009F, the C1 controls, at i: their length.
std::size_t control_bytes(std::string_view text, std::size_t i) {
  const auto c = static_cast<unsigned char>(text[i]);
  if (c < 0x20 || c == 0x7f) return 1;
  if (c != 0xc2 || i + 1 == text.size()) return 0;
  return static_cast<unsigned char>(text[i + 1]) < 0xa0 ? 2 : 0;
}

void append_escaped(char c, std::string* out) {
  if (c == '\n' || c == '\t') {
    *out += c == '\n' ? "\\n" : "\\t";
    return;
  }
  std::array<char, 8> hex;
  std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned char>(c));
  *out += hex.data();
}

std::string escape(std::string_view text, std::string_view kept) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t control =
        kept.find(text[i]) == std::string_view::npos ? control_bytes(text, i) : 0;
    if (control == 0) out += text[i++];
    for (std::size_t n = 0; n < control; ++n) append_escaped(text[i++], &out);
  }
  return out;
}

}  // namespace

std::size_t terminal_columns(std::FILE* file) {
  winsize size{};
  return is_terminal(file) && ::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool is_terminal(std::FILE* file) {
  return isatty(fileno(file)) == 1;
}

std::string paint(std::string_view text, Colour colour, std::FILE* file) {
  const char* const no_colour = std::getenv("NO_COLOR");
  if (!is_terminal(file) || (no_colour && *no_colour)) return std::string(text);
  constexpr std::array kCodes = {"\033[31m", "\033[32m", "\033[33m"};
  return kCodes[static_cast<std::size_t>(colour)] + std::string(text) + "\033[0m";
}

std::string printable(std::string_view text) {
  return escape(text, "");
}

std::string printable_lines(std::string_view text) {
  return escape(text, "\n\t");
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += !continues_character(c);
  return width;
}

std::string elide(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  const std::size_t wanted = columns > 3 ? columns - 3 : 0;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if (!continues_character(text[end]) && seen++ == wanted) break;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace pc::cli
