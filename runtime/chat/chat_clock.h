// The time that a chat template may ask for with strftime_now().
//
// A value: the machine's clock and time zone, or a time that stands still, which
// tests and reproducible prompts need. Templates put days and months into the
// system text, so a new day is another text. Threads: a value.
#pragma once

#include <ctime>
#include <optional>
#include <string>

namespace pc {

struct ChatClock {
  std::optional<std::tm> fixed;  // as a wall clock shows it; none: the machine's

  // The machine's clock and time zone as they are now, standing still.
  static ChatClock now();
  // Seconds since 1970 as a clock in UTC shows them.
  static ChatClock at(std::time_t seconds);
  // By C's strftime(3) in the C locale; %f are microseconds, as in Python.
  std::string format(const std::string& form) const;
};

}  // namespace pc
