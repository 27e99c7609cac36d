// What an engine keeps of modules, and what goes with them.

#include "runtime/engine/held_modules.h"

#include <catch2/catch.hpp>

#include "tests/modules/support.h"

namespace pc::test {
namespace {

TEST_CASE("what is kept with a module goes with it") {
  const ModuleHandle a = make_module(identity(1)), b = make_module(identity(2));
  const std::uint64_t each = a->bytes().size();
  HeldModules held(2 * each);
  const auto kept = [](std::shared_ptr<int>& value) { return value.use_count() == 2; };
  auto one = std::make_shared<int>(1), two = std::make_shared<int>(2), three = two;
  three = std::make_shared<int>(3);
  held.hold(a, one);
  held.hold(b, two);
  CHECK(held.bytes() == 2 * each);
  held.hold(a);  // used again: what it has stays
  CHECK(kept(one));
  held.hold(a, three);  // in its place
  CHECK_FALSE(kept(one));
  CHECK(kept(three));
  held.hold(make_module(identity(3)));  // the oldest goes
  CHECK_FALSE(kept(two));
  held.drop(a);
  CHECK_FALSE(kept(three));
  held.hold(b, two);
  CHECK(held.release() == each);  // a module of nobody's; b is ours
  CHECK_FALSE(kept(two));
  CHECK(held.bytes() == 0);
}

TEST_CASE("a module that only its companion has counts as released") {
  HeldModules held(std::uint64_t{1} << 30);
  std::uint64_t bytes = 0;
  {
    const ModuleHandle module = make_module(identity(1));
    bytes = module->bytes().size();
    held.hold(module, std::make_shared<const ModuleHandle>(module));
  }
  CHECK(held.release() == bytes);
}

}  // namespace
}  // namespace pc::test
