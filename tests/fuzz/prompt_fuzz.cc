// Any bytes as a prompt, for a schema that has everything: an error with its
// place, or a plan that keeps its invariants.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "pml/layout/encode_plan.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/fake_tokenizer.h"

using namespace pc;
using namespace pc::pml;

namespace {

struct Subject {
  explicit Subject(std::string_view attributes) {
    layout = lay_out(parse_schema("<schema name='s' " + std::string(attributes) + R"(>
      <system>You help.</system> Some text.
      <module name="plan">Plan <param name="days" len="8"/> for <param name="who" len="4" scaffold="one"/>.</module>
      <union scaffold="b"><module name="a">A</module><module name="b" cache="false">BB</module></union>
      <user><module name="doc">D <module name="part">P</module> E</module></user>
      <module name="turn"><assistant>ok</assistant></module>
      <scaffold name="f" modules="plan doc doc/part"/></schema>)")
                         .value(),
                     encoder)
                 .value();
    jobs = make_jobs(layout, plan_encoding(layout));
  }
  TextEncoder encoder = pc::test::byte_encoder();
  Layout layout;
  std::vector<EncodeJob> jobs;
};

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Subject subjects[] = {Subject(""), Subject("positions='schema' attend='schema'")};
  const auto prompt = parse_prompt({reinterpret_cast<const char*>(data), size});
  if (!prompt.ok()) {
    require(!prompt.error().message.empty() &&
            (prompt.error().line > 0) == (prompt.error().column > 0));
    return 0;
  }
  for (const Subject& s : subjects) {
    const auto plan = resolve(*prompt, s.layout, s.encoder);
    if (plan.ok())
      require(check_plan(s.layout, *plan).ok());
    else
      require(plan.error().line > 0 && !plan.error().message.empty());
  }
  return 0;
}
