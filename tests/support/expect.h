// Short ways to expect something of a Result in tests.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "base/status.h"

namespace pc::test {

// The value, or a failed test that shows the error.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    const Error& e = result.error();
    FAIL(std::to_string(e.line) + ":" + std::to_string(e.column) + ": " + e.message);
  }
  return std::move(result).value();
}

// Line, column and a part of the sentence; the whole of it is shown if wrong.
template <class T>
void expect_error(const Result<T>& result, Code code, std::uint32_t line, std::uint32_t column,
                  const std::string& part) {
  REQUIRE_FALSE(result.ok());
  const Error& e = result.error();
  INFO("the error is " << e.line << ":" << e.column << ": " << e.message);
  CHECK(code_name(e.code) == code_name(code));
  CHECK(e.line == line);
  CHECK(e.column == column);
  CHECK_THAT(e.message, Catch::Matchers::Contains(part));
}

}  // namespace pc::test
