#include "tools/bench/machine/process_place.h"

#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "tools/output/failure.h"

namespace pc::cli {
namespace {

constexpr int kMostCpus = CPU_SETSIZE;

std::string reason() {
  return std::generic_category().message(errno);
}

int value_of(char digit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto lower = static_cast<char>(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit);
  const std::size_t value = kDigits.find(lower);
  return value == kDigits.npos ? -1 : static_cast<int>(value);
}

// Four CPUs a digit, the last one first.
bool read_mask(std::string_view digits, cpu_set_t* cpus) {
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  if (digits.empty() || digits.size() > kMostCpus / 4) return false;
  CPU_ZERO(cpus);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int value = value_of(digits[digits.size() - 1 - i]);
    if (value < 0) return false;
    for (int bit = 0; bit < 4; ++bit)
      if (value >> bit & 1) CPU_SET(4 * i + static_cast<std::size_t>(bit), cpus);
  }
  return true;
}

}  // namespace

void run_on_cpus(const std::string& mask) {
  cpu_set_t cpus;
  if (!read_mask(mask, &cpus))
    throw Failure(kUsage, "\"" + mask + "\" is not a mask of CPUs in hexadecimal, such as 0x3");
  if (CPU_COUNT(&cpus) == 0) return;  // 0x0, llama-bench's default, asks for none
  if (::sched_setaffinity(0, sizeof cpus, &cpus) != 0)
    throw Failure(kFailure, "the process cannot run on the CPUs of --cpu-mask " + mask + ": " +
                                reason() + "; /proc/self/status says which it may use");
}

void set_priority(std::int32_t priority) {
  constexpr std::array<int, 5> kNice = {5, 0, -5, -10, -20};
  const int nice = kNice.at(static_cast<std::size_t>(priority + 1));
  if (priority == 0 || ::setpriority(PRIO_PROCESS, 0, nice) == 0) return;
  throw Failure(kFailure, "the process cannot have the nice value " + std::to_string(nice) +
                              " of --prio " + std::to_string(priority) + ": " + reason() +
                              "; without --prio it runs as it is");
}

}  // namespace pc::cli
