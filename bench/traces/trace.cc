#include "bench/traces/trace.h"

#include <algorithm>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "modules/module_image.h"  // stored_size
#include "runtime/json/json.h"
#include "runtime/prompt/chain.h"

namespace pc::bench {
namespace {

Result<TraceLine> line_of(const std::string& text, const std::string& name) {
  PC_TRY(const JsonDocument document, JsonDocument::parse(text, name));
  const JsonView root = document.root();
  TraceLine line;
  PC_TRY(const JsonView time, root.member("timestamp"));
  PC_TRY(const std::int64_t ms, time.integer_in(0, std::int64_t{1} << 40));
  line.time_ns = ms * 1'000'000;
  PC_TRY(const JsonView length, root.member("input_length"));
  PC_TRY(const std::int64_t n_tokens, length.integer_in(0, kMaxModuleTokens));
  line.n_tokens = static_cast<std::uint32_t>(n_tokens);
  PC_TRY(const JsonView ids, root.member("hash_ids"));
  for (std::size_t i = 0; ids.is_array() && i < ids.size(); ++i) {
    PC_TRY(const std::int64_t id, ids.at(i).integer_in(0, INT32_MAX / kBlockTokens - 1));
    line.blocks.push_back(static_cast<std::uint32_t>(id));
  }
  const std::size_t n_blocks = (line.n_tokens + kBlockTokens - 1) / kBlockTokens;
  if (line.blocks.size() != n_blocks)
    return ids.error(Code::kCorrupt, "has not one id for each " + std::to_string(kBlockTokens) +
                                         " of input_length tokens");
  return line;
}

Tokens tokens_of(const TraceLine& line) {
  Tokens tokens(line.n_tokens);
  for (std::uint32_t i = 0; i < line.n_tokens; ++i)
    tokens[i] =
        static_cast<TokenId>(line.blocks[i / kBlockTokens] * kBlockTokens + i % kBlockTokens);
  return tokens;
}

class Maker {
 public:
  explicit Maker(const ModuleIdentity& base) : base_(base) {}

  void add(const TraceLine& line) {
    Chain chain(base_);
    chain.append(tokens_of(line), 0);
    if (line.n_tokens > 0) chain.end_link();
    TraceRequest request{line.time_ns, line.n_tokens, {}};
    for (const Chain::Link& link : chain.links())
      if (link.is_kept())
        request.links.push_back(
            number_of(link, request.links.empty() ? kNoLink : request.links.back()));
    trace_.requests.push_back(std::move(request));
  }

  Trace take() && { return std::move(trace_); }

 private:
  std::uint32_t number_of(const Chain::Link& link, std::uint32_t before) {
    const ModuleIdentity identity = Chain::identity(link, base_);
    const Digest key = key_of(identity).digest;
    const auto [known, is_new] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(trace_.links.size()));
    if (is_new)
      trace_.links.push_back({key, stored_size(identity).bytes,
                              static_cast<std::uint32_t>(link.tokens.size()),
                              static_cast<std::uint32_t>(link.position), before});
    return known->second;
  }

  const ModuleIdentity& base_;
  Trace trace_;
  std::unordered_map<Digest, std::uint32_t, DigestHash> numbers_;
};

}  // namespace

std::uint64_t Trace::n_tokens() const {
  std::uint64_t n = 0;
  for (const TraceRequest& request : requests) n += request.n_tokens;
  return n;
}

std::uint64_t Trace::n_bytes() const {
  std::uint64_t n = 0;
  for (const TraceLink& link : links) n += link.bytes;
  return n;
}

Result<std::vector<TraceLine>> read_trace(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return error(Code::kNotFound, "no trace " + path + ": its source is in bench/README.md");
  std::vector<TraceLine> lines;
  for (std::string text; std::getline(file, text);) {
    if (text.empty()) continue;
    PC_TRY(TraceLine line, line_of(text, path + ":" + std::to_string(lines.size() + 1)));
    lines.push_back(std::move(line));
  }
  std::ranges::stable_sort(lines, {}, &TraceLine::time_ns);
  return lines;
}

Trace make_trace(const std::vector<TraceLine>& lines, const ModuleIdentity& base) {
  Maker maker(base);
  for (const TraceLine& line : lines) maker.add(line);
  return std::move(maker).take();
}

ModuleIdentity made_up_identity(KvGeometry geometry) {
  ModuleIdentity identity;
  identity.weights.fill(1);
  identity.tokenizer.fill(2);
  identity.rope.fill(3);
  identity.geometry = std::move(geometry);
  identity.backend = "cpu";
  identity.numerics_version = 1;
  return identity;
}

}  // namespace pc::bench
