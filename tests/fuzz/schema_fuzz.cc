// Any bytes as a schema: an error with its place, or a layout and jobs that
// keep their invariants.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pml/layout/encode_plan.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/fake_tokenizer.h"

using namespace pc;
using namespace pc::pml;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

Result<std::string> read_file(const std::string& path) {
  if (path.size() % 2 == 0) return error(Code::kNotFound, "no file");
  return std::string(" text of ") + path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TextEncoder encoder = pc::test::byte_encoder();
  const auto schema = parse_schema({reinterpret_cast<const char*>(data), size}, read_file);
  if (!schema.ok()) {
    require(!schema.error().message.empty() &&
            (schema.error().line > 0) == (schema.error().column > 0));
    return 0;
  }
  const auto layout = lay_out(*schema, encoder);
  if (!layout.ok()) {
    require(layout.error().line > 0);
    return 0;
  }
  require(check_layout(*layout).ok());
  require(check_jobs(*layout, make_jobs(*layout, plan_encoding(*layout))).ok());
  return 0;
}
