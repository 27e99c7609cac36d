// repair=: which tokens of a module are computed anew where a prompt uses it, since the module was
// encoded without what stands before it there (docs/PML.md, "repair").
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace pc::pml {

inline constexpr std::uint32_t kAllTokens = UINT32_MAX;

struct Repair {
  enum class Kind : std::uint8_t {
    kNone,      // none: the states are used as they are
    kLeading,   // the first n_tokens of each module (EPIC's LegoLink, arXiv 2410.15332)
    kAttended,  // those that the prompt's last fresh tokens attend to most, `share` of all: a token
                // that a head looks for counts, not one that all heads glance at
    kSelected,  // those whose values deviate most in the second layer, `share` of all of the
                // prompt's modules (CacheBlend, arXiv 2405.16444)
    kAuto,      // what a check of answers chose for this model and schema
  };
  Kind kind = Kind::kNone;
  std::uint32_t n_tokens = 0;  // kLeading; kAllTokens: "all"
  double share = 0.0;          // kAttended, kSelected: 0 to 1

  bool operator==(const Repair&) const = default;

  // Some of a module's tokens, and not others?
  bool is_partial() const {
    return kind != Kind::kNone && kind != Kind::kAuto &&
           !(kind == Kind::kLeading && n_tokens == kAllTokens);
  }
};

// "none", "all", "leading:16", "attended:15%", "selected:15%" or "auto". kInvalidArgument.
Result<Repair> parse_repair(std::string_view text);

// As it is written.
std::string to_string(const Repair& repair);

}  // namespace pc::pml
