#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/parallel.h"

namespace pc {
namespace {

constexpr double kNone = HUGE_VAL;

// Is `word` an entry of a list whose entries are separated by commas?
bool lists(std::string_view list, std::string_view word) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
}

// The CPUs that a quota grants: `quota` microseconds of CPU time in each `period`
// microseconds.
double ratio(const std::string& quota, const std::string& period) {
  const double q = std::strtod(quota.c_str(), nullptr);  // "max" and "-1" are none
  const double p = std::strtod(period.c_str(), nullptr);
  return q > 0.0 && p > 0.0 ? q / p : kNone;
}

double quota_of(const std::string& folder, bool v2) {
  std::string quota, period;
  if (v2) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return ratio(quota, period);
}

// The path of the process's group in the hierarchy of version 2 or 1: "/a/b".
std::optional<std::string> group_of(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (v2 ? line.starts_with("0::") : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return std::nullopt;
}

struct Mount {
  std::string top;    // the group that lies at `point`
  std::string point;  // a path
};

// The field with its escapes resolved: "\040" and the like stand for characters that
// would end a field.
std::string unescaped(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size()) {
      text += static_cast<char>(std::strtol(field.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

std::optional<Mount> mount_of(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // id, parent, device, top, point, options, optional fields, "-", type, source, options
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    if (v2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && lists(dash[3], "cpu"))
      return Mount{unescaped(fields[3]), unescaped(fields[4])};
  }
  return std::nullopt;
}

// The group's path below the group that the mount shows. "" if the group does not lie
// there: a process in a container sees the path that its group has outside, while the
// mount shows the group itself.
std::string below(const Mount& mount, const std::string& group) {
  const std::string top = mount.top == "/" ? "" : mount.top;
  const bool inside = group.starts_with(top + "/") && group.find("/..") == group.npos;
  const std::string path = inside ? group.substr(top.size()) : "";
  return path == "/" ? "" : path;
}

double cpus_of(const std::string& root, bool v2) {
  const auto group = group_of(root, v2);
  const auto mount = mount_of(root, v2);
  if (!group || !mount) return kNone;
  double cpus = kNone;
  for (std::string path = below(*mount, *group);; path.resize(path.rfind('/'))) {
    cpus = std::min(cpus, quota_of(root + mount->point + path, v2));
    if (path.empty()) return cpus;
  }
}

// The number of CPUs in the affinity mask, at least 1. On machines of more than 1024 CPUs
// the mask is longer than the C library's cpu_set_t.
int affinity_cpus() {
  for (int room = CPU_SETSIZE; room <= 1 << 20; room *= 4) {
    std::vector<cpu_set_t> set(static_cast<std::size_t>(room / CPU_SETSIZE));
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, set.data()) == 0)
      return std::max(1, CPU_COUNT_S(bytes, set.data()));
    if (errno != EINVAL) return 1;
  }
  return 1;
}

}  // namespace

double cgroup_cpus(const std::string& root) {
  return std::min(cpus_of(root, true), cpus_of(root, false));
}

std::uint32_t usable_threads() {
  const double cpus = std::min<double>(affinity_cpus(), cgroup_cpus(""));
  return std::max(1u, static_cast<std::uint32_t>(std::ceil(cpus)));
}

}  // namespace pc
