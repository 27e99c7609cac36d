// A session into the store: the links of its chain become files (docs/adr/0022-chains.md).

#include <utility>

#include "base/progress.h"  // cancelled, is_set
#include "modules/module_image.h"
#include "runtime/schema/finite_states.h"
#include "runtime/session/session.h"

namespace pc {

// Is the link of the token that was drawn last one that the store takes? Else computing it is for
// nothing: whoever goes on computes it with what follows.
bool Session::last_token_is_kept(bool ends_turn) const {
  Chain chain = chain_;
  chain.append({&token_, 1}, position_);
  if (ends_turn) chain.end_turn();
  return chain.links().back().is_kept();
}

Result<std::uint64_t> Session::keep() {
  return call([this] { return keep_links(); });
}

Result<std::uint64_t> Session::keep_links() {
  PC_CHECK_OK(ready_to_go_on());
  if (!engine().store())
    return error(Code::kUnsupported, "nothing can be kept: no store is in use");
  const bool answered = stats_.finish == Finish::kEos || stats_.finish == Finish::kLength;
  // What a stop string cut off is not what follows when the conversation goes on.
  const bool is_chat = open_.chat || prompt_->is_chat;
  const bool ends_turn = answered && is_chat && !answer_.empty();
  const bool has_room = static_cast<std::uint64_t>(position_) < engine().context_tokens();
  if (answered && token_ >= 0 && has_room && last_token_is_kept(ends_turn))
    PC_CHECK_OK(step_unread_token());
  if (ends_turn && token_ < 0) chain_.end_turn();
  if (is_chat) chain_.end_link();
  std::uint64_t n_kept = open_.read.n_module_tokens;
  std::uint32_t first = 0;  // of the timeline's computed tokens
  for (Chain::Link& link : chain_.links()) {
    if (is_set(&cancel_)) return failed(cancelled());
    const bool computed = link.n_computed == link.tokens.size();
    if (computed && link.is_kept() && !link.stored && !saw_modules_)
      PC_CHECK_OK(keep_link(&link, first));
    if (link.stored) n_kept += link.tokens.size();
    first += link.n_computed;
  }
  return n_kept;
}

Status Session::keep_link(Chain::Link* link, std::uint32_t first) {
  const ModuleIdentity identity = Chain::identity(*link, prompt_->schema->identity());
  const Digest place = Chain::place(*link, prompt_->schema->identity());
  link->stored = static_cast<bool>(engine().store()->find(identity));
  if (link->stored) {
    engine().store()->hints().add(place, link->tokens, key_of(identity));
    return ok();
  }
  // States that have seen other bytes than the identity says must not get its name.
  for (const ResidentHandle& resident : timeline_->residents())
    if (resident->module().is_spoilt())
      return error(Code::kMismatch, "the module file " + resident->module().key().hex() +
                                        " changed while the conversation used it, so the "
                                        "conversation is not kept");
  const auto draft = engine().store()->draft(stored_size(identity).bytes);
  PC_TRY(ModuleImage image, ModuleImage::create(identity, draft));
  PC_CHECK_OK(timeline_->read(first, link->n_computed, image.planes(0)));
  PC_TRY(const ModuleHandle module, std::move(image).seal());
  PC_CHECK_OK(check_finite(*module, engine().backend().name()));
  PC_TRY(const ModuleHandle published, engine().publish(module, draft.get()));
  link->stored = true;
  engine().store()->hints().add(place, link->tokens, published->key());
  return ok();
}

}  // namespace pc
