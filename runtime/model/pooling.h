// How a model makes one vector of a text: what its files say of it.
//
// A folder of sentence-transformers lists what stands behind the decoder in modules.json: a
// pooling, whose folder has a config.json, and a normalisation, which every vector has here. A GGUF
// file has the key "<architecture>.pooling_type". Value type. Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "runtime/checkpoint/gguf.h"

namespace pc {

enum class Pooling : std::uint32_t {
  kUnsaid = 0,
  kLast = 1,  // what is behind the last token
  kMean = 2   // the mean over all tokens
};

// "last", "mean"; "unsaid"
const char* pooling_name(Pooling pooling);

// What a model's files say; of what is not computed here `unsupported` is a sentence, and only who
// asks for vectors meets it.
struct PoolingRule {
  Pooling pooling = Pooling::kUnsaid;
  std::string unsupported = {};
};

// kUnsaid where the folder has no modules.json. Errors: kCorrupt, kIo, naming file and field.
Result<PoolingRule> read_pooling(const std::string& folder);
Result<PoolingRule> read_gguf_pooling(const GgufMetadata& metadata,
                                      const std::string& architecture);

}  // namespace pc
