// Fuzzes what makes automata of JSON Schema, as JSON and as parameters, and of patterns, and a few
// steps in them: whatever comes is enforced or refused in words, and while it is enforced some
// token may always come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/utf8.h"
#include "runtime/constrain/grammar/constraint.h"
#include "tests/runtime/constrain/random_walk.h"
#include "tests/runtime/constrain/small_vocabulary.h"

namespace {

using namespace pc::constrain;
using pc::Json;

void require(bool promise) {
  if (!promise) std::abort();
}

void walk(const Grammar& grammar, std::uint64_t seed) {
  static const Vocabulary vocabulary(test::small_tokens());
  Constrainer constrainer{Vocabulary(test::small_tokens())};
  const pc::Result<Constraint> start = constrainer.start(grammar);
  if (!start.ok()) return require(start.error().message.starts_with("schema"));
  test::RandomWalk random(vocabulary, seed);
  require(random.run(*start, 30).defect.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (pc::is_utf8(text)) walk(matching_text(text, "schema"), size);
  std::string why;
  const auto schema = Json::read_strictly(text, 64, &why);
  if (!schema) return 0;
  walk(json_schema(*schema, "schema"), size);
  // Behind a word, as no grammar is the empty text.
  walk(sequence({literal("call "), written_members(*schema, "schema", {"<", ">\n", "\n</>"})}),
       size);
  return 0;
}
