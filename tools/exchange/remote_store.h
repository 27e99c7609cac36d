// A store at an address: any web server that serves a store's folder, and takes files by PUT
// where modules are sent to it. Its files come by way of a folder beside the own store, laid out as
// a store, in which what was fetched before an end stays for the next time.
//
// Throws Failure and promptcache::Error. Threads: one at a time.
#pragma once

#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tools/exchange/selection.h"

namespace pc::cli {

// Has the list in this file a signature, whoever's?
bool is_signed(const std::string& list);

class RemoteStore {
 public:
  // beside: the directory of the own store. Plain http:// is refused, but to this machine and where
  // keys of `trust` have signed what comes.
  // One at a time of one address: another is a Failure.
  RemoteStore(std::string url, const std::string& beside, std::vector<std::string> trust);
  RemoteStore(const RemoteStore&) = delete;
  ~RemoteStore();

  // The keys in its list. Without one there is nothing to be known, and a Failure.
  ModuleKeys fetch_list();

  // Fetches these, as far as `own` does not have them, and gives the folder that has them then.
  const std::string& fetch_modules(const ModuleKeys& keys, const ModuleKeys& own);

  struct Sent {
    std::size_t n_sent = 0, n_there = 0;
    Json failed;  // as pc_store_pull reports them: the own store's files that are no good
  };
  // Sends these modules of the own store, as far as the list there does not have them, and then the
  // list of all, signed with private_key, which must have signed the one that was there, or, "", by
  // nobody. What was sent before an end is not sent again.
  Sent send_modules(const std::string& own_dir, const ModuleKeys& keys,
                    const std::string& private_key);

  // Removes the folder: what was fetched is in the own store now.
  void end();

 private:
  std::string url_, dir_;
  int held_ = -1;  // the folder, under a lock
  std::vector<std::string> trust_;
};

}  // namespace pc::cli
