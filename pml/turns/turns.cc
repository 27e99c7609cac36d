#include "pml/turns/turns.h"

#include <utility>

namespace pc::pml {

Result<std::vector<TurnText>> turns_to_continue(const ChatFormat& chat,
                                                std::span<const Role> roles) {
  if (!roles.empty() && roles.back() != Role::kUser) {
    std::vector<Role> longer(roles.begin(), roles.end());
    longer.push_back(Role::kUser);
    if (auto texts = chat.turns(longer); texts.ok()) {
      texts->turns.pop_back();
      return std::move(texts->turns);
    }
  }
  PC_TRY(TurnTexts texts, chat.turns(roles));
  return std::move(texts.turns);
}

}  // namespace pc::pml
