#include "tools/serve/http/http_head.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "tools/output/json.h"

namespace pc::serve {
namespace {

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// The name in "localhost:8080", the address in "[::1]:8080".
std::string name_in(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(0, host.find(']') + 1));
  return lower(host.substr(0, host.find(':')));
}

// "127.0.0.1", "[fe80::1]": nobody but this machine's owner decides where an address leads.
bool is_address(std::string_view name) {
  if (name.starts_with('[')) return name.ends_with(']');
  return !name.empty() && name.find_first_not_of("0123456789.") == name.npos;
}

}  // namespace

std::string response_head(const HttpResponse& response, Framing framing, std::size_t n_bytes,
                          bool keeps_alive) {
  std::string head =
      "HTTP/1.1 " + std::to_string(response.status) + " " + reason(response.status) + "\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (response.status != 204) {
    add("content-type", response.content_type);
    if (framing == Framing::kLength) add("content-length", std::to_string(n_bytes));
    if (framing == Framing::kChunks) add("transfer-encoding", "chunked");
  }
  for (const Header& header : response.headers) add(header.name, header.value);
  add("connection", keeps_alive ? "keep-alive" : "close");
  return head + "\r\n";
}

HttpResponse refusal(int status, const std::string& sentence) {
  using cli::Json;
  HttpResponse response;
  response.status = status;
  const char* const type = status < 500 ? "invalid_request_error" : "server_error";
  const Json error = Json::object()
                         .set("message", sentence)
                         .set("type", type)
                         .set("param", Json())
                         .set("code", Json());
  response.body = Json::object().set("error", error).dump();
  if (status == 503) response.headers.push_back({"retry-after", "1"});
  return response;
}

bool Visitors::knows_host(std::string_view host) const {
  const std::string name = name_in(host);
  return is_address(name) || name == "localhost" || name.ends_with(".localhost") ||
         std::ranges::any_of(hosts, [&](const std::string& known) { return lower(known) == name; });
}

std::optional<std::string> origin_of(std::string_view text) {
  std::string origin = lower(text);
  const std::size_t colon = origin.find("://");
  if (colon == 0 || colon == origin.npos) return std::nullopt;
  const std::string scheme = origin.substr(0, colon), host = origin.substr(colon + 3);
  if (host.empty() || host.find_first_of("/?#@*\\ \t") != host.npos ||
      scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") != scheme.npos)
    return std::nullopt;
  const std::string_view port = scheme == "https" ? ":443" : scheme == "http" ? ":80" : "";
  if (!port.empty() && origin.ends_with(port)) origin.resize(origin.size() - port.size());
  return origin;
}

bool Visitors::knows_origin(const std::string& origin) const {
  return std::ranges::any_of(
      origins, [&](const std::string& known) { return known == "*" || known == origin; });
}

std::optional<HttpResponse> Visitors::refuse(const HttpRequest& request, bool checks_host) const {
  const std::string* const host = request.header("host");
  if (checks_host && host && !knows_host(*host))
    return refusal(
        403, "requests for " + *host + " are not answered here; --allow-host names hosts that are");
  const std::string* const origin = request.header("origin");
  if (!origin || knows_origin(*origin)) return std::nullopt;
  if (host && (*origin == "http://" + *host || *origin == "https://" + *host)) return std::nullopt;
  return refusal(
      403, "pages of " + *origin + " are not answered here; --allow-origin names origins that are");
}

std::vector<Header> Visitors::cors_headers(const HttpRequest& request) const {
  const std::string* const origin = request.header("origin");
  if (!origin || !knows_origin(*origin)) return {};
  return {{"access-control-allow-origin", *origin}, {"vary", "origin"}};
}

std::optional<HttpResponse> Visitors::preflight(const HttpRequest& request) const {
  if (request.method != "OPTIONS" || !request.header("access-control-request-method"))
    return std::nullopt;
  HttpResponse response;
  response.status = 204;
  const std::string* const asked = request.header("access-control-request-headers");
  response.headers = {
      {"access-control-allow-methods", *request.header("access-control-request-method")},
      {"access-control-max-age", "600"}};
  if (asked) response.headers.push_back({"access-control-allow-headers", *asked});
  // Of a page on the internet that asks a machine of a home's network, or this one.
  if (const std::string* const near = request.header("access-control-request-private-network");
      near && *near == "true")
    response.headers.push_back({"access-control-allow-private-network", "true"});
  return response;
}

}  // namespace pc::serve
