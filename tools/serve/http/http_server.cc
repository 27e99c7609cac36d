#include "tools/serve/http/http_server.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <list>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "tools/serve/http/http_connection.h"

namespace pc::serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
using Protocol = asio::generic::stream_protocol;

constexpr auto kResult = asio::as_tuple(asio::use_awaitable);
constexpr int kBacklog = 256;

[[noreturn]] void fail(const std::string& what, const error_code& error) {
  throw ListenError("cannot listen on " + what + ": " + error.message());
}

std::string name_of(const asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return "http://" + (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

// 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and 169.254.0.0/16
bool is_private(const asio::ip::address_v4& address) {
  const std::uint32_t bits = address.to_uint();
  return bits >> 24 == 10 || bits >> 20 == (172 << 4 | 1) || bits >> 16 == (192 << 8 | 168) ||
         bits >> 16 == (169 << 8 | 254);
}

std::string address_class(asio::ip::address address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  if (address.is_loopback()) return "loopback";
  if (address.is_v4()) return is_private(address.to_v4()) ? "private" : "public";
  const bool is_unique_local = (address.to_v6().to_bytes()[0] & 0xFE) == 0xFC;  // fc00::/7
  return is_unique_local || address.to_v6().is_link_local() ? "private" : "public";
}

// Of a name all, those of version 4 first; `name` is for messages.
std::set<asio::ip::tcp::endpoint> endpoints_of(asio::io_context& context, std::string host,
                                               const std::string& name) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) throw ListenError("cannot listen on " + name + ": the host is empty");
  error_code error;
  asio::ip::tcp::resolver resolver(context);
  std::set<asio::ip::tcp::endpoint> endpoints;
  for (const auto& found : resolver.resolve(host, "", error)) endpoints.insert(found.endpoint());
  if (error) fail(name, error);
  return endpoints;
}

// An address that a name has and this machine has not: of version 6 where it has none.
bool is_elsewhere(const error_code& error) {
  return error == asio::error::address_family_not_supported || error.value() == EADDRNOTAVAIL;
}

// Of which kind the client's address is: the log has no more of it.
std::string whence(const Protocol::socket& socket) {
  error_code error;
  const auto peer = socket.remote_endpoint(error);
  asio::ip::tcp::endpoint endpoint;
  if (error || peer.size() > endpoint.capacity()) return "unknown";
  std::memcpy(endpoint.data(), peer.data(), peer.size());
  return address_class(endpoint.address());
}

// A socket file whose server is gone is removed; one that is answered, or is something else, stays.
void remove_stale(asio::io_context& context, const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return;
  if (!S_ISSOCK(there.st_mode)) throw ListenError("cannot listen on " + path + ": it is a file");
  asio::local::stream_protocol::socket probe(context);
  error_code error;
  probe.connect(asio::local::stream_protocol::endpoint(path), error);
  if (!error) throw ListenError("cannot listen on " + path + ": another server answers there");
  ::unlink(path.c_str());
}

}  // namespace

class HttpServer::Server {
 public:
  ~Server() {
    stop(std::chrono::milliseconds(0));
    if (!own_file_.empty()) ::unlink(own_file_.c_str());
  }

  void start(const HttpServerOptions& options, Handler handler) {
    options_ = options;
    handler_ = std::move(handler);
    for (const HttpAddress& address : options_.addresses) listen(address);
    if (!options_.unix_socket.empty()) listen_local();
    for (const int socket : options_.sockets) adopt(socket);
    if (acceptors_.empty()) throw ListenError("there is no address to listen on");
    for (Listener& listener : acceptors_)
      asio::co_spawn(context_, accept(&listener), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }

  const std::vector<std::string>& addresses() const { return addresses_; }

  void stop(std::chrono::milliseconds grace) {
    if (!thread_.joinable()) return;
    asio::post(context_, [this, grace] { begin_stop(grace); });
    thread_.join();
  }

 private:
  struct Listener {
    Acceptor acceptor;
    bool is_local;
  };

  void listen(const HttpAddress& address) {
    const std::string name = address.host + " port " + std::to_string(address.port);
    std::uint16_t port = address.port;
    error_code last;
    std::size_t n_found = 0;
    for (asio::ip::tcp::endpoint endpoint : endpoints_of(context_, address.host, name)) {
      endpoint.port(port);
      last = listen_on(&endpoint);
      if (!last)
        port = endpoint.port(), ++n_found;
      else if (!is_elsewhere(last))
        fail(name, last);
    }
    if (n_found == 0) fail(name, last);
  }

  // Its port becomes the one that is bound.
  error_code listen_on(asio::ip::tcp::endpoint* endpoint) {
    error_code error;
    Acceptor acceptor(context_);
    acceptor.open(Protocol(endpoint->protocol()), error);
    if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
    // Where there are addresses of version 4, "::" does not take them as well.
    if (!error && endpoint->address().is_v6() && has_v4_)
      acceptor.set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor.bind(Protocol::endpoint(*endpoint), error);
    if (!error) acceptor.listen(kBacklog, error);
    if (error) return error;
    const auto bound = acceptor.local_endpoint();
    std::memcpy(endpoint->data(), bound.data(), bound.size());
    has_v4_ = has_v4_ || endpoint->address().is_v4();
    addresses_.push_back(name_of(*endpoint));
    acceptors_.push_back({std::move(acceptor), false});
    return {};
  }

  // Nobody can connect before listen(), and by then the file is its owner's alone.
  void listen_local() {
    const std::string& path = options_.unix_socket;
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      throw ListenError("cannot listen on " + path + ": the path is too long for a socket");
    remove_stale(context_, path);
    const asio::local::stream_protocol::endpoint endpoint(path);
    error_code error;
    Acceptor acceptor(context_);
    acceptor.open(Protocol(endpoint.protocol()), error);
    if (!error) acceptor.bind(Protocol::endpoint(endpoint), error);
    if (!error) own_file_ = path;
    if (!error && ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0)
      error.assign(errno, boost::system::system_category());
    if (!error) acceptor.listen(kBacklog, error);
    if (error) fail(path, error);
    addresses_.push_back("unix:" + path);
    acceptors_.push_back({std::move(acceptor), true});
  }

  void adopt(int socket) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0)
      fail("descriptor " + std::to_string(socket), {errno, boost::system::system_category()});
    error_code error;
    Acceptor acceptor(context_);
    acceptor.assign(Protocol(name.ss_family, 0), socket, error);
    if (error) fail("descriptor " + std::to_string(socket), error);
    addresses_.push_back("descriptor " + std::to_string(socket));
    acceptors_.push_back({std::move(acceptor), name.ss_family == AF_UNIX});
  }

  asio::awaitable<void> accept(Listener* listener) {
    while (listener->acceptor.is_open()) {
      auto [error, socket] = co_await listener->acceptor.async_accept(kResult);
      if (error == asio::error::operation_aborted) break;
      if (error) {  // too many descriptors, as a rule: others have to end first
        asio::steady_timer pause(context_, std::chrono::milliseconds(100));
        co_await pause.async_wait(kResult);
        continue;
      }
      take_in(std::move(socket), listener->is_local);
    }
  }

  // Where there is no memory for it, the connection is closed, and others are accepted.
  void take_in(Protocol::socket socket, bool is_local) try {
    if (!is_local) {  // else an event waits until the client owns up to the one before
      error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    std::string from = is_local ? "local" : whence(socket);
    const auto connection = std::make_shared<HttpConnection>(std::move(socket), is_local,
                                                             std::move(from), options_, handler_);
    asio::co_spawn(context_, serve(connection), asio::detached);
  } catch (const std::bad_alloc&) {
  }

  // A connection counts until it ends, by an exception, too: stop() waits for all.
  class Counted {
   public:
    Counted(Server* server, std::shared_ptr<HttpConnection> connection)
        : server_(server), connection_(std::move(connection)) {
      server_->connections_.insert(connection_);
    }
    ~Counted() {
      connection_->close();
      server_->connections_.erase(connection_);
      if (server_->is_stopping_ && server_->connections_.empty()) server_->finish();
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    Server* const server_;
    const std::shared_ptr<HttpConnection> connection_;
  };

  asio::awaitable<void> serve(std::shared_ptr<HttpConnection> connection) {
    const bool is_full = connections_.size() >= options_.limits.connections;
    const Counted counted(this, connection);
    // GCC 12 ends the awaited frame twice where one co_await has two branches.
    if (is_full)
      co_await connection->turn_away();
    else
      co_await connection->run();
  }

  void begin_stop(std::chrono::milliseconds grace) {
    is_stopping_ = true;
    for (Listener& listener : acceptors_) {
      error_code ignored;
      listener.acceptor.close(ignored);
    }
    for (const auto& connection : connections_) connection->stop();
    if (connections_.empty()) return finish();
    end_.expires_after(grace);
    end_.async_wait([this](const error_code& over) {
      if (over) return;
      for (const auto& connection : connections_) connection->close();
    });
  }

  void finish() {
    end_.cancel();
    work_.reset();
  }

  HttpServerOptions options_;
  Handler handler_;
  bool has_v4_ = false;
  std::string own_file_;  // of a UNIX socket; "" without
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ =
      asio::make_work_guard(context_);
  asio::steady_timer end_{context_};
  std::list<Listener> acceptors_;
  std::vector<std::string> addresses_;
  std::set<std::shared_ptr<HttpConnection>> connections_;
  bool is_stopping_ = false;
  std::thread thread_;
};

HttpServer::HttpServer() : server_(std::make_unique<Server>()) {}
HttpServer::~HttpServer() = default;

void HttpServer::start(const HttpServerOptions& options, Handler handler) {
  server_->start(options, std::move(handler));
}

const std::vector<std::string>& HttpServer::addresses() const {
  return server_->addresses();
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  server_->stop(grace);
}

}  // namespace pc::serve
