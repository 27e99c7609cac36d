// What a token asks of the kernel: to wait, and whether its modules' files are as they were (an
// fstat each; docs/adr/0028), and nothing else. A filter of system calls (seccomp) covers all
// threads of a child process while it decodes, so that a file opened, a thread started or a page of
// memory asked for is caught in the act.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr int kNoFilter = -1, kFailed = -2;  // where a number of a system call is expected

int report_fd = -1;

void report(int call) {
  if (::write(report_fd, &call, sizeof call) != sizeof call) ::_exit(2);
  ::_exit(0);
}

void on_call(int, siginfo_t* info, void*) {
  report(info->si_syscall);
}

// From here on every call of any thread but these is reported and ends the process.
bool allow_only(const std::vector<int>& calls) {
  struct sigaction action {};
  action.sa_sigaction = on_call;
  action.sa_flags = SA_SIGINFO;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return false;
  constexpr auto kNumber = static_cast<__u32>(offsetof(seccomp_data, nr));
  constexpr auto kFirstArgument = static_cast<__u32>(offsetof(seccomp_data, args));
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber)};
  for (const int call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  const auto fd = static_cast<__u32>(report_fd);
  program.insert(program.end(), {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
                                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirstArgument),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, fd, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)});
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

// The first system call that `steps` makes beside waiting and reading a clock, 0 if
// none; steps is what prepare returns, null if it failed.
int first_call(const std::function<std::function<bool()>()>& prepare) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    report_fd = ends[1];
    const auto steps = prepare();
    if (!steps) report(kFailed);
    if (!allow_only({SYS_futex, SYS_fstat, SYS_newfstatat, SYS_sched_yield, SYS_clock_gettime,
                     SYS_rt_sigreturn, SYS_exit_group}))
      report(kNoFilter);
    report(steps() ? 0 : kFailed);
  }
  ::close(ends[1]);
  int call = kFailed;
  const ssize_t n = ::read(ends[0], &call, sizeof call);
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(n == sizeof call);
  return call;
}

bool skipped(int call) {
  if (call != kNoFilter) return false;
  std::printf("skipped: this kernel or emulator does not filter system calls\n");
  return true;
}

bool sanitized() {
  if (kSanitized) std::printf("skipped: sanitizers ask for memory of their own\n");
  return kSanitized;
}

// Decodes after two tokens of a prompt of the model in `path`, in weights packed or not.
std::function<bool()> decoding(const std::string& path, const std::string& cache) {
  EngineOptions options;
  options.model_path = path;
  options.cache_dir = cache;
  options.n_threads = 2;
  auto engine = Engine::open(options);
  if (!engine.ok()) return nullptr;
  auto schema = LoadedSchema::parse(
      *engine, "<schema name=\"s\"><module name=\"m\">abcd</module></schema>", "");
  if (!schema.ok()) return nullptr;
  auto prompt = LoadedPrompt::parse(*schema, "<prompt schema=\"s\"><m/>abc</prompt>");
  SessionOptions answer;
  answer.max_tokens = 64;
  if (!prompt.ok()) return nullptr;
  auto session = Session::open(*prompt, answer);
  if (!session.ok()) return nullptr;
  const std::shared_ptr<Session> decoder = std::move(*session);
  for (int i = 0; i < 2; ++i)
    if (const auto token = decoder->next(); !token.ok() || !token->has_value()) return nullptr;
  return [decoder] {
    int steps = 0;
    for (; steps < 40; ++steps)
      if (const auto token = decoder->next(); !token.ok() || !token->has_value()) break;
    return steps >= 20;
  };
}

TEST_CASE("a token asks the kernel for nothing but waiting, and what became of its modules") {
  if (sanitized()) return;
  const char* source = std::getenv("PC_SOURCE_DIR");
  REQUIRE(source != nullptr);
  for (const char* model : {"/tests/golden/gguf/llama_q8_0.gguf", "/models/city-guide"}) {
    INFO(model);
    const TempFolder cache;
    const int call =
        first_call([&] { return decoding(std::string(source) + model, cache.path()); });
    if (skipped(call)) return;
    CHECK(call == 0);
  }
}

TEST_CASE("the filter sees what it is for") {
  if (sanitized()) return;
  const int opened = first_call([] { return [] { return ::access("/", R_OK) == 0; }; });
  if (skipped(opened)) return;
#ifdef SYS_access
  CHECK((opened == SYS_access || opened == SYS_faccessat));
#else
  CHECK(opened == SYS_faccessat);
#endif
}

}  // namespace
}  // namespace pc::test
