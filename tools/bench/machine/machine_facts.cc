#include "tools/bench/machine/machine_facts.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <locale>
#include <set>
#include <sstream>
#include <system_error>

namespace pc::cli {
namespace {

namespace fs = std::filesystem;

std::string text_at(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string known(const std::string& text) {
  return text.empty() ? "unknown" : text;
}

// "cpu12", and not "cpufreq".
bool is_cpu(const std::string& name) {
  return name.size() > 3 && name.starts_with("cpu") &&
         name.find_first_not_of("0123456789", 3) == name.npos;
}

// A core is the list of its threads: its number is one of its cluster alone on some machines. A CPU
// that is off has no topology.
void count_cores(const fs::path& cpus, MachineFacts* facts) {
  std::set<std::string> cores, sockets;
  std::error_code unreadable;
  for (const auto& cpu : fs::directory_iterator(cpus, unreadable)) {
    if (!is_cpu(cpu.path().filename().string())) continue;
    const std::string socket = text_at(cpu.path() / "topology/physical_package_id");
    if (socket.empty()) continue;
    ++facts->n_cpus;
    const std::string threads = text_at(cpu.path() / "topology/thread_siblings_list");
    cores.insert(threads.empty() ? cpu.path().filename().string() : threads);
    sockets.insert(socket);
  }
  facts->n_cores = static_cast<std::uint32_t>(cores.size());
  facts->n_sockets = static_cast<std::uint32_t>(sockets.size());
}

// Of a line "MemTotal:  131072 kB".
std::uint64_t number_in(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    std::uint64_t number = 0;
    if (digits != line.npos)
      std::from_chars(line.data() + digits, line.data() + line.size(), number);
    return number;
  }
  return 0;
}

// Of "always [madvise] never".
std::string chosen(const std::string& words) {
  const std::size_t begin = words.find('['), end = words.find(']');
  return begin == words.npos || end < begin ? "" : words.substr(begin + 1, end - begin - 1);
}

}  // namespace

MachineFacts machine_facts(const std::string& root) {
  const fs::path top(root), cpus = top / "sys/devices/system/cpu", memory = top / "proc/meminfo";
  MachineFacts facts;
  count_cores(cpus, &facts);
  facts.kernel = known(text_at(top / "proc/sys/kernel/osrelease"));
  facts.governor = known(text_at(cpus / "cpu0/cpufreq/scaling_governor"));
  facts.memory_bytes = number_in(memory, "MemTotal") * 1024;
  facts.huge_pages = known(chosen(text_at(top / "sys/kernel/mm/transparent_hugepage/enabled")));
  facts.n_huge_pages = number_in(memory, "HugePages_Total");
  return facts;
}

std::optional<double> load_average(const std::string& root) {
  std::istringstream line(text_at(fs::path(root) / "proc/loadavg"));
  line.imbue(std::locale::classic());
  double load = 0;
  if (!(line >> load)) return std::nullopt;
  return load;
}

}  // namespace pc::cli
