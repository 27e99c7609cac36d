// A published trace as the store would see it: each request a chain of links with the keys and
// sizes that the product gives them.
//
// A line of a trace is a request: when it came, how many tokens it has, and an id for each block of
// kBlockTokens of them; equal ids are equal text behind an equal beginning (Mooncake, FAST 2025).
// A block's tokens are made of its id, so that different ids are different tokens; the cut into
// links is runtime/prompt/chain.h's, the keys are modules/module_key.h's, the bytes those of the
// file. Answers are not in a trace: what they would add to a store is not counted.
//
// Values. Threads: any, once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "modules/module_key.h"

namespace pc::bench {

inline constexpr std::uint32_t kBlockTokens = 512;

// One line.
struct TraceLine {
  std::int64_t time_ns = 0;
  std::uint32_t n_tokens = 0;
  std::vector<std::uint32_t> blocks;  // [ceil(n_tokens / kBlockTokens)] ids
};

inline constexpr std::uint32_t kNoLink = UINT32_MAX;

// A file that the store may have.
struct TraceLink {
  Digest key{};
  std::uint64_t bytes = 0;
  std::uint32_t n_tokens = 0;
  std::uint32_t position = 0;      // of its first token
  std::uint32_t before = kNoLink;  // the link that it goes on from
};

struct TraceRequest {
  std::int64_t time_ns = 0;
  std::uint32_t n_tokens = 0;        // also those that no file is kept of
  std::vector<std::uint32_t> links;  // in order
};

struct Trace {
  std::vector<TraceLink> links;        // each once
  std::vector<TraceRequest> requests;  // by time

  std::uint64_t n_tokens() const;  // of all requests
  std::uint64_t n_bytes() const;   // of all links: the working set
};

// kNotFound; kCorrupt, naming the line that is none of a trace.
Result<std::vector<TraceLine>> read_trace(const std::string& path);

// `base`: what the keys have besides the text; its geometry gives the bytes.
Trace make_trace(const std::vector<TraceLine>& lines, const ModuleIdentity& base);

// A model of this geometry, its digests made up.
ModuleIdentity made_up_identity(KvGeometry geometry);

}  // namespace pc::bench
