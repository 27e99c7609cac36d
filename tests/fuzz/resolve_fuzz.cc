// Any schema with any prompt: the input is a schema up to the first
// "<prompt", and a prompt from there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

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

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TextEncoder encoder = pc::test::byte_encoder();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(input.find("<prompt"), size);
  const auto schema = parse_schema(input.substr(0, split));
  const auto prompt = parse_prompt(input.substr(split));
  if (!schema.ok() || !prompt.ok()) return 0;
  const auto layout = lay_out(*schema, encoder);
  if (!layout.ok()) return 0;
  const auto jobs = make_jobs(*layout, plan_encoding(*layout));
  require(check_jobs(*layout, jobs).ok());
  const auto plan = resolve(*prompt, *layout, encoder);
  if (!plan.ok()) {
    require(plan.error().line > 0);
    return 0;
  }
  require(check_plan(*layout, *plan).ok());
  for (const EncodeJob& job : make_jobs(*layout, plan->jobs)) require(check_job(*layout, job).ok());
  return 0;
}
