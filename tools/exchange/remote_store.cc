#include "tools/exchange/remote_store.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/exchange/curl.h"

namespace pc::cli {
namespace {

namespace fs = std::filesystem;

// Where a store has them (docs/MODULE_FORMAT.md).
constexpr char kList[] = "/v3/manifest", kObjects[] = "/v3/objects";

std::string object(const std::string& place, const std::string& key) {
  return place + kObjects + "/" + key + ".module";
}

ModuleKeys lines_of(const std::string& path) {
  ModuleKeys lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
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

RemoteStore::Sent RemoteStore::send_modules(const std::string& own_dir, const ModuleKeys& keys,
                                            const std::string& private_key) {
  const std::string theirs = dir_ + "/theirs", sent_file = dir_ + "/sent";
  fs::remove(theirs);
  const bool has_list = fetch(url_ + kList, theirs);
  const ModuleKeys listed = has_list ? keys_in(theirs, {}) : ModuleKeys();
  Sent sent;
  std::vector<std::string> wanted;
  std::ranges::set_difference(keys, listed, std::back_inserter(wanted));
  sent.n_there = keys.size() - wanted.size();
  // What another push or pull left here is not sent, so the list must not have it.
  for (const auto& entry : fs::directory_iterator(dir_ + kObjects))
    if (!std::ranges::binary_search(wanted, entry.path().stem().string()) ||
        entry.path().extension() != ".module")
      fs::remove(entry);
  promptcache::Store outgoing(dir_);
  sent.failed = parse_report(outgoing.pull(own_dir, {}, wanted))["failed"];
  outgoing.sign(private_key, has_list ? theirs : "");  // refused before anything is sent
  const ModuleKeys before = lines_of(sent_file);
  std::ofstream record(sent_file, std::ios::app);
  for (const std::string& key : wanted) {
    const std::string file = object(dir_, key);
    if (!fs::exists(file)) continue;  // it failed
    const bool is_there = before.contains(key) && size_at(object(url_, key)) == fs::file_size(file);
    if (!is_there) send(object(url_, key), file);
    record << key << std::endl;
    ++sent.n_sent;
  }
  send(url_ + kList, dir_ + kList);
  return sent;
}

void RemoteStore::end() {
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

}  // namespace pc::cli
