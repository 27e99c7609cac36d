// Files over HTTP, by the program curl, which knows proxies, certificates and ~/.netrc, and
// resumes in the middle of a file. Nothing of ~/.curlrc is read.
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

// Fetches to a file, going on where an unfinished one of this name ends. False: there is no such
// thing (404).
bool fetch(const std::string& url, const std::string& file);

// PUTs a file.
void send(const std::string& url, const std::string& file);

// How large is what is there? None: nothing is, or the server does not say.
std::optional<std::uint64_t> size_at(const std::string& url);

}  // namespace pc::cli
