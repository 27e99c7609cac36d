// The members of two objects in one, in the order of the first and then of the second, however many
// there are: as Json::set() looks through all that are there, they are found by a map.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/json/json_value.h"

namespace pc::constrain {

// combine(a's value, b's value): of a name that both have.
template <class Combine>
Json joined_members(const Json& a, const Json& b, Combine combine) {
  auto all = a.members();
  std::map<std::string, std::size_t> places;
  for (const auto& [name, value] : all) places.emplace(name, places.size());
  for (const auto& [name, value] : b.members()) {
    const auto [at, is_new] = places.try_emplace(name, all.size());
    if (is_new)
      all.emplace_back(name, value);
    else
      all[at->second].second = combine(all[at->second].second, value);
  }
  return Json::object(all);
}

// And each of the names that is not there yet, as this value.
inline Json with_names(const Json& object, const std::vector<std::string>& names,
                       const Json& value) {
  auto all = object.members();
  std::set<std::string> known;
  for (const auto& [name, own] : all) known.insert(name);
  for (const std::string& name : names)
    if (known.insert(name).second) all.emplace_back(name, value);
  return Json::object(all);
}

}  // namespace pc::constrain
