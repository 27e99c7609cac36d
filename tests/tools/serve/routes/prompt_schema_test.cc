#include "tools/serve/routes/prompt_schema.h"

#include <catch2/catch.hpp>

namespace pc::serve {
namespace {

TEST_CASE("the schema of a prompt is read from its first tag") {
  for (const char* const pml :
       {"<prompt schema=\"travel\">x</prompt>", "<prompt schema='travel'/>",
        "\xEF\xBB\xBF <?xml version=\"1.0\"?>\n<!-- a <prompt schema=\"b\"> -->\n"
        "<prompt\n repair = 'none'\n schema = \"travel\" ><a/></prompt>",
        "<prompt xml:space=\"a schema='no' > b\" schema=\"travel\">"})
    CHECK(schema_of_prompt(pml) == "travel");
}

TEST_CASE("what is no prompt names no schema") {
  for (const char* const pml :
       {"", "hello", "<prompt>", "<prompt schema>", "<prompt schema=travel>",
        "<prompts schema='a'>", "<promptschema='a'>", "<schema name='a'/>", "<!-- ", "<?xml ",
        "<prompt", "<prompt a='", "<prompt x='1'><m schema='a'/></prompt>",
        "<!DOCTYPE x><prompt schema='a'/>"})
    CHECK(schema_of_prompt(pml).empty());
}

}  // namespace
}  // namespace pc::serve
