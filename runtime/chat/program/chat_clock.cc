#include "runtime/chat/program/chat_clock.h"

#include <tuple>
#include <utility>

namespace pc {
namespace {

// -1: whether daylight is saved at midnight is not what holds now.
std::tm this_day() {
  const std::time_t seconds = std::time(nullptr);
  std::tm day = {};
  localtime_r(&seconds, &day);
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  day.tm_isdst = -1;
  return day;
}

// Replaces what Python's strftime knows and C's does not. A time without a zone
// has none to print.
std::string with_python_fields(const std::string& form) {
  std::string out;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%' || i + 1 == form.size()) {
      out += form[i];
      continue;
    }
    const char field = form[++i];
    if (field == 'f')
      out += "000000";
    else if (field != 'z' && field != 'Z')
      out.append(1, '%').append(1, field);
  }
  return out;
}

}  // namespace

ChatClock::ChatClock() : ChatClock(this_day) {}

ChatClock::ChatClock(Now now) : now_(std::move(now)) {}

ChatClock ChatClock::at(std::time_t seconds) {
  std::tm clock = {};
  gmtime_r(&seconds, &clock);
  return ChatClock([clock] { return clock; });
}

ChatClock ChatClock::standing() const {
  return ChatClock([clock = now()] { return clock; });
}

std::string ChatClock::format(const std::string& form) const {
  const std::tm clock = now();
  // A field has at most 27 characters ("%c" in the C locale: 24); the space keeps an
  // empty result apart from a buffer that is too small.
  const std::string whole = with_python_fields(form) + " ";
  std::string out(32 * whole.size() + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), whole.c_str(), &clock));
  if (!out.empty()) out.pop_back();
  return out;
}

bool same_time(const std::tm& a, const std::tm& b) {
  const auto fields = [](const std::tm& t) {
    return std::tuple(t.tm_year, t.tm_yday, t.tm_hour, t.tm_min, t.tm_sec);
  };
  return fields(a) == fields(b);
}

}  // namespace pc
