// Errors as values: Code, Error and Result<T>; and what is no error: PC_EXPECT.
//
// Every call that the outside world can make fail returns a Result. An Error
// names the thing, the place and the way out in one sentence; for PML it also
// carries line and column (1-based; 0 = none). Nothing in the library throws,
// aborts, exits or prints across a header.
//
// Threads: plain values, thread-compatible.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// A precondition that a header states, where it is relied on. A broken one is a defect of
// this library or of the program that links it, never of data: the process ends there (by a
// trap) rather than go on with memory that is not its own. In every build, for what costs
// nothing beside what it guards.
#define PC_EXPECT(condition) ((condition) ? static_cast<void>(0) : __builtin_trap())
// The same in builds with assertions (Debug, the sanitizers): for what takes time.
#ifdef NDEBUG
#define PC_EXPECT_CHECKED(condition) static_cast<void>(0)
#else
#define PC_EXPECT_CHECKED(condition) PC_EXPECT(condition)
#endif

namespace pc {

// Stable: the numbers are those of pc_status in include/promptcache/promptcache.h
// (checked there by static_assert), and are only ever appended to.
enum class Code : std::int32_t {
  kOk = 0,
  kInvalidArgument = 1,  // the caller's value cannot be meant (null, out of range)
  kNotFound = 2,         // a named file, module or object does not exist
  kIo = 3,               // the operating system refused: open, read, write, map
  kCorrupt = 4,          // bytes that contradict themselves: truncated, bad checksum
  kUnsupported = 5,      // understood, but not something this build can run
  kMismatch = 6,         // two sound things that do not belong together
  kPmlSyntax = 7,        // not well-formed XML, or over a limit of the reader
  kPmlSemantic = 8,      // well-formed PML that breaks a rule of the language
  kContextFull = 9,      // the prompt and its answer do not fit the context window
  kOutOfMemory = 10,
  kBudget = 11,  // an object is larger than the store may hold
  kCancelled = 12,
  kInternal = 13,   // a defect in promptcache itself
  kNotFinite = 14,  // the model computed NaN or infinity
};

// The code's name as users see it in reports: "pml-syntax".
std::string_view code_name(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;       // one sentence, no trailing newline
  std::uint32_t line = 0;    // of the PML document, 1-based; 0 = not about a place
  std::uint32_t column = 0;  // in bytes, 1-based
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // Precondition: ok().
  T& value() & { return held(); }
  const T& value() const& { return held(); }
  T value() && { return std::move(held()); }  // by value: a loop over it must not dangle
  T& operator*() & { return held(); }
  const T& operator*() const& { return held(); }
  T* operator->() { return &held(); }
  const T* operator->() const { return &held(); }

  // Precondition: !ok().
  const Error& error() const& {
    PC_EXPECT(!ok());
    return error_;
  }
  Error&& error() && {
    PC_EXPECT(!ok());
    return std::move(error_);
  }

 private:
  T& held() {
    PC_EXPECT(ok());
    return *value_;
  }
  const T& held() const {
    PC_EXPECT(ok());
    return *value_;
  }

  std::optional<T> value_;
  Error error_;
};

struct Unit {};

// A call that yields nothing but may fail. `return ok();` on success.
using Status = Result<Unit>;
inline Status ok() {
  return Unit{};
}

inline Error error(Code code, std::string message) {
  return {code, std::move(message), 0, 0};
}

// The one place where exceptions stop, for functions that C calls: runs body(), which gives
// a Status. An error, or the exception that ended body(), is told by
// report(code, message, line, column), which must not throw: memory may have run out.
template <class Body, class Report>
Code catch_all(Body body, Report report) noexcept {
  const auto failed = [&](Code code, std::string_view message) {
    report(code, message, 0u, 0u);
    return code;
  };
  try {
    const Status status = body();
    if (status.ok()) return Code::kOk;
    const Error& e = status.error();
    report(e.code, e.message, e.line, e.column);
    return e.code;
  } catch (const std::bad_alloc&) {
    return failed(Code::kOutOfMemory, "not enough memory");
  } catch (const std::exception& e) {
    return failed(Code::kInternal, e.what());
  } catch (...) {
    return failed(Code::kInternal, "an unknown exception");
  }
}

}  // namespace pc

// PC_TRY(auto x, f());  declares x from a Result, or returns its error.
// PC_CHECK_OK(f());     the same for a Status.
#define PC_CONCAT_(a, b) a##b
#define PC_CONCAT(a, b) PC_CONCAT_(a, b)
#define PC_TRY(declaration, expression) \
  PC_TRY_(PC_CONCAT(pc_result_, __LINE__), declaration, expression)
#define PC_TRY_(result, declaration, expression)      \
  auto result = (expression);                         \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()
#define PC_CHECK_OK(expression)                                                                 \
  do {                                                                                          \
    if (auto pc_status_ = (expression); !pc_status_.ok()) return std::move(pc_status_).error(); \
  } while (0)
