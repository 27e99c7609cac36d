// A prompt of so many tokens in a module, and so many behind it.
//
// The module is the schema's text, which every prompt of it begins with; the rest is the prompt's
// own. Of a model whose layers carry states, which has no modules, what was kept of a conversation
// stands in its place. Both are prose, in the model's own tokens. Thread-compatible; needs the
// engine no longer than pc_schema does.
#pragma once

#include <cstdint>
#include <promptcache/promptcache.hpp>
#include <string>

namespace pc::cli {

class BenchWorkload {
 public:
  // Precondition: fresh > 0.
  BenchWorkload(const promptcache::Engine& engine, std::uint32_t cached, std::uint32_t fresh);

  promptcache::Prompt prompt() const { return promptcache::Prompt::from_text(schema_, text_); }

  // What it came to, where the numbers that were asked for could not be had. With no module, what
  // a tokenizer puts before every text (BOS) is one of the fresh ones.
  std::uint32_t cached() const { return cached_; }
  std::uint32_t fresh() const { return fresh_; }

 private:
  std::uint32_t keep() const;

  promptcache::Schema schema_;
  std::string text_;
  std::uint32_t cached_ = 0, fresh_ = 0;
};

}  // namespace pc::cli
