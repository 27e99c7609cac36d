#include "runtime/added_tokens.h"

#include <algorithm>
#include <utility>

namespace pc {

void AddedTokens::add(AddedToken token) {
  const std::size_t length = token.content.size();
  if (length == 0 || !index_.emplace(token.content, tokens_.size()).second) return;
  starts_[static_cast<unsigned char>(token.content[0])] = true;
  const auto place = std::lower_bound(lengths_.begin(), lengths_.end(), length, std::greater<>());
  if (place == lengths_.end() || *place != length) lengths_.insert(place, length);
  tokens_.push_back(std::move(token));
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto place = index_.find(content);
  return place == index_.end() ? nullptr : &tokens_[place->second];
}

const AddedToken* AddedTokens::next(std::string_view text, std::size_t from,
                                    std::size_t* at) const {
  if (empty()) return nullptr;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (!starts_[static_cast<unsigned char>(text[i])]) continue;
    for (const std::size_t length : lengths_) {
      if (length > text.size() - i) continue;
      if (const AddedToken* token = find(text.substr(i, length))) {
        *at = i;
        return token;
      }
    }
  }
  return nullptr;
}

}  // namespace pc
