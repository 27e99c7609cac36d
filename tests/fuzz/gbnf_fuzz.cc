// Fuzzes grammars in GBNF, and a few steps in what is made of them: whatever comes is enforced or
// refused in words, and while it is enforced some token may always come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/constrain/grammar/constraint.h"
#include "tests/runtime/constrain/random_walk.h"
#include "tests/runtime/constrain/small_vocabulary.h"

namespace {

using namespace pc::constrain;

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static const Vocabulary vocabulary(test::small_tokens());
  Constrainer constrainer{Vocabulary(test::small_tokens())};
  const pc::Result<Constraint> start = constrainer.start(gbnf_grammar(text, "grammar"));
  if (start.ok()) {
    test::RandomWalk random(vocabulary, size);
    require(random.run(*start, 30).defect.empty());
  } else {
    require(start.error().message.starts_with("grammar"));
  }
  return 0;
}
