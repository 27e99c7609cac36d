#include "runtime/constrain/schemas/formats.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace pc::constrain {
namespace {

std::string either(const std::string& a, const std::string& b) {
  return "(?:" + a + "|" + b + ")";
}
std::string perhaps(const std::string& part) {
  return "(?:" + part + ")?";
}

// RFC 3339's full-date, of the years from 0001 to 9999.
std::string date() {
  const std::string year = "(?:\\d{3}[1-9]|\\d{2}[1-9]\\d|\\d[1-9]\\d{2}|[1-9]\\d{3})";
  const std::string fourth = "(?:0[48]|[2468][048]|[13579][26])";  // but 00
  const std::string leap_year = either("\\d{2}" + fourth, fourth + "00");
  const std::string day =
      "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"
      "02-(?:0[1-9]|1\\d|2[0-8]))";
  return either(year + "-" + day, leap_year + "-02-29");
}

// RFC 3339's full-time.
std::string time() {
  return "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?"
         "(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
}

// RFC 3339, appendix A.
std::string duration() {
  const std::string n = "\\d{1,9}";
  const std::string minutes = n + "M" + perhaps(n + "S");
  const std::string of_day = "T(?:" + n + "H" + perhaps(minutes) + "|" + minutes + "|" + n + "S)";
  const std::string months = n + "M" + perhaps(n + "D");
  const std::string days = "(?:" + n + "Y" + perhaps(months) + "|" + months + "|" + n + "D)";
  return "P(?:" + n + "W|" + days + perhaps(of_day) + "|" + of_day + ")";
}

const std::string kLabel = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";

// Within the 64 and 255 bytes of RFC 5321.
std::string email() {
  const std::string atom = "[A-Za-z0-9_+-]";
  return atom + "{1,32}(?:\\." + atom + "{1,15}){0,2}@(?:" + kLabel + "\\.){1,3}[A-Za-z]{2,24}";
}

std::string ipv4() {
  const std::string octet = "(?:\\d|[1-9]\\d|1\\d{2}|2[0-4]\\d|25[0-5])";
  return octet + "(?:\\." + octet + "){3}";
}

// RFC 3986.
std::string uri() {
  const std::string in_path = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
  const std::string behind = either(in_path, "[/?]") + "*";
  return "[A-Za-z][A-Za-z0-9+.-]{0,15}://[A-Za-z0-9._~-]{1,253}(?::\\d{1,5})?(?:/" + in_path +
         "*)*(?:\\?" + behind + ")?(?:#" + behind + ")?";
}

std::map<std::string, std::string, std::less<>> all_formats() {
  return {
      {"date", date()},
      {"time", time()},
      {"date-time", date() + "T" + time()},
      {"duration", duration()},
      {"uuid", "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"},
      {"email", email()},
      {"hostname", kLabel + "(?:\\." + kLabel + "){0,2}"},
      {"ipv4", ipv4()},
      {"idn-email", email()},
      {"idn-hostname", kLabel + "(?:\\." + kLabel + "){0,2}"},
      {"ipv6", "[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}"},
      {"uri", uri()},
      {"uri-reference", uri()},
      {"uri-template", uri()},
      {"iri", uri()},
      {"iri-reference", uri()},
      {"json-pointer", "(?:/[A-Za-z0-9_-]{0,64}){0,16}"},
      {"relative-json-pointer", "\\d(?:#|(?:/[A-Za-z0-9_-]{0,64}){0,16})"},
      {"regex", "[A-Za-z0-9 _-]{0,256}"},
  };
}

}  // namespace

std::optional<std::string> pattern_of_format(std::string_view format) {
  static const auto formats = all_formats();
  const auto found = formats.find(format);
  if (found == formats.end()) return std::nullopt;
  return "^(?:" + found->second + ")$";
}

bool is_annotation_only(std::string_view format) {
  constexpr std::string_view kStandard[] = {"date-time",
                                            "date",
                                            "time",
                                            "duration",
                                            "email",
                                            "idn-email",
                                            "hostname",
                                            "idn-hostname",
                                            "ipv4",
                                            "ipv6",
                                            "uri",
                                            "uri-reference",
                                            "iri",
                                            "iri-reference",
                                            "uri-template",
                                            "json-pointer",
                                            "uuid",
                                            "regex",
                                            "relative-json-pointer"};
  return !pattern_of_format(format) && std::ranges::find(kStandard, format) == std::end(kStandard);
}

}  // namespace pc::constrain
