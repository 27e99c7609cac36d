#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tools/opening/open.h"
#include "tools/opening/verbs.h"
#include "tools/output/failure.h"
#include "tools/output/interrupt.h"
#include "tools/serve/app/api.h"
#include "tools/serve/app/served_files.h"
#include "tools/serve/http/http_server.h"

namespace pc::cli {
namespace {

using namespace std::chrono_literals;

// Sockets that systemd has opened for this process (sd_listen_fds(3)): the first is descriptor 3.
std::vector<int> inherited_sockets() {
  const char* const pid = std::getenv("LISTEN_PID");
  const char* const n = std::getenv("LISTEN_FDS");
  if (!pid || !n || std::atol(pid) != ::getpid()) return {};
  constexpr int kFirst = 3;
  std::vector<int> sockets;
  for (int i = 0; i < std::atoi(n); ++i) sockets.push_back(kFirst + i);
  return sockets;
}

// Each connection is a descriptor, and so is each file of the store that is being read.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // else fewer are accepted
}

// "*", and "null", which files and pages in sandboxes have, are origins, too.
std::string origin(const std::string& text) {
  if (text == "*" || text == "null") return text;
  if (const auto origin = serve::origin_of(text)) return *origin;
  throw Failure(kUsage, "--allow-origin " + text +
                            ": an origin is a scheme and a host, https://example.org or "
                            "http://localhost:3000, without a path or a final slash, or *");
}

serve::HttpServerOptions http_options(const ServeOptions& options) {
  serve::HttpServerOptions http;
  http.sockets = inherited_sockets();
  http.visitors.hosts = options.hosts;
  if (options.socket.empty() && http.sockets.empty()) {
    const std::vector<std::string> one = {"127.0.0.1"};
    for (const std::string& host : options.addresses.empty() ? one : options.addresses) {
      http.addresses.push_back({host, static_cast<std::uint16_t>(options.port)});
      http.visitors.hosts.push_back(host);  // whoever starts the server knows whose name it is
    }
  }
  http.unix_socket = options.socket;
  if (options.logs_requests) http.log = std::make_shared<serve::RequestLog>(STDERR_FILENO);
  for (const std::string& text : options.origins) http.visitors.origins.push_back(origin(text));
  return http;
}

serve::ServiceOptions options_of(const Options& all) {
  const ServeOptions& options = all.serve;
  serve::ServiceOptions api;
  api.max_draft = all.max_draft;
  api.n_parallel = options.parallel;
  api.most_waiting = options.waiting;
  api.deadline = std::chrono::seconds(options.deadline);
  api.mode = serve::mode_of(options.mode).value_or(serve::Mode::kPrefix);
  api.prepares = options.prepares == "on";
  api.slides = all.overflow == "slide";
  api.any_model = options.any_model;
  if (!options.keys.empty()) api.keys = serve::ApiKeys::read_file(options.keys);
  return api;
}

std::string names_of(const std::vector<serve::ModelFile>& files) {
  std::string names;
  for (const serve::ModelFile& file : files) names += (names.empty() ? "" : ", ") + file.name;
  return names;
}

}  // namespace

ExitCode serve(const Options& options) try {
  allow_many_descriptors();
  const serve::HttpServerOptions http = http_options(options.serve);
  const std::vector<serve::ModelFile> files = serve::served_files(options);
  serve::ServiceOptions api_options = options_of(options);
  api_options.model_bytes = serve::model_bytes(options, files);
  serve::HttpServer server;  // ends last: answers that are cut off hold replies until they notice
  serve::Api api(files, api_options);
  const Interruptible interruptible;
  server.start(http, [&api](serve::HttpRequest request, std::shared_ptr<serve::Reply> reply) {
    api.handle(std::move(request), std::move(reply));
  });
  for (const std::string& address : server.addresses())
    print("listening on " + address + " with " + names_of(files) + "\n");
  interruptible.wait();
  constexpr auto kGrace = 5s;
  server.stop(kGrace);
  return kSuccess;
} catch (const serve::ListenError& error) {
  throw Failure(kFailure, error.what());
} catch (const serve::KeyFileError& error) {
  throw Failure(kFailure, error.what());
}

}  // namespace pc::cli
