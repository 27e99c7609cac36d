#include "tools/exchange/remote_store.h"

#include <cctype>
#include <filesystem>

#include "tools/exchange/curl.h"

namespace pc::cli {
namespace {

namespace fs = std::filesystem;

// Where a store has them (docs/MODULE_FORMAT.md).
constexpr char kList[] = "/v3/manifest", kObjects[] = "/v3/objects";

std::string object(const std::string& place, const std::string& key) {
  return place + kObjects + "/" + key + ".module";
}

bool is_this_machine(const std::string& url) {
  const std::string rest = url.substr(url.find("//") + 2);
  for (const std::string host : {"localhost", "127.0.0.1", "[::1]"})
    if (rest.starts_with(host) &&
        (rest.size() == host.size() || rest[host.size()] == ':' || rest[host.size()] == '/'))
      return true;
  return false;
}

std::string folder_name(const std::string& url) {
  std::string name;
  for (const char c : url) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

ModuleKeys keys_in(const std::string& list, const std::vector<std::string>& trust) {
  ModuleKeys keys;
  const std::string lines = promptcache::manifest_keys(list, trust);
  for (std::size_t at = 0, end; (end = lines.find('\n', at)) != lines.npos; at = end + 1)
    keys.insert(lines.substr(at, end - at));
  return keys;
}

}  // namespace

RemoteStore::RemoteStore(std::string url, const std::string& beside, std::vector<std::string> trust)
    : url_(std::move(url)),
      dir_(beside + "/incoming/" + folder_name(url_)),
      trust_(std::move(trust)) {
  while (url_.ends_with('/')) url_.pop_back();
  if (url_.starts_with("http:") && !is_this_machine(url_) && trust_.empty())
    throw Failure(kUsage, url_ +
                              " may be changed on its way: name a store by https://, or keys "
                              "that have signed it with --cache-trust");
  fs::create_directories(dir_ + kObjects);
  fs::permissions(beside + "/incoming", fs::perms::owner_all);
}

ModuleKeys RemoteStore::fetch_list() {
  fs::remove(dir_ + kList);
  fs::remove(dir_ + std::string(kList) + ".part");
  if (!fetch(url_ + kList, dir_ + kList))
    throw Failure(kModelOrStore, "there is no " + url_ + kList +
                                     ": `promptcache cache sign` writes it into a store");
  return keys_in(dir_ + kList, trust_);
}

const std::string& RemoteStore::fetch_modules(const ModuleKeys& keys, const ModuleKeys& own) {
  for (const std::string& key : keys) {
    const std::string file = object(dir_, key);
    if (!own.contains(key) && !fs::exists(file)) fetch(object(url_, key), file);
  }
  return dir_;
}

std::size_t RemoteStore::send_modules(const std::string& own_dir, const ModuleKeys& keys,
                                      const std::string& private_key) {
  fs::remove_all(dir_);
  fs::create_directories(dir_ + kObjects);
  const std::string theirs = dir_ + "/theirs";
  const bool has_list = fetch(url_ + kList, theirs);
  promptcache::Store outgoing(dir_);
  outgoing.pull(own_dir, {}, std::vector<std::string>(keys.begin(), keys.end()));
  outgoing.sign(private_key, has_list ? theirs : "");
  std::size_t n_sent = 0;
  for (const std::string& key : keys) {
    const std::string file = object(dir_, key);
    if (!fs::exists(file) || size_at(object(url_, key)) == fs::file_size(file)) continue;
    send(object(url_, key), file);
    ++n_sent;
  }
  send(url_ + kList, dir_ + kList);
  return n_sent;
}

void RemoteStore::end() {
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

}  // namespace pc::cli
