// A session into the store: the links of its chain become files (docs/adr/0022-chains.md).

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/progress.h"  // cancelled, is_set
#include "modules/module_image.h"
#include "runtime/schema/finite_states.h"
#include "runtime/session/session.h"

namespace pc {
namespace {

// Is the link of this token, drawn last, one that the store takes? Else computing it is for
// nothing: whoever goes on computes it with what follows.
bool is_kept_with(const Conversation& conversation, TokenId token, bool ends_turn) {
  Chain chain = conversation.chain();
  chain.append({&token, 1}, conversation.position());
  if (ends_turn) chain.end_turn();
  return chain.links().back().is_kept();
}

// `first`: of the timeline's computed tokens, the link's first. recurrent: the states of recurrent
// layers behind it, or {}.
Status keep_link(const Run& run, const ModuleIdentity& base, Chain::Link* link, std::uint32_t first,
                 std::span<const float> recurrent) {
  const Engine& engine = run.engine();
  const ModuleIdentity identity = Chain::identity(*link, base, !recurrent.empty());
  const Digest place = Chain::place(*link, base);
  link->stored = static_cast<bool>(engine.store()->find(identity));
  if (link->stored) {
    engine.store()->hints().add(place, link->tokens, key_of(identity));
    return ok();
  }
  // States that have seen other bytes than the identity says must not get its name.
  for (const ResidentHandle& resident : run.timeline().residents())
    if (resident->module().is_spoilt())
      return error(Code::kMismatch, "the module file " + resident->module().key().hex() +
                                        " changed while the conversation used it, so the "
                                        "conversation is not kept");
  const auto draft = engine.store()->draft(stored_size(identity).bytes);
  PC_TRY(ModuleImage image, ModuleImage::create(identity, draft));
  PC_CHECK_OK(run.timeline().read(first, link->n_computed, image.planes(0)));
  std::ranges::copy(recurrent, image.recurrent().begin());
  PC_TRY(const ModuleHandle module, std::move(image).seal());
  PC_CHECK_OK(check_finite(*module, engine.backend().name()));
  PC_TRY(const ModuleHandle published, engine.publish(module, draft.get()));
  link->stored = true;
  engine.store()->hints().add(place, link->tokens, published->key());
  return ok();
}

}  // namespace

Result<std::uint64_t> Session::keep() {
  return call([this] { return keep_all(); });
}

Result<std::uint64_t> Session::keep_all() {
  PC_CHECK_OK(ready_to_go_on());
  if (!engine().store())
    return error(Code::kUnsupported, "nothing can be kept: no store is in use");
  const Finish finish = answer_.stats().finish;
  const bool answered = finish == Finish::kEos || finish == Finish::kLength;
  // What a stop string cut off is not what follows when the conversation goes on.
  const bool ends_turn = answered && conversation_.is_chat() && !answer_.tokens().empty();
  const bool has_room = static_cast<std::uint64_t>(position()) < engine().context_tokens();
  if (answered && answer_.unread() >= 0 && has_room &&
      is_kept_with(conversation_, answer_.unread(), ends_turn))
    PC_CHECK_OK(step_unread_token());
  if (ends_turn && answer_.unread() < 0) conversation_.chain().end_turn();
  if (conversation_.is_chat()) conversation_.chain().end_link();
  std::uint64_t n_kept = conversation_.open().read.n_module_tokens;
  const ModuleIdentity& identity = conversation_.identity();
  const std::vector<bool> places = conversation_.chain().recurrent_places();
  const std::span<Chain::Link> links = conversation_.chain().links();
  std::uint32_t first = 0;  // of the timeline's computed tokens
  for (std::size_t i = 0; i < links.size(); ++i) {
    Chain::Link& link = links[i];
    if (is_set(&cancel_)) return failed(cancelled());
    const bool computed = link.n_computed == link.tokens.size();
    if (computed && link.is_kept() && !link.stored) {
      std::span<const float> recurrent;
      if (places[i]) {
        PC_TRY(recurrent, run_.timeline().recurrent(first + link.n_computed, identity.n_recurrent));
      }
      PC_CHECK_OK(keep_link(run_, identity, &link, first, recurrent));
      link.recurrent = !recurrent.empty();
    }
    if (link.stored) n_kept += link.tokens.size();
    first += link.n_computed;
  }
  return n_kept;
}

Status Session::step_unread_token() {
  for (int tries = 0; tries < 2 && answer_.unread() >= 0; ++tries) {  // a move leaves it unread
    PC_CHECK_OK(begin_step(false));
    PC_CHECK_OK(finish_tasks());
  }
  return ok();
}

}  // namespace pc
