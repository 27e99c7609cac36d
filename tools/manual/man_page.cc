#include "tools/manual/man_page.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace pc::cli {
namespace {

// As it is typed: characters that are commands in man(7), or come out as their typographic
// likenesses, have names.
std::string escaped(const std::string& text) {
  constexpr std::pair<char, const char*> kNames[] = {
      {'\\', "\\e"}, {'-', "\\-"}, {'~', "\\(ti"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}};
  std::string out;
  for (const char c : text) {
    const auto* const known = std::find_if(std::begin(kNames), std::end(kNames),
                                           [c](const auto& name) { return name.first == c; });
    out += known == std::end(kNames) ? std::string(1, c) : known->second;
  }
  return out;
}

// A line of text, which a dot in front would make a request.
std::string line_of(const std::string& text) {
  return (text.rfind('.', 0) == 0 ? "\\&" : "") + escaped(text) + '\n';
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string entry(const OptionHelp& option, bool is_operand) {
  std::string left;
  for (const auto& name : option.names)
    left += (left.empty() ? "" : ", ") + (is_operand ? italic(name) : bold(name));
  if (!is_operand && !option.value.empty()) left += ' ' + italic(option.value);
  return ".TP\n" + left + '\n' + line_of(option.text);
}

std::string section(const char* title, const std::vector<OptionHelp>& options, bool are_operands) {
  std::string out;
  for (const auto& option : options) out += entry(option, are_operands);
  return out.empty() ? out : std::string(".SH ") + title + '\n' + out;
}

// Lines that begin with two spaces are what one types, and stay lines.
std::string paragraphs(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  bool typed = false;
  const auto leave_typed = [&] {
    if (typed) out += ".EE\n.RE\n";
    typed = false;
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  ", 0) == 0) {
      if (!typed) out += ".RS 4\n.EX\n";
      typed = true;
      out += line_of(line.substr(2));
    } else {
      leave_typed();
      out += line.empty() ? ".PP\n" : line_of(line);
    }
  }
  leave_typed();
  return out;
}

// "Example:" in front of it names the section.
std::string footer(const std::string& text) {
  constexpr char kExample[] = "Example:\n";
  if (text.empty()) return text;
  if (text.rfind(kExample, 0) == 0)
    return ".SH EXAMPLE\n" + paragraphs(text.substr(sizeof kExample - 1));
  return ".SH NOTES\n" + paragraphs(text);
}

std::string verbs_of(const VerbHelp& command) {
  std::string out;
  for (const auto& verb : command.verbs)
    out += ".TP\n" + bold(verb.name) + '\n' + line_of(verb.description);
  return out.empty() ? out : ".SH VERBS\n" + out;
}

std::string see_also(const VerbHelp& command, const std::string& parent) {
  std::vector<std::string> pages;
  if (!parent.empty()) pages.push_back(parent);
  for (const auto& verb : command.verbs) pages.push_back(page_name(verb));
  std::string out;
  for (const auto& page : pages) out += (out.empty() ? "" : ",\n") + bold(page) + "(1)";
  return out.empty() ? out : ".SH SEE ALSO\n" + out + '\n';
}

// The description in the line by which apropos(1) finds a page.
std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string page_name(const VerbHelp& verb) {
  std::string name = verb.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page(const VerbHelp& verb, const std::string& parent, const std::string& version) {
  const std::string name = page_name(verb);
  const std::string arguments = verb.usage.substr(verb.name.size());  // "promptcache run [OPTIONS]"
  return ".TH " + name + " 1 \"\" \"promptcache " + version + "\" \"User Commands\"\n.nh\n.ad l\n" +
         ".SH NAME\n" + escaped(name) + " \\- " + escaped(in_one_line(verb.description)) + '\n' +
         ".SH SYNOPSIS\n" + bold(verb.name) + escaped(arguments) + '\n' + verbs_of(verb) +
         section("OPERANDS", verb.operands, true) + section("OPTIONS", verb.options, false) +
         footer(verb.footer) + see_also(verb, parent);
}

}  // namespace pc::cli
