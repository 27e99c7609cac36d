// The time that a chat template may ask for with strftime_now().
//
// A function that says what a wall clock shows. That of the machine says the day alone, at
// midnight: templates put days and months into the system text, and a text that held for a second
// would never be found again. Whoever renders a conversation more than once takes standing(), so
// that all renderings are of one day. A value. Threads: any, as far as the function is for any.
#pragma once

#include <ctime>
#include <functional>
#include <string>

namespace pc {

class ChatClock {
 public:
  using Now = std::function<std::tm()>;

  // The machine's day in its time zone, at 00:00:00.
  ChatClock();
  explicit ChatClock(Now now);
  // One that stands still: seconds since 1970 as a clock in UTC shows them.
  static ChatClock at(std::time_t seconds);

  std::tm now() const { return now_(); }
  // One that stands still at what this one shows now.
  ChatClock standing() const;
  // By C's strftime(3) in the C locale; %f are microseconds, as in Python: none.
  std::string format(const std::string& form) const;

 private:
  Now now_;
};

// Do they show the same, to the second?
bool same_time(const std::tm& a, const std::tm& b);

}  // namespace pc
