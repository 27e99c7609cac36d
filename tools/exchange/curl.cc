#include "tools/exchange/curl.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

#include "tools/output/failure.h"

namespace pc::cli {
namespace {

constexpr int kNotFound = 127;  // as a shell says it

struct Outcome {
  int exit_code = 0;
  std::string text;  // what it wrote, errors too
};

// Becomes curl, which ends with this program, and writes no file longer than that. Calls nothing
// that a child of several threads may not.
[[noreturn]] void become(char* const* argv, int output, ::pid_t parent, const ::rlimit& longest) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() == parent && ::setrlimit(RLIMIT_FSIZE, &longest) == 0 &&
      ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0)
    ::execvp(argv[0], argv);
  ::_exit(kNotFound);
}

Outcome run(std::vector<std::string> arguments, std::uint64_t most_bytes = RLIM_INFINITY) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Failure(kFailure, "no pipe is left for curl");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::rlimit longest{};  // a limit of the user's own may be lowered and not raised
  ::getrlimit(RLIMIT_FSIZE, &longest);
  longest.rlim_cur = std::min<::rlim_t>(longest.rlim_cur, most_bytes);
  const ::pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) become(argv.data(), ends[1], parent, longest);
  ::close(ends[1]);
  Outcome outcome;
  std::array<char, 4096> piece;
  while (child > 0) {
    const ssize_t n = ::read(ends[0], piece.data(), piece.size());
    if (n <= 0) break;
    outcome.text.append(piece.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (child < 0 || outcome.exit_code == kNotFound)
    throw Failure(
        kModelOrStore,
        "the program curl, which fetches and sends stores, cannot be started: install it");
  return outcome;
}

// https stays https wherever a server sends us.
std::vector<std::string> curl(const std::string& url, std::vector<std::string> options) {
  const bool is_secure = url.starts_with("https:");
  std::vector<std::string> out = {"curl",
                                  "-q",
                                  "--silent",
                                  "--show-error",
                                  "--globoff",
                                  "--fail",
                                  "--location",
                                  "--retry",
                                  "3",
                                  "--netrc-optional",
                                  "--connect-timeout",
                                  "30",
                                  "--speed-time",
                                  "60",  // without a byte
                                  "--proto",
                                  is_secure ? "=https" : "=http,https"};
  if (!is_secure) out.insert(out.end(), {"--proto-redir", "=https"});
  if (is_this_machine(url)) out.insert(out.end(), {"--noproxy", "*"});
  out.insert(out.end(), options.begin(), options.end());
  out.push_back("--");
  out.push_back(url);
  return out;
}

// The three digits that --write-out puts last.
std::string status_of(const Outcome& outcome) {
  return outcome.text.size() < 3 ? "" : outcome.text.substr(outcome.text.size() - 3);
}

std::uint64_t size_of(const std::string& path) {
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

Failure failed(const std::string& what, const std::string& url, const Outcome& outcome) {
  std::string said = outcome.text.substr(0, outcome.text.find('\n'));
  if (said.empty()) said = "curl ended with " + std::to_string(outcome.exit_code);
  return Failure(kModelOrStore, "cannot " + what + " " + url + ": " + said);
}

}  // namespace

bool is_url(const std::string& place) {
  return place.starts_with("http://") || place.starts_with("https://");
}

bool is_this_machine(const std::string& url) {
  std::string host = url.substr(url.find("//") + 2);
  host = host.substr(0, host.find_first_of("/?#"));
  host.erase(0, host.rfind('@') + 1);  // 0 where there is no name of a user
  const std::size_t port = host.rfind(':');
  if (port != host.npos && host.find(']', port) == host.npos) host.resize(port);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

Fetched fetch(const std::string& url, const std::string& file, std::uint64_t most_bytes) {
  const std::string part = file + ".part";
  constexpr int kNoRanges = 33, kCannotResume = 36;  // curl's words for it: curl(1)
  const auto try_once = [&] {
    return run(curl(url, {"--continue-at", "-", "--output", part, "--write-out", "\n%{http_code}"}),
               most_bytes);
  };
  Outcome got = try_once();
  // 416: the server has nothing behind what is here, which is all of it or something else.
  if (got.exit_code == kNoRanges || got.exit_code == kCannotResume || status_of(got) == "416") {
    std::filesystem::remove(part);
    got = try_once();
  }
  if (status_of(got) == "404") return Fetched::kNone;
  const bool is_cut = got.exit_code != 0 && size_of(part) >= most_bytes;
  if (got.exit_code != 0 && !is_cut) throw failed("fetch", url, got);
  std::filesystem::rename(part, file);
  return is_cut ? Fetched::kCut : Fetched::kWhole;
}

void send(const std::string& url, const std::string& file) {
  const Outcome sent =
      run(curl(url, {"--upload-file", file, "--header", "Expect:", "--output", "/dev/null"}));
  if (sent.exit_code != 0) throw failed("send", url, sent);
}

std::optional<std::uint64_t> size_at(const std::string& url) {
  const Outcome head = run(curl(url, {"--head"}));
  if (head.exit_code != 0) return std::nullopt;
  std::string text = head.text;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view kField = "\ncontent-length: ";
  const std::size_t at = text.rfind(kField);
  std::uint64_t size = 0;
  if (at == text.npos) return std::nullopt;
  const char* const begin = text.data() + at + kField.size();
  const auto read = std::from_chars(begin, text.data() + text.size(), size);
  return read.ec == std::errc() ? std::optional(size) : std::nullopt;
}

}  // namespace pc::cli
