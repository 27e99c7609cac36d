// A line for each request, for those who look for what went wrong: when, from where, what was asked
// for, how it ended; never what a client wrote. Of errors the sentence stands there, in which what
// is quoted is left out unless it looks like a field's name.
//
//     2026-11-26T04:05:06.789Z loopback POST /v1/chat/completions 200 81.3ms model=city-guide
//         prompt=53 cached=1 generated=24
//
// (in one line.) Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace pc::serve {

// What only those know who handle a request, and tell on their way.
class RequestNotes {
 public:
  struct Tokens {
    std::uint64_t prompt = 0, cached = 0, generated = 0;
  };
  void set_model(const std::string& name);  // of this server's
  void set_tokens(const Tokens& tokens);

  std::string model() const;  // "": about none
  std::optional<Tokens> tokens() const;

 private:
  mutable Mutex mutex_;
  std::string model_ PC_GUARDED_BY(mutex_);
  std::optional<Tokens> tokens_ PC_GUARDED_BY(mutex_);
};

// A request that is over.
struct RequestLine {
  std::string from = {};               // "loopback", "private", "public", "local" (a UNIX socket)
  std::string method = {}, path = {};  // "": it was no request
  int status = 0;                      // 0: its client left before
  bool is_whole = true;                // all of the answer was sent
  std::string answer = {};             // the body of an error, as JSON
  std::chrono::duration<double, std::milli> time{0};
  std::shared_ptr<const RequestNotes> notes = {};  // null: none
};

// Without the line's end.
std::string text_of(const RequestLine& line, std::chrono::system_clock::time_point now);

// The sentence without what is quoted in it, in printable ASCII, at most 300 bytes.
std::string without_contents(std::string_view sentence);

class RequestLog {
 public:
  // To an open descriptor, which it borrows.
  explicit RequestLog(int descriptor) : descriptor_(descriptor) {}

  // Never waits: a line for which a pipe or terminal has no room is lost, and the next that has
  // room says how many were.
  void write(const RequestLine& line);

 private:
  const int descriptor_;
  Mutex mutex_;
  std::size_t n_lost_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace pc::serve
