#include "runtime/chat/chat_clock.h"

#include <chrono>
#include <cstdio>

namespace pc {
namespace {

struct Moment {
  std::tm clock = {};
  long microseconds = 0;
};

Moment this_moment() {
  using std::chrono::microseconds;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto all = std::chrono::duration_cast<microseconds>(since).count();
  Moment moment;
  const auto seconds = static_cast<std::time_t>(all / 1'000'000);
  moment.microseconds = static_cast<long>(all % 1'000'000);
  localtime_r(&seconds, &moment.clock);
  return moment;
}

// Replaces what Python's strftime knows and C's does not. A time without a zone
// has none to print.
std::string with_python_fields(const std::string& form, long microseconds) {
  std::string out;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%' || i + 1 == form.size()) {
      out += form[i];
      continue;
    }
    const char field = form[++i];
    char digits[24];
    std::snprintf(digits, sizeof digits, "%06ld", microseconds);
    if (field == 'f')
      out += digits;
    else if (field != 'z' && field != 'Z')
      out.append(1, '%').append(1, field);
  }
  return out;
}

}  // namespace

ChatClock ChatClock::now() {
  return {this_moment().clock};
}

ChatClock ChatClock::at(std::time_t seconds) {
  std::tm clock = {};
  gmtime_r(&seconds, &clock);
  return {clock};
}

std::string ChatClock::format(const std::string& form) const {
  Moment moment;
  if (fixed)
    moment.clock = *fixed;
  else
    moment = this_moment();
  // A field has at most 27 characters ("%c" in the C locale: 24); the space keeps an
  // empty result apart from a buffer that is too small.
  const std::string whole = with_python_fields(form, moment.microseconds) + " ";
  std::string out(32 * whole.size() + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), whole.c_str(), &moment.clock));
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace pc
