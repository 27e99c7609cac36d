// A session behind its answer: further turns, texts, tokens; and back to an earlier one.

#include <string>
#include <utility>

#include "pml/layout/binding.h"  // check_schema_name
#include "pml/syntax/prompt_parser.h"
#include "runtime/session/session.h"

namespace pc {

// Allocates nothing: what stands before an answer was computed by now.
void Session::begin_answer(Answer::Room room) {
  step_us_ = 0;  // of a token that no other was drawn behind
  const bool draws_otherwise = answer_.begin(std::move(room));
  draws_otherwise_ = false;
  if (!draws_otherwise || !conversation_.is_read()) return;  // a prompt is observed when it is read
  conversation_.for_each_module([this](const Tokens& run) { answer_.observe(run); });
  for (const Chain::Link& link : conversation_.chain().links()) answer_.observe(link.tokens);
}

// Nothing fails behind the swap.
Status Session::set_answer(const AnswerOptions& options) {
  if (broken_) return *broken_;
  PC_CHECK_OK(check_sampler_options(options.sampler, engine().model().desc.vocab_size));
  SessionOptions changed = options_;
  static_cast<AnswerOptions&>(changed) = options;
  std::optional<Answer::Room> room;
  if (answer_.is_untouched()) {
    PC_CHECK_OK(check_end(before(changed), position()));
    room =
        answer_.room(max_tokens_behind(position(), changed), conversation_.open().begins, &changed);
  }
  std::swap(static_cast<AnswerOptions&>(options_), static_cast<AnswerOptions&>(changed));
  draws_otherwise_ = true;
  if (room) begin_answer(std::move(*room));
  return ok();
}

Status Session::ready_to_go_on() {
  if (broken_) return *broken_;
  // What a batch has not finished: the prompt, or the token drawn last.
  if (!run_.has_states() || run_.is_at_work()) {
    const Status computed = finish_tasks();
    if (!computed.ok()) return failed(computed.error());
  }
  return drop_drafts();
}

// op() once more where the plug-in has no memory for it: on the CPU.
template <class Op>
Status Session::with_room(Op op) {
  PC_CHECK_OK(ready_to_go_on());  // which moves by itself
  const Status done = op();
  if (!goes_to_cpu(done)) return done;
  PC_CHECK_OK(go_to_cpu(done.error()));
  PC_CHECK_OK(ready_to_go_on());
  return op();
}

template <class Plan>
Status Session::go_on(Plan plan) {
  return call([&] {
    return with_room([&]() -> Status {
      PC_TRY(Appending appending, plan(before(options_)));
      return read_on(std::move(appending));
    });
  });
}

Status Session::append(std::span<const pml::ChatTurn> turns) {
  std::vector<pml::PromptNode> nodes;
  for (const pml::ChatTurn& turn : turns) nodes.push_back(text_turn(turn.role, turn.content));
  return append(std::move(nodes));
}

Status Session::append(std::vector<pml::PromptNode> turns) {
  return go_on([&](const Before& before) { return plan_appended_turns(before, turns); });
}

Status Session::append_pml(std::string_view pml) {
  PC_TRY(pml::Prompt written, pml::parse_prompt(pml));
  PC_CHECK_OK(pml::check_schema_name(written, conversation_.prompt()->schema->layout()));
  if (written.repair)
    return Error{Code::kInvalidArgument,
                 "repair= stands in the prompt that a conversation begins with; turns that follow "
                 "are repaired alike",
                 written.place.line, written.place.column};
  return append(std::move(written.children));
}

Status Session::append_text(std::string_view text) {
  return go_on([&](const Before& before) { return plan_appended_text(before, text); });
}

Status Session::append_tokens(std::span<const TokenId> tokens) {
  return go_on([&](const Before& before) { return plan_appended_tokens(before, tokens); });
}

// Computes what was appended and starts another answer.
Status Session::read_on(Appending appending) {
  Appendix& appendix = appending.appendix;
  // Work that fails leaves its timeline as it was; an answer that goes, goes from a fork, and so
  // does all where a timeline keeps few of the places that it could go back to.
  std::optional<BackendTimeline> forked = std::move(appending.timeline);
  if (!forked && (!appendix.keeps_answer || engine().model().is_recurrent())) {
    PC_TRY(forked, run_.fork());
    if (!appendix.keeps_answer) {
      PC_CHECK_OK(forked->rewind(appendix.chain.n_computed(), forked->n_attached()));
      appendix.chain.keep_computed(forked->n_tokens());
    }
  }
  std::vector<float> logits(answer_.logits().size());
  std::vector<pc_run> runs;
  appendix.chain.add_missing(&runs);
  std::uint64_t n_computed = 0;
  for (const pc_run& run : runs) n_computed += run.n_tokens;
  conversation_.prepare(appendix);  // nothing fails behind the computing
  Answer::Room room = answer_room(appendix.open, appendix.end);
  const Stopwatch compute_watch;
  PC_CHECK_OK(run_.compute(forked ? &*forked : nullptr, runs, logits.data()));

  if (forked) run_.take(std::move(*forked));
  if (!appendix.keeps_answer) {
    answer_.forget(appendix.unsaid);
    forget_unread();
  }
  answer_.swap_logits(&logits);
  answer_.observe(appendix.tokens);
  read_ = appending.found;
  read_.prompt_tokens = appendix.n_seen + appendix.tokens.size();
  read_.computed_tokens = n_computed;
  read_.cached_tokens = read_.prompt_tokens - n_computed;
  conversation_.append(std::move(appendix), run_.timeline().n_attached());
  const std::uint64_t moved_us = std::exchange(move_us_, 0);
  read_.prefill_us += moved_us + compute_watch.microseconds();
  read_.ttft_us = moved_us + appending.watch.microseconds();
  begin_answer(std::move(room));
  return ok();
}

// It was drawn, and will never have been said.
void Session::forget_unread() {
  const TokenId unread = answer_.unread();
  if (unread >= 0) answer_.forget({&unread, 1});
}

Status Session::rewind(Position position) {
  return call([&] { return with_room([&] { return go_back(position); }); });
}

// The token before it is computed again, for the logits. The answer is drawn as set_answer() said
// last, which may want more room than it was begun with.
Status Session::go_back(Position position) {
  const Stopwatch watch;
  PC_TRY(Return back, conversation_.back_to(position));
  PC_CHECK_OK(check_end(before(options_), back.begin));
  PC_TRY(Answer::Room room, answer_.room_behind(back.kept, max_tokens_behind(back.begin, options_),
                                                back.begins, otherwise()));
  PC_TRY(BackendTimeline timeline, run_.fork());
  PC_CHECK_OK(timeline.rewind(back.chain.n_computed(), back.read.n_attached));
  back.chain.keep_computed(timeline.n_tokens());
  std::vector<pc_run> runs;
  back.chain.add_missing(&runs);
  std::vector<float> logits(answer_.logits().size());
  PC_CHECK_OK(run_.compute(&timeline, runs, logits.data()));

  answer_.forget(back.unsaid);
  forget_unread();
  answer_.swap_logits(&logits);
  run_.take(std::move(timeline));
  conversation_.go_back(std::move(back));
  begin_answer(std::move(room));
  read_ = {};
  read_.prompt_tokens = conversation_.n_tokens();
  for (const pc_run& run : runs) read_.computed_tokens += run.n_tokens;
  read_.cached_tokens = read_.prompt_tokens - read_.computed_tokens;
  read_.prefill_us = read_.ttft_us = std::exchange(move_us_, 0) + watch.microseconds();
  return ok();
}

// Another copy of it.
Result<std::unique_ptr<Session>> Session::fork() const {
  std::unique_ptr<Session> fork(new Session(asked_, options_));
  fork->conversation_ = conversation_;
  if (run_.is_at_work() && run_.has_states())
    fork->conversation_.take_back_token();  // it has to compute the token itself
  fork->answer_.continue_from(answer_);
  fork->draws_otherwise_ = draws_otherwise_;
  PC_TRY(fork->run_,
         run_.copy_for(fork->run_.caller(), static_cast<std::uint32_t>(answer_.n_ahead())));
  fork->repairs_ = repairs_;
  fork->broken_ = broken_;
  fork->read_ = read_;
  fork->scores_ = scores_;
  return fork;
}

}  // namespace pc
