// Fuzzes grammars in GBNF, and a few steps in what is made of them: whatever comes is enforced or
// refused in words, and while it is enforced some token may always come.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <promptcache/promptcache.hpp>
#include <string>

#include "tests/tools/constrain/random_walk.h"
#include "tests/tools/constrain/small_vocabulary.h"
#include "tools/constrain/constraint.h"

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
  try {
    test::RandomWalk random(vocabulary, size);
    require(random.run(constrainer.start(gbnf_grammar(text, "grammar")), 30).defect.empty());
  } catch (const SchemaError& error) {
    require(std::string(error.what()).starts_with("grammar"));
  }
  return 0;
}
