// The models that the command line names, for the server.
#pragma once

#include <vector>

#include "tools/opening/options.h"
#include "tools/serve/service/service.h"

namespace pc::serve {

// The one of -m first. Reads what each is, no weights; they borrow the options. Throws
// cli::Failure: two of one name, or one that has no room; promptcache::Error: one that is no model.
std::vector<ModelFile> served_files(const cli::Options& options);

// How many bytes of weights may be in memory: what was asked for or else three quarters of
// what this process may use, and the largest model at least.
std::uint64_t model_bytes(const cli::Options& options, const std::vector<ModelFile>& files);

}  // namespace pc::serve
