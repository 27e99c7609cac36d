// `loop` inside a {% for %}: where it is, and what comes next.
//
// Reads its iterable one element at a time, ahead only when asked for .last,
// .nextitem or .length, as Jinja does: a test on the elements can depend on what
// the body did. Belongs to the rendering's arena.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/jinja/interpreter/interpreter.h"

namespace pc::jinja {

class Loop final : public Callable {
 public:
  Loop(Interpreter* interpreter, const Stmt* stmt, Frame* frame, Frame* outer, Cursor cursor,
       std::int64_t depth0)
      : interpreter_(interpreter),
        stmt_(stmt),
        frame_(frame),
        outer_(outer),
        cursor_(std::move(cursor)),
        depth0_(depth0) {}

  // The next element that passes the loop's test; nothing at the end.
  Result<std::optional<Value>> advance();

  // The loop is over: what remains of it is for a macro that kept it.
  void close() { frame_ = nullptr; }

  Result<Value> call(Runtime& runtime, const Arguments& arguments) override;
  Result<std::string> repr() override;
  Result<std::optional<Value>> attribute(Runtime& runtime, std::string_view name) override;

 private:
  Result<std::optional<Value>> read();
  Result<std::optional<Value>> peek();
  Result<std::int64_t> length();

  Interpreter* interpreter_;
  const Stmt* stmt_;
  Frame* frame_;  // of the loop's test
  Frame* outer_;  // around a recursive loop's function
  Cursor cursor_;
  std::int64_t depth0_;
  std::int64_t index0_ = -1;
  std::optional<std::int64_t> length_;
  std::optional<Value> before_, current_, after_;
  std::vector<Value> read_ahead_;  // by length()
  std::size_t next_ahead_ = 0;
};

}  // namespace pc::jinja
