#include "base/status.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "tests/support/count_allocations.h"

using namespace pc;

namespace {

// What catch_all told of a body, in memory that was there before.
struct Told {
  Code code = Code::kOk;
  char message[64] = {};
  std::uint32_t line = 0, column = 0;
};

template <class Body>
Code told(Body body, Told* out) {
  return catch_all(
      body, [out](Code code, std::string_view message, std::uint32_t line, std::uint32_t column) {
        std::snprintf(out->message, sizeof out->message, "%.*s", static_cast<int>(message.size()),
                      message.data());
        out->code = code;
        out->line = line;
        out->column = column;
      });
}

}  // namespace

TEST_CASE("what a body gives passes the border") {
  Told none;
  CHECK(told([]() -> Status { return ok(); }, &none) == Code::kOk);
  CHECK(none.message[0] == '\0');
  Told failed;
  CHECK(told(
            []() -> Status {
              return Error{Code::kPmlSyntax, "a tag", 3, 7};
            },
            &failed) == Code::kPmlSyntax);
  CHECK((failed.code == Code::kPmlSyntax && failed.line == 3 && failed.column == 7));
  CHECK(std::string(failed.message) == "a tag");
}

TEST_CASE("exceptions stop at the border and become codes") {
  Told known, unknown;
  CHECK(told([]() -> Status { throw std::runtime_error("a library's"); }, &known) ==
        Code::kInternal);
  CHECK(std::string(known.message) == "a library's");
  CHECK(told([]() -> Status { throw 1; }, &unknown) == Code::kInternal);
  CHECK(std::string(unknown.message) == "an unknown exception");
}

// A sentence in a std::string would be an allocation, and another std::bad_alloc.
TEST_CASE("that memory has run out is told without allocating") {
  Told out;
  const long before = test::allocations();
  const Code code = told([]() -> Status { throw std::bad_alloc(); }, &out);
  const long after = test::allocations();
  CHECK(after == before);
  CHECK(code == Code::kOutOfMemory);
  CHECK(std::string(out.message) == "not enough memory");
}
