#include "tools/exchange/remote_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <system_error>

#include "tools/exchange/curl.h"
#include "tools/opening/open.h"

namespace pc::cli {
namespace {

namespace fs = std::filesystem;

// Where a store has them (docs/MODULE_FORMAT.md).
constexpr char kList[] = "/v3/manifest", kObjects[] = "/v3/objects";

std::string object(const std::string& place, const std::string& key) {
  return place + kObjects + "/" + key + ".module";
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// More than a list that is read has (docs/MODULE_FORMAT.md): 400,000 files.
constexpr std::uint64_t kMostListBytes = std::uint64_t{64} << 20;

// Anew. False: there is none.
bool fetch_list_to(const std::string& url, const std::string& file) {
  for (const char* const end : {"", ".part"}) fs::remove(file + end);
  const Fetched fetched = fetch(url + kList, file, kMostListBytes);
  if (fetched == Fetched::kCut) {
    fs::remove(file);
    throw Failure(kModelOrStore, "cannot fetch " + url + kList + ": it is longer than " +
                                     std::to_string(kMostListBytes) + " bytes");
  }
  return fetched == Fetched::kWhole;
}

// By its key, the bytes of each file in a list that was read before: "KEY BYTES SUM".
std::map<std::string, std::uint64_t> sizes_in(const std::string& list) {
  std::map<std::string, std::uint64_t> sizes;
  std::ifstream file(list);
  std::string key, sum, line;
  std::uint64_t n_bytes = 0;
  while (std::getline(file, line))
    if (std::istringstream(line) >> key >> n_bytes >> sum) sizes.emplace(key, n_bytes);
  return sizes;
}

std::string folder_name(const std::string& url) {
  std::string name;
  for (const char c : url) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

// Nobody else fetches or sends by this folder as long as this process lives. -1: somebody does.
int hold(const std::string& dir) {
  const int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

}  // namespace

// Signatures stand behind the files.
bool is_signed(const std::string& list) {
  return text_of(list).find("\nsigned ") != std::string::npos;
}

RemoteStore::RemoteStore(std::string url, const std::string& beside, std::vector<std::string> trust)
    : url_(std::move(url)),
      dir_(beside + "/incoming/" + folder_name(url_)),
      trust_(std::move(trust)) {
  while (url_.ends_with('/')) url_.pop_back();
  if (url_.starts_with("http:") && !is_this_machine(url_) && trust_.empty())
    throw Failure(kUsage, url_ +
                              " may be changed on its way: name a store by https://, or keys "
                              "that have signed it with --cache-trust");
  make_folder(dir_ + kObjects);
  fs::permissions(beside + "/incoming", fs::perms::owner_all);
  held_ = hold(dir_);
  if (held_ < 0)
    throw Failure(kModelOrStore, "another push or pull of " + url_ + " is under way, in " + dir_);
}

RemoteStore::~RemoteStore() {
  if (held_ >= 0) ::close(held_);
}

ModuleKeys RemoteStore::fetch_list() {
  if (!fetch_list_to(url_, dir_ + kList))
    throw Failure(kModelOrStore, "there is no " + url_ + kList +
                                     ": `promptcache cache sign` writes it into a store");
  return keys_in_lines(promptcache::manifest_keys(dir_ + kList, trust_));
}

const std::string& RemoteStore::fetch_modules(const ModuleKeys& keys, const ModuleKeys& own) {
  const auto sizes = sizes_in(dir_ + kList);
  for (const std::string& key : keys) {
    const std::string file = object(dir_, key);
    const auto size = sizes.find(key);  // none: it is not in the list
    // One that is cut off there is found to be damaged, as any that is not what the list says.
    if (size != sizes.end() && !own.contains(key) && !fs::exists(file))
      fetch(object(url_, key), file, size->second);
  }
  return dir_;
}

RemoteStore::Sent RemoteStore::send_modules(const std::string& own_dir, const ModuleKeys& keys,
                                            const std::string& private_key) {
  const std::string theirs = dir_ + "/theirs", sent_file = dir_ + "/sent";
  const bool has_list = fetch_list_to(url_, theirs);
  if (has_list && private_key.empty() && is_signed(theirs))
    throw Failure(kUsage, "the list of " + url_ +
                              " is signed, and would not be any more: name the key that signs it "
                              "with --sign-key");
  const ModuleKeys listed =
      has_list ? keys_in_lines(promptcache::manifest_keys(theirs, {})) : ModuleKeys();
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
  const ModuleKeys before = keys_in_lines(text_of(sent_file));
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
