#include "tools/manual/man_page.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

VerbHelp of_text(const std::string& text) {
  VerbHelp verb;
  verb.name = "promptcache cache ls";
  verb.description = "list\nfiles";
  verb.usage = "promptcache cache ls [OPTIONS]";
  verb.options = {{{"-a", "--all-of"}, "N", {}, text, false, false}};
  return verb;
}

bool has(const std::string& page, const std::string& line) {
  return page.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a page has its verb's name, one line about it, and its options") {
  const std::string page = man_page(of_text("what it does"), "promptcache-cache", "1.2.3");
  CHECK(page_name(of_text("")) == "promptcache-cache-ls");
  CHECK(page.rfind(".TH promptcache-cache-ls 1 \"\" \"promptcache 1.2.3\" \"User Commands\"\n",
                   0) == 0);
  CHECK(has(page, R"(promptcache\-cache\-ls \- list files)"));
  CHECK(has(page, R"(\fBpromptcache cache ls\fR [OPTIONS])"));
  CHECK(has(page, ".TP\n\\fB\\-a\\fR, \\fB\\-\\-all\\-of\\fR \\fIN\\fR\nwhat it does"));
  CHECK(has(page, R"(\fBpromptcache\-cache\fR(1))"));
}

TEST_CASE("no text is taken for a request or a command") {
  CHECK(has(man_page(of_text(".PP is text"), "", ""), R"(\&.PP is text)"));
  CHECK(has(man_page(of_text("'tis text"), "", ""), R"(\(aqtis text)"));
  CHECK(has(man_page(of_text(R"(a\fB ~ ^ `)"), "", ""), R"(a\efB \(ti \(ha \(ga)"));
}

TEST_CASE("what one types stays as it is; an example has a section") {
  VerbHelp verb = of_text("");
  verb.footer = "Example:\n  one\n  .two\n\nThen this.";
  CHECK(has(man_page(verb, "", ""),
            ".SH EXAMPLE\n.RS 4\n.EX\none\n\\&.two\n.EE\n.RE\n.PP\nThen this."));
  verb.footer = "Not one.";
  CHECK(has(man_page(verb, "", ""), ".SH NOTES\nNot one."));
}
