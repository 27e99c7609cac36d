#include "runtime/conversation/conversation.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "runtime/conversation/turn_cuts.h"
#include "runtime/conversation/turn_plan.h"

namespace pc {

Conversation::Conversation(std::shared_ptr<const LoadedPrompt> prompt)
    : prompt_(std::move(prompt)),
      position_(prompt_->plan.end),
      chain_(identity()),
      open_{position_, prompt_->plan.chat, prompt_->n_opening(), prompt_->begins()},
      cuts_(cuts_of(*prompt_)) {}

void Conversation::read(Chain chain) {
  chain_ = std::move(chain);
  chain_.computed();
}

void Conversation::read_prompt(Chain chain, std::uint64_t n_module_tokens,
                               std::uint32_t n_attached) {
  read(std::move(chain));
  open_.read.n_module_tokens = n_module_tokens;
  open_.read.n_attached = n_attached;
  open_.read.n_schema_runs = schema_runs(prompt_->plan.runs);
}

pc_run Conversation::begin_token(TokenId token) {
  chain_.append({&token, 1}, position_);
  return chain_.last_run();
}

void Conversation::end_token() {
  chain_.computed();
  ++position_;
}

void Appendix::append(const Tokens& more) {
  chain.append(more, end);
  tokens.insert(tokens.end(), more.begin(), more.end());
  end += static_cast<Position>(more.size());
}

Position Conversation::end_before(bool keeps_answer) const {
  return keeps_answer ? position_ : open_.begin - static_cast<Position>(*open_.n_opening);
}

// All that was said, or all but an answer that goes, with its opening.
Appendix Conversation::begin_appendix(bool keeps_answer, TokenId drawn,
                                      std::optional<SlidTo> slid) const {
  Appendix appendix{slid ? std::move(slid->chain) : chain_};
  appendix.keeps_answer = keeps_answer;
  appendix.begin = end_before(keeps_answer);
  if (!keeps_answer) appendix.unsaid = unsaid_from(appendix.begin);
  if (slid) {
    appendix.slide = std::move(slid->slide);
    appendix.begin = appendix.held_end = appendix.slide->gone.moved(appendix.begin);
  } else if (!keeps_answer) {
    appendix.chain.rewind(appendix.begin);
  }
  if (keeps_answer && drawn >= 0 && !appendix.took_all())
    appendix.chain.append({&drawn, 1}, appendix.begin++);
  appendix.end = appendix.begin;
  appendix.n_seen = appendix.chain.n_tokens() + open_.read.n_module_tokens;
  for (const Import& import : imports_)
    if (appendix.slide && appendix.slide->gone.has(import.position))
      appendix.n_seen -= import.tokens.size();
  return appendix;
}

void Conversation::prepare(const Appendix& appendix) {
  past_.reserve(past_.size() + 1);
  imports_.reserve(imports_.size() + appendix.imports.size());
  said_.reserve(said_.size() + appendix.said.size());
  cuts_.reserve(cuts_.size() + 1);
}

void Conversation::append(Appendix appendix, std::uint32_t n_attached) {
  OpenAnswer open = std::move(appendix.open);
  open.read = open_.read;
  open.read.n_schema_runs += appendix.n_schema_runs;
  open.read.n_attached = n_attached;
  for (const Import& import : appendix.imports) open.read.n_module_tokens += import.tokens.size();
  if (appendix.slide) {
    const std::uint64_t n_turns = dropped_.dropped_turns;
    open.read.n_module_tokens -= forget(*appendix.slide, appendix.cut ? appendix.cut->turn : 0,
                                        open.chat ? &*open.chat : nullptr);
    if (appendix.cut) appendix.cut->turn -= dropped_.dropped_turns - n_turns;
    slid_ = appendix.held_end;
  } else if (appendix.keeps_answer) {
    past_.push_back({std::move(open_), appendix.begin});
  }
  if (appendix.cut) cuts_.push_back(*appendix.cut);
  lacks_begin_ = false;
  std::ranges::move(appendix.imports, std::back_inserter(imports_));
  std::ranges::move(appendix.said, std::back_inserter(said_));
  read(std::move(appendix.chain));
  position_ = open.begin = appendix.end;
  open.read.n_said = said_.size();
  open_ = std::move(open);
}

Result<Return> Conversation::back_to(Position position) const {
  std::size_t n_past = past_.size();
  while (n_past > 0 && past_[n_past - 1].end >= position) --n_past;
  const bool in_past = n_past < past_.size();
  const OpenAnswer& answer = in_past ? past_[n_past].open : open_;
  const bool is_before_slide = slid_ != 0 && (position <= slid_ || lacks_begin_);
  if (position < answer.begin || (!in_past && position > position_) || is_before_slide)
    return error(Code::kInvalidArgument, "position " + std::to_string(position) +
                                             " is in no answer that can be gone back to; the next "
                                             "token's position is " +
                                             std::to_string(position_));
  Return back{position, answer.begin, n_past, in_past, answer.read, answer.begins, chain_};
  back.kept = chain_.tokens(answer.begin, position);
  back.unsaid = unsaid_from(position);
  back.chain.rewind(position - 1);
  back.chain.append(chain_.tokens(position - 1, position), position - 1,
                    chain_.may_be_stored(position - 1));
  return back;
}

void Conversation::go_back(Return back) {
  while (!imports_.empty() && imports_.back().position >= back.position) imports_.pop_back();
  while (!cuts_.empty() && cuts_.back().position >= back.position) cuts_.pop_back();
  if (back.in_past) {
    open_ = std::move(past_[back.n_past].open);
    said_.resize(open_.read.n_said);
    past_.resize(back.n_past, PastAnswer{});
  }
  read(std::move(back.chain));
  position_ = back.position;
}

// What was read from there on, where nobody has said it.
Tokens Conversation::unsaid_from(Position position) const {
  Tokens unsaid = chain_.tokens(position, position_);
  for (const Import& import : imports_)
    if (import.position >= position)
      unsaid.insert(unsaid.end(), import.tokens.begin(), import.tokens.end());
  return unsaid;
}

}  // namespace pc
