#include "tools/opening/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace pc::cli {
namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

// Is "memory" an entry of a list whose entries are separated by commas?
bool lists_memory(const std::string& list) {
  return ("," + list + ",").find(",memory,") != list.npos;
}

// Of one group. Version 2 writes "max" for none, version 1 the largest multiple of a page.
std::uint64_t limit_in(const std::string& file) {
  std::uint64_t bytes = 0;
  return std::ifstream(file) >> bytes ? bytes : kNone;
}

// The path of the process's group in the hierarchy of version 2 or 1: "/a/b".
std::optional<std::string> group_of(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? line.starts_with("0::") : lists_memory(controllers)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The field of mountinfo with its escapes resolved: "\040" and the like stand for characters that
// would end a field.
std::string unescaped(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && field.size() - i > 3) {
      text += static_cast<char>(std::strtol(field.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

struct Mount {
  std::string top;    // the group that lies at `point`
  std::string point;  // a path
};

std::optional<Mount> mount_of(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // id, parent, device, top, point, options, optional fields, "-", type, source, options
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    if (v2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && lists_memory(dash[3]))
      return Mount{unescaped(fields[3]), unescaped(fields[4])};
  }
  return std::nullopt;
}

// The group's path below the group that the mount shows. "" if it does not lie there: a process in
// a container sees the path that its group has outside, while the mount shows the group itself.
std::string below(const Mount& mount, const std::string& group) {
  const std::string top = mount.top == "/" ? "" : mount.top;
  const bool is_inside = group.starts_with(top + "/") && group.find("/..") == group.npos;
  const std::string path = is_inside ? group.substr(top.size()) : "";
  return path == "/" ? "" : path;
}

std::uint64_t least_limit(const std::string& root, bool v2) {
  const auto group = group_of(root, v2);
  const auto mount = mount_of(root, v2);
  if (!group || !mount) return kNone;
  const char* const name = v2 ? "/memory.max" : "/memory.limit_in_bytes";
  std::uint64_t least = kNone;
  for (std::string path = below(*mount, *group);; path.resize(path.rfind('/'))) {
    least = std::min(least, limit_in(root + mount->point + path + name));
    if (path.empty()) return least;
  }
}

}  // namespace

std::uint64_t group_memory_bytes(const std::string& root) {
  return std::min(least_limit(root, true), least_limit(root, false));
}

std::uint64_t usable_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t machine =
      pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                            : kNone;
  return std::min(machine, group_memory_bytes(""));
}

}  // namespace pc::cli
