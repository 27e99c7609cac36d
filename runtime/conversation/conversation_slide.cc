// A conversation at its window's end, where it may slide (docs/adr/0041-chats-without-an-end.md):
// which turns go, and what is then known of the conversation.

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/conversation/conversation.h"

namespace pc {
namespace {

// Of a text without turns, the tokens that stay in front: models give their first tokens attention
// that would have to go elsewhere. Four are enough ("Efficient Streaming Language Models with
// Attention Sinks", table 2); a block of a file has 16.
constexpr Position kSinks = kKvBlockTokens;

// Tokens in front of the next that never go.
constexpr Position kRecent = 64;

// A window that slid is full to three quarters, so that it slides once in a quarter of its tokens.
std::uint64_t most_behind(std::uint64_t window) {
  return window - window / 4;
}

// The turns [first, first + n) were never said: what the format wrote in front of the first stands
// in front of the one behind them.
void drop_turns(std::size_t first, std::size_t n, pml::OpenChat* chat) {
  auto& turns = chat->texts.turns;
  turns[first + n].open = std::move(turns[first].open);
  const auto at = static_cast<std::ptrdiff_t>(first), count = static_cast<std::ptrdiff_t>(n);
  turns.erase(turns.begin() + at, turns.begin() + at + count);
  chat->roles.erase(chat->roles.begin() + at, chat->roles.begin() + at + count);
}

}  // namespace

bool Conversation::wants_slide(Position end, std::uint64_t n_more) const {
  return static_cast<std::uint64_t>(end) + n_more > engine().context_tokens() || end < slid_;
}

// Without the prompt's own modules, which stay.
std::vector<Stretch> Conversation::stretches_between(std::span<const AttachedTokens> attached,
                                                     Position begin, Position end) const {
  std::vector<Stretch> modules;
  for (const AttachedTokens& a : attached) {
    const bool is_link = std::ranges::any_of(chain_.links(), [&](const Chain::Link& link) {
      return link.attached && link.position == a.position;
    });
    const bool was_appended = std::ranges::any_of(
        imports_, [&](const Import& import) { return import.position == a.position; });
    if (!is_link && !was_appended)
      modules.push_back({a.position, a.position + static_cast<Position>(a.n_tokens)});
  }
  std::ranges::sort(modules, {}, &Stretch::begin);
  return Gone(std::move(modules)).left_of({begin, end});
}

// The oldest turns go whole; then the beginning of the last answer; of a text without turns, what
// follows its first tokens; at last all that was said. Nothing goes where it fits already.
Result<Slide> Conversation::choose_slide(std::span<const AttachedTokens> attached,
                                         const Wanted& wanted) const {
  const std::uint64_t window = engine().context_tokens(),
                      all = static_cast<std::uint64_t>(wanted.end) + wanted.n_more;
  if (all <= window) return Slide{};
  if (!engine().model().relocates())
    return error(Code::kUnsupported,
                 "the window cannot slide: the model's states are bound to their positions, and "
                 "what it has read cannot be moved");
  if (engine().model().is_recurrent())
    return error(
        Code::kUnsupported,
        "the window cannot slide: layers of the model carry states of all that it has read");
  const auto n_wanted = static_cast<Position>(all - std::min(all, most_behind(window)));
  Slide slide;
  std::vector<Stretch> gone;
  for (std::size_t i = 1; i < cuts_.size() && cuts_[i].position <= wanted.end; ++i) {
    gone = stretches_between(attached, cuts_.front().position, cuts_[i].position);
    slide = {Gone(gone), i};
    if (slide.gone.n_tokens() >= n_wanted) return slide;
  }
  const Position begin = first_that_may_go();
  const Position most = std::max(begin, wanted.end - kRecent);
  const Position enough = std::min(most, begin + n_wanted - slide.gone.n_tokens());
  for (const Stretch& s : stretches_between(attached, begin, enough))
    if (s.begin < s.end) gone.push_back(s);
  slide.gone = Gone(std::move(gone));
  if (all - static_cast<std::uint64_t>(slide.gone.n_tokens()) <= window) return slide;
  if (wanted.n_opening != 0 && !cuts_.empty() && cuts_.front().position < wanted.end) {
    slide = {Gone(stretches_between(attached, cuts_.front().position, wanted.end)), cuts_.size(),
             true};
    const auto n_gone = static_cast<std::uint64_t>(slide.gone.n_tokens());
    if (all - n_gone - wanted.n_opening <= window) return slide;
  }
  return error(Code::kContextFull,
               "what is to be read, or may not go, has more tokens than the context window, which "
               "has " +
                   std::to_string(window));
}

// Where whole turns are not enough. What was written whole (pc_chat) has turns that nobody knows
// here.
Position Conversation::first_that_may_go() const {
  if (is_chat()) return open_.begin;
  return cuts_.empty() ? kSinks : cuts_.back().position;
}

void Conversation::slide(const Slide& slide, Chain chain, std::uint32_t n_attached) {
  lacks_begin_ |= slide.gone.has(open_.begin);
  chain_ = std::move(chain);
  open_.read.n_module_tokens -= forget(slide, 0, open_.chat ? &*open_.chat : nullptr);
  open_.read.n_attached = n_attached;
  position_ = slid_ = slide.gone.moved(position_);
  open_.begin = slide.gone.moved(open_.begin);
}

// What is known of the conversation is known without what goes, and where that was. Gives the
// tokens of modules that go. next_turn: the number of the turn that is to be read; chat: null, or
// the conversation's turns. said_ has them all: what turns with modules are resolved against, whose
// positions are then those of the whole.
std::uint64_t Conversation::forget(const Slide& slide, std::size_t next_turn, pml::OpenChat* chat) {
  std::uint64_t n_imported = 0;
  std::erase_if(imports_, [&](const Import& import) {
    if (!slide.gone.has(import.position)) return false;
    n_imported += import.tokens.size();
    return true;
  });
  for (Import& import : imports_) import.position = slide.gone.moved(import.position);
  if (slide.n_cuts != 0) {
    const std::size_t first = cuts_.front().turn;
    const std::size_t n_turns = (slide.takes_all ? next_turn : cuts_[slide.n_cuts].turn) - first;
    if (chat) drop_turns(first, n_turns, chat);
    cuts_.erase(cuts_.begin(), cuts_.begin() + static_cast<std::ptrdiff_t>(slide.n_cuts));
    for (Cut& cut : cuts_) cut.turn -= n_turns;
    dropped_.dropped_turns += n_turns;
  }
  for (Cut& cut : cuts_) cut.position = slide.gone.moved(cut.position);
  past_.clear();
  dropped_.dropped_tokens += static_cast<std::uint64_t>(slide.gone.n_tokens());
  return n_imported;
}

}  // namespace pc
