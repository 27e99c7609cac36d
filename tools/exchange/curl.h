// Files over HTTP, by the program curl, which knows proxies, certificates and ~/.netrc, and
// resumes in the middle of a file, and ends with this program. Nothing of ~/.curlrc is read.
//
// Throws Failure, with curl's own sentence. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pc::cli {

// Is this the address of a store, and not a folder?
bool is_url(const std::string& place);
// Is it one of this machine's own names for itself, which nobody else can answer for?
bool is_this_machine(const std::string& url);

enum class Fetched {
  kWhole,
  kCut,   // there is more than the most that was to come
  kNone,  // there is no such thing (404)
};

// Fetches to a file of at most so many bytes, going on where an unfinished one of this name ends; a
// minute without a byte ends it.
Fetched fetch(const std::string& url, const std::string& file, std::uint64_t most_bytes);

// PUTs a file.
void send(const std::string& url, const std::string& file);

// How large is what is there? None: nothing is, or the server does not say.
std::optional<std::uint64_t> size_at(const std::string& url);

}  // namespace pc::cli
