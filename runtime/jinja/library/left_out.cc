#include "runtime/jinja/library/left_out.h"

#include <algorithm>
#include <span>
#include <string>

namespace pc::jinja {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kFilters[] = {
    "abs",      "attr",      "batch",  "center",    "filesizeformat", "forceescape",
    "groupby",  "pprint",    "random", "slice",     "striptags",      "sum",
    "truncate", "urlencode", "urlize", "wordcount", "wordwrap",       "xmlattr"};

constexpr std::string_view kTests[] = {"callable", "divisibleby", "escaped", "even", "filter",
                                       "lower",    "odd",         "sameas",  "test", "upper"};

constexpr std::string_view kOfStrings[] = {
    "casefold",  "center",      "encode",       "expandtabs",   "format_map",   "isalnum",
    "isalpha",   "isascii",     "isdecimal",    "isdigit",      "isidentifier", "islower",
    "isnumeric", "isprintable", "isspace",      "istitle",      "isupper",      "ljust",
    "maketrans", "partition",   "removeprefix", "removesuffix", "rjust",        "rpartition",
    "swapcase",  "translate",   "zfill"};

constexpr std::string_view kOfDicts[] = {"copy", "fromkeys"};
constexpr std::string_view kOfLists[] = {"copy"};
constexpr std::string_view kOfLoops[] = {"changed", "cycle"};

constexpr std::string_view kOfNumbers[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
    "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
    "numerator",        "real",      "to_bytes"};

bool has(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names left_out_of(Kind kind) {
  switch (kind) {
    case Kind::kString:
      return kOfStrings;
    case Kind::kDict:
      return kOfDicts;
    case Kind::kList:
      return kOfLists;
    case Kind::kLoop:
      return kOfLoops;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return kOfNumbers;
    default:
      return {};
  }
}

Error unknown(std::string_view kind, std::string_view name, Names left_out_names) {
  const std::string named = std::string(kind) + " '" + std::string(name) + "'";
  if (has(left_out_names, name)) return left_out("the " + named);
  return error(Code::kInvalidArgument,
               "No " + std::string(kind) + " named '" + std::string(name) + "'.");
}

Result<Value> cycler(Runtime&, const Value&, const Arguments&) {
  return left_out("the function 'cycler'");
}

Result<Value> joiner(Runtime&, const Value&, const Arguments&) {
  return left_out("the function 'joiner'");
}

Result<Value> lipsum(Runtime&, const Value&, const Arguments&) {
  return left_out("the function 'lipsum'");
}

}  // namespace

Error left_out(std::string_view what) {
  return error(Code::kUnsupported,
               std::string(what) +
                   " is not offered: no published chat template that was counted uses it "
                   "(CHAT_TEMPLATES.md); write it with what is offered, or choose another "
                   "template (chat_template)");
}

Error unknown_filter(std::string_view name) {
  return unknown("filter", name, kFilters);
}

Error unknown_test(std::string_view name) {
  return unknown("test", name, kTests);
}

bool is_left_out(const Value& object, std::string_view name) {
  return has(left_out_of(object.kind), name);
}

Function find_left_out_function(std::string_view name) {
  if (name == "cycler") return cycler;
  if (name == "joiner") return joiner;
  return name == "lipsum" ? lipsum : nullptr;
}

}  // namespace pc::jinja
