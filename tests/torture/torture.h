// What the programs share that ill-treat a store: their two forms, processes, the oracle of what a
// module's bytes are, and what is left of a store that nobody uses any more.
//
// The oracle: equal causes give equal bytes, so what a store gives out is right exactly where it
// equals the module that the test makes anew from the same identity.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "tests/modules/store_support.h"
#include "tests/support/torture_form.h"

namespace pc::test {

// Memory that parent and children share.
template <class T>
T* shared() {
  void* p = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(p != MAP_FAILED);
  return new (p) T{};
}

// A process that ends with this one, at the latest.
template <class Work>
pid_t spawn(Work work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }
  REQUIRE(pid > 0);
  return pid;
}

// What it exited with, or minus the signal that ended it.
inline int end_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Modules 0 to n - 1 as they must be.
class Oracle {
 public:
  explicit Oracle(int n, ModuleIdentity (*identity_of)(std::int32_t) = &salted) {
    for (int i = 0; i < n; ++i) {
      identities_.push_back(identity_of(i));
      modules_.push_back(make_module(identities_.back()));
      number_[modules_.back()->key()] = i;
    }
  }

  int size() const { return static_cast<int>(modules_.size()); }
  const ModuleIdentity& identity(int i) const { return identities_[i]; }
  const ModuleHandle& module(int i) const { return modules_[i]; }
  std::size_t bytes() const { return modules_.front()->bytes().size(); }  // of the first
  bool is_right(const ModuleFile& module) const {
    const auto it = number_.find(module.key());
    return it != number_.end() && is_right(it->second, module.bytes());
  }
  bool is_right(int i, std::span<const std::byte> bytes) const {
    return std::ranges::equal(bytes, modules_[i]->bytes());
  }

 private:
  static ModuleIdentity salted(std::int32_t salt) { return test::identity(salt); }

  std::vector<ModuleIdentity> identities_;
  std::vector<ModuleHandle> modules_;
  std::map<ModuleKey, int> number_;
};

// In memory, where there is such a place: for thousands of folders, one after the other.
inline std::filesystem::path quick_place() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

inline std::size_t n_files(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

// What crashes have left that a sweep and a collection would have to remove: files in tmp
// (unfinished ones and promises), stamps without a file.
inline std::size_t n_orphans(const std::string& dir) {
  std::size_t orphans = n_files(dir + "/v3/tmp");
  for (const auto& stamp : std::filesystem::directory_iterator(dir + "/v3/used"))
    orphans += !std::filesystem::exists(dir + "/v3/objects/" + stamp.path().filename().string() +
                                        ".module");
  return orphans;
}

}  // namespace pc::test
