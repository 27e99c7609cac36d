#include "tools/exchange/curl.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <vector>

#include "tools/output/failure.h"

extern char** environ;

namespace pc::cli {
namespace {

struct Outcome {
  int exit_code = 0;
  std::string text;  // what it wrote, errors too
};

Outcome run(std::vector<std::string> arguments) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Failure(kFailure, "no pipe is left for curl");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  ::pid_t child = 0;
  const int failure = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Outcome outcome;
  std::array<char, 4096> piece;
  while (failure == 0) {
    const ssize_t n = ::read(ends[0], piece.data(), piece.size());
    if (n <= 0) break;
    outcome.text.append(piece.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (failure != 0)
    throw Failure(
        kModelOrStore,
        "the program curl, which fetches and sends stores, cannot be started: install it");
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// https stays https wherever a server sends us.
std::vector<std::string> curl(const std::string& url, std::vector<std::string> options) {
  const bool is_secure = url.starts_with("https:");
  std::vector<std::string> out = {"curl",       "-q",
                                  "--silent",   "--show-error",
                                  "--globoff",  "--fail",
                                  "--location", "--retry",
                                  "3",          "--netrc-optional",
                                  "--proto",    is_secure ? "=https" : "=http,https"};
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

bool fetch(const std::string& url, const std::string& file) {
  const std::string part = file + ".part";
  constexpr int kNoRanges = 33, kCannotResume = 36;  // curl's words for it: curl(1)
  const auto try_once = [&] {
    return run(
        curl(url, {"--continue-at", "-", "--output", part, "--write-out", "\n%{http_code}"}));
  };
  Outcome got = try_once();
  if (got.exit_code == kNoRanges || got.exit_code == kCannotResume) {
    std::filesystem::remove(part);
    got = try_once();
  }
  if (status_of(got) == "404") return false;
  if (got.exit_code != 0) throw failed("fetch", url, got);
  std::filesystem::rename(part, file);
  return true;
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
