#include "bench/arguments.h"

#include <algorithm>
#include <charconv>

#include "bench/runs.h"  // die

namespace pc::bench {

Arguments& Arguments::number(std::string name, std::uint32_t* value, std::uint32_t least) {
  options_.push_back({std::move(name), value, nullptr, least});
  return *this;
}

Arguments& Arguments::text(std::string name, std::string* value) {
  options_.push_back({std::move(name), nullptr, value, 0});
  return *this;
}

void Arguments::refuse(const std::string& what) const {
  die(what + "; usage: " + usage_);
}

void Arguments::take(const std::string& name, const std::string& value) const {
  const auto option =
      std::ranges::find_if(options_, [&](const Option& o) { return o.name == name; });
  if (option == options_.end()) refuse("unknown argument " + name);
  if (option->text) {
    *option->text = value;
    return;
  }
  std::uint32_t number = 0;
  const char* end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end)
    refuse(name + " takes a number, not '" + value + "'");
  *option->number = std::max(number, option->least);
}

std::string Arguments::parse(int argc, char** argv) const {
  std::string model;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (!arg.starts_with("-") && model.empty())
      model = arg;
    else if (i + 1 == argc)
      refuse(arg + " wants a value, or is unknown");
    else
      take(arg, argv[++i]);
  }
  if (model.empty()) refuse("which model?");
  return model;
}

}  // namespace pc::bench
