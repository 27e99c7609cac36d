#include "runtime/tokenizer/text/text_stream.h"

#include <algorithm>
#include <utility>

namespace pc {
namespace {

// Room for a token's bytes: no token of a published vocabulary is longer, so that push() does not
// allocate.
constexpr std::size_t kRoomBytes = 1024;

// The length of the longest end of `text` that begins `stop`.
std::size_t partial_match(std::string_view text, std::string_view stop) {
  for (std::size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.substr(text.size() - n) == stop.substr(0, n)) return n;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop,
                       pml::Begins begins, Tokenizer::Controls controls)
    : tokenizer_(&tokenizer),
      stop_(std::move(stop)),
      controls_(controls),
      drop_space_(begins == pml::Begins::kOwnText && tokenizer.facts().adds_prefix_space) {
  std::size_t most_held = 0;  // of text that may still become a stop string
  for (const std::string& s : stop_) most_held = std::max(most_held, s.size());
  bytes_.reserve(kRoomBytes);
  for (std::string* s : {&pending_, &text_}) s->reserve(kRoomBytes + most_held);
}

bool TextStream::push(TokenId token) {
  text_.clear();
  bytes_.clear();
  tokenizer_->append_bytes(token, &bytes_, controls_);
  std::string_view bytes = bytes_;
  if (drop_space_ && !bytes.empty()) {
    if (bytes.front() == ' ') bytes.remove_prefix(1);
    drop_space_ = false;
  }
  utf8_.append(bytes, &pending_);
  return release(false);
}

void TextStream::finish() {
  text_.clear();
  utf8_.finish(&pending_);
  release(true);
}

// Moves what is certain from pending_ to text_.
bool TextStream::release(bool all) {
  std::size_t end = std::string::npos, held = 0;
  for (std::size_t i = 0; i < stop_.size(); ++i) {
    if (stop_[i].empty()) continue;
    if (const std::size_t at = pending_.find(stop_[i]); at < end) {
      end = at;
      found_ = static_cast<std::int32_t>(i);
    }
    held = std::max(held, partial_match(pending_, stop_[i]));
  }
  if (end != std::string::npos) {
    text_.append(pending_, 0, end);
    pending_.clear();
    return true;
  }
  const std::size_t certain = all ? pending_.size() : pending_.size() - held;
  text_.append(pending_, 0, certain);
  pending_.erase(0, certain);
  return false;
}

}  // namespace pc
