// Options of a call on texts that ends once nobody wants its outcome.
#pragma once

#include <functional>
#include <promptcache/promptcache.hpp>

namespace pc::serve {

// Borrows is_wanted.
inline promptcache::TextsOptions watched(const std::function<bool()>& is_wanted) {
  promptcache::TextsOptions options;
  options.progress_user = const_cast<std::function<bool()>*>(&is_wanted);
  options.progress = [](void* user, std::uint64_t, std::uint64_t) {
    return (*static_cast<const std::function<bool()>*>(user))() ? 0 : 1;
  };
  return options;
}

}  // namespace pc::serve
