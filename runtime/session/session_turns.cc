// A session behind its first answer: further turns.

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/progress.h"       // cancelled, is_set
#include "pml/layout/binding.h"  // check_schema_name
#include "pml/syntax/prompt_parser.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/session/session.h"

namespace pc {
namespace {

using Kind = pml::PromptNode::Kind;

pml::PromptNode text_turn(pml::Role role, std::string_view text) {
  pml::PromptNode turn, content;
  content.text = text;
  turn.kind = Kind::kRole;
  turn.role = role;
  turn.children.push_back(std::move(content));
  return turn;
}

bool has_import(const pml::PromptNode& turn) {
  return std::ranges::find(turn.children, Kind::kImport, &pml::PromptNode::kind) !=
         turn.children.end();
}

// Those of a run that are not computed anew.
Tokens seen_of(const Tokens& tokens, const Anew& anew) {
  Tokens seen;
  auto next = anew.begin();
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    if (next != anew.end() && *next == i)
      ++next;
    else
      seen.push_back(tokens[i]);
  }
  return seen;
}

// The text of each turn.
Result<std::vector<std::string>> contents_of(const std::vector<pml::PromptNode>& turns) {
  std::vector<std::string> contents;
  for (const pml::PromptNode& turn : turns) {
    if (turn.kind != Kind::kRole)
      return Error{Code::kPmlSemantic, "what is appended stands in turns: <user>, <assistant>",
                   turn.place.line, turn.place.column};
    contents.emplace_back();
    for (const pml::PromptNode& node : turn.children)
      if (node.kind == Kind::kText) contents.back() += node.text;
  }
  return contents;
}

}  // namespace

// Room for all of it: drawing a token allocates nothing.
Session::AnswerRoom Session::answer_room(std::uint32_t max_tokens) const {
  AnswerRoom room{
      max_tokens, {}, TextStream(engine().tokenizer(), options_.stop, options_.controls)};
  // An answer that is longer than the window is one whose window slides.
  room.tokens.reserve(std::min(max_tokens, engine().context_tokens()));
  return room;
}

// Allocates nothing: what stands before an answer was computed by now.
void Session::begin_answer(AnswerRoom room) {
  open_.begin = position_;
  step_us_ = 0;  // of a token that no other was drawn behind
  max_tokens_ = room.max_tokens;
  answer_ = std::move(room.tokens);
  text_ = std::move(room.text);
  sampler_.begin_answer(answer_);
  lookup_.reset();
}

// What text() gave of it in all, and what it still held back.
std::string Session::answer_text() const {
  TextStream stream(engine().tokenizer(), options_.stop);
  std::string text;
  for (const TokenId token : answer_) {
    const bool stopped = stream.push(token);
    text += stream.text();
    if (stopped) return text;
  }
  stream.finish();
  return text + stream.text();
}

Status Session::ready_to_go_on() {
  if (broken_) return *broken_;
  // What a batch has not finished: the prompt, or the token drawn last.
  if (!timeline_ || task_) {
    const Status computed = finish_computing();
    if (!computed.ok()) return failed(computed.error());
  }
  return drop_drafts();
}

Status Session::append(std::span<const pml::ChatTurn> turns) {
  std::vector<pml::PromptNode> nodes;
  for (const pml::ChatTurn& turn : turns) nodes.push_back(text_turn(turn.role, turn.content));
  return append(std::move(nodes));
}

Status Session::append(std::vector<pml::PromptNode> turns) {
  return call([&] { return with_room([&] { return go_on(turns); }); });
}

Status Session::append_text(std::string_view text) {
  return call([&] { return with_room([&] { return go_on_text(text); }); });
}

Status Session::append_tokens(std::span<const TokenId> tokens) {
  return call([&] { return with_room([&] { return go_on_tokens(tokens); }); });
}

Status Session::go_on(const std::vector<pml::PromptNode>& turns) {
  PC_CHECK_OK(ready_to_go_on());
  if (!open_.chat)
    return error(
        Code::kInvalidArgument,
        "no answer's turn is open to be followed by others: the prompt does not end with a "
        "turn of the user's, or text was appended since");
  PC_TRY(const std::vector<std::string> contents, contents_of(turns));
  std::vector<pml::ChatTurn> texts;
  for (std::size_t i = 0; i < turns.size(); ++i) texts.push_back({turns[i].role, contents[i]});
  // What a stop string cut off was read by the model all the same.
  const bool as_read = stats_.finish != Finish::kStop;
  const std::string text = answer_text();
  std::string bytes;
  for (const TokenId token : answer_) engine().tokenizer().append_bytes(token, &bytes);
  const pml::ChatFormat& format = *prompt_->schema->text_encoder().chat;
  PC_TRY(pml::NextTurns next, pml::next_turns(format, *open_.chat, {text, bytes, as_read}, texts));
  if (turns.front().role != pml::Role::kUser) next.said.reset();  // windows slide to a question
  const bool imports = std::ranges::any_of(turns, has_import);
  if (!next.keeps_answer && (imports || !open_.n_opening))
    return error(Code::kUnsupported,
                 "the model's chat format writes the answer otherwise now that the conversation "
                 "goes on, and " +
                     std::string(imports ? "modules follow it"
                                         : "its beginning shares a token with what stands before "
                                           "it") +
                     "; open a session with all of the conversation");
  const std::size_t first = next.chat.roles.size() - turns.size();
  const std::string& opening = next.chat.texts.turns[first].open;
  PC_TRY(Appendix appendix,
         imports ? plan_imports(turns, text, opening) : plan_appendix(next, true));
  const auto n_opening =
      opening_tokens(engine().tokenizer(), appendix.last, next.chat.texts.answer);
  if (appendix.cut) appendix.cut->turn = first;
  OpenAnswer open{.chat = std::move(next.chat), .n_opening = n_opening};
  appendix.said.push_back(text_turn(pml::Role::kAssistant, text));
  appendix.said.insert(appendix.said.end(), turns.begin(), turns.end());
  return read_on(std::move(appendix), std::move(open));
}

Status Session::append_pml(std::string_view pml) {
  PC_TRY(pml::Prompt written, pml::parse_prompt(pml));
  PC_CHECK_OK(pml::check_schema_name(written, prompt_->schema->layout()));
  if (written.repair)
    return Error{Code::kInvalidArgument,
                 "repair= stands in the prompt that a conversation begins with; turns that follow "
                 "are repaired alike",
                 written.place.line, written.place.column};
  return append(std::move(written.children));
}

// The modules of turns are found or encoded, and attached to a fork.
Result<Session::Appendix> Session::plan_imports(const std::vector<pml::PromptNode>& turns,
                                                const std::string& answer,
                                                const std::string& opening) {
  std::vector<pml::PromptNode> said = said_;
  said.push_back(text_turn(pml::Role::kAssistant, answer));
  PC_TRY(TurnPlan plan, plan_turns(*prompt_, said, turns, open_.read.n_schema_runs));
  std::size_t n_new = 0;
  for (const pml::PlanRun& run : plan.runs) n_new += run.tokens.size();
  PC_TRY(Appendix appendix, begin_appendix(true, {n_new}));
  const Position shift = appendix.begin - plan.runs.front().position;
  const pml::PlanRun& last = plan.runs.back();
  const Position end = last.position + shift + static_cast<Position>(last.tokens.size());
  PC_TRY(appendix, end_appendix(std::move(appendix), end));
  appendix.last = opening_run(last);
  appendix.n_schema_runs = schema_runs(plan.runs);
  const auto said_first = std::ranges::find_if(
      plan.runs, [](const pml::PlanRun& run) { return run.kind != pml::RunKind::kRole; });
  if (said_first != plan.runs.end() && turns.front().role == pml::Role::kUser) {
    const bool is_shared =
        said_first != plan.runs.begin() && said_first->kind == pml::RunKind::kText &&
        reaches_beyond(engine().tokenizer(), std::prev(said_first)->tokens, opening);
    appendix.cut = Cut{said_first->position + shift - (is_shared ? 1 : 0), 0};
  }
  if (!appendix.timeline) {
    PC_TRY(appendix.timeline, timeline_->fork());
  }
  if (!answer_.empty()) appendix.chain.end_turn();
  // What they have seen while they were encoded is less than a conversation.
  std::vector<PlacedRun> placed;
  Encoder encoder(engine().scheduler(), engine().store());
  for (const pml::PlanRun& run : plan.runs) {
    placed.push_back({&run, run.position + shift});
    if (run.kind != pml::RunKind::kCached || options_.no_reuse) continue;
    placed.back().module = &plan.modules[run.job]->key.digest;
    placed.back().exact = false;
  }
  PC_CHECK_OK(put_repairs(placed));
  std::vector<bool> encoded(plan.modules.size());
  for (PlacedRun& run : placed)
    if (run.module) {
      const std::size_t job = run.run->job;
      const std::uint32_t n_encoded = appendix.found.modules_encoded;
      PC_TRY(run.resident, acquire(*plan.modules[job], encoder, &appendix.found));
      run.encoded = encoded[job] = encoded[job] || appendix.found.modules_encoded > n_encoded;
    }
  const Stopwatch choose_watch;
  std::vector<pc_run> unread;
  appendix.chain.add_missing(&unread);
  PC_TRY(const std::vector<Anew> anew,
         pc::choose_anew(placed, {*appendix.timeline, client_, unread}, engine().scheduler(),
                         &cancel_));
  appendix.found.prefill_us = choose_watch.microseconds();
  PC_CHECK_OK(place(placed, anew, &appendix));
  return appendix;
}

Result<ResidentHandle> Session::acquire(SchemaModule& module, Encoder& encoder,
                                        SessionStats* found) {
  const Stopwatch watch;
  PC_CHECK_OK(prompt_->schema->check_size(module));
  PC_TRY(AcquiredModule acquired, prompt_->schema->acquire(module, encoder, &cancel_));
  PC_TRY(ResidentHandle resident, engine().backend().resident(std::move(acquired.module)));
  ++found->modules_found;
  const bool encoded = acquired.source == ModuleSource::kEncoded;
  found->modules_encoded += encoded;
  (encoded ? found->encode_us : found->lookup_us) += watch.microseconds();
  return resident;
}

// Attaches runs of modules, and appends the others to the chain.
Status Session::place(std::span<const PlacedRun> runs, std::span<const Anew> anew,
                      Appendix* appendix) const {
  ScatteredTokens between(engine().model().desc);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const pml::PlanRun& run = *runs[i].run;
    const Position position = runs[i].position;
    appendix->tokens.insert(appendix->tokens.end(), run.tokens.begin(), run.tokens.end());
    if (!runs[i].resident) {
      between.move_to(&appendix->chain);
      appendix->chain.append(run.tokens, position, run.cache);
      const bool closes = i + 1 < runs.size() && runs[i + 1].run->kind == pml::RunKind::kRole;
      if (run.kind == pml::RunKind::kText && closes) appendix->chain.end_turn();
      continue;
    }
    const auto n = static_cast<std::uint32_t>(run.tokens.size());
    const std::vector<std::uint32_t> hidden = hidden_bits(anew[i], n);
    PC_CHECK_OK(appendix->timeline->attach(
        runs[i].resident, {run.job_run, 0, n, position, hidden.empty() ? nullptr : hidden.data()}));
    appendix->chain.attach({*runs[i].module}, run.job_run, n, position);
    between.add(anew[i], run.tokens, position);
    appendix->imports.push_back({position, seen_of(run.tokens, anew[i])});
    if (runs[i].encoded) appendix->found.encoded_tokens += n - anew[i].size();
    appendix->found.repaired_tokens += anew[i].size();
    appendix->found.cached_bytes += runs[i].resident->module().geometry().state_bytes(kv_blocks(n));
  }
  between.move_to(&appendix->chain);
  return ok();
}

Status Session::go_on_text(std::string_view text) {
  PC_CHECK_OK(ready_to_go_on());
  if (text.empty()) return error(Code::kInvalidArgument, "there is no text to append");
  pml::NextTurns next;
  next.keeps_answer = true;
  next.spans.push_back({std::string(text), false});
  PC_TRY(Appendix appendix, plan_appendix(next, false));
  // What the answer's turn holds then is more than an answer.
  return read_on(std::move(appendix), {});
}

Status Session::go_on_tokens(std::span<const TokenId> tokens) {
  PC_CHECK_OK(ready_to_go_on());
  if (tokens.empty()) return error(Code::kInvalidArgument, "there are no tokens to append");
  const std::uint32_t vocab_size = engine().model().desc.vocab_size;
  for (const TokenId token : tokens)
    if (token < 0 || static_cast<std::uint32_t>(token) >= vocab_size)
      return error(Code::kInvalidArgument, "token " + std::to_string(token) +
                                               " is outside the model's vocabulary of " +
                                               std::to_string(vocab_size));
  if (tokens.size() >= engine().context_tokens())
    return error(Code::kContextFull, std::to_string(tokens.size()) +
                                         " tokens do not fit the context window, which has " +
                                         std::to_string(engine().context_tokens()));
  PC_TRY(Appendix appendix, begin_appendix(true, {tokens.size()}));
  appendix.chain.append(tokens, appendix.begin);
  appendix.tokens.assign(tokens.begin(), tokens.end());
  const Position end = appendix.begin + static_cast<Position>(tokens.size());
  PC_TRY(appendix, end_appendix(std::move(appendix), end));
  return read_on(std::move(appendix), {});
}

// The tokens of what comes next behind the answer, or in its place. ends_turn: the answer's turn
// ends with it.
Result<Session::Appendix> Session::plan_appendix(const pml::NextTurns& next, bool ends_turn) const {
  const std::span<const pml::NextTurns::Span> spans = next.spans;
  std::vector<pml::TextSpan> texts;
  if (!next.before.empty()) texts.push_back({next.before, true});
  for (const auto& span : spans) texts.push_back({span.text, span.markup});
  PC_TRY(std::vector<Tokens> encoded, engine().text_encoder().encode(texts, false));
  if (!next.before.empty()) encoded.erase(encoded.begin());

  // Where a token of the opening begins what is said, that stands there already.
  if (next.said && *next.said > 0 &&
      reaches_beyond(engine().tokenizer(), encoded[*next.said - 1], spans[*next.said - 1].text)) {
    Tokens& opening = encoded[*next.said - 1];
    encoded[*next.said].insert(encoded[*next.said].begin(), opening.back());
    opening.pop_back();
  }
  NextTokens tokens;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    tokens.n += encoded[i].size();
    if (next.said && i < *next.said) tokens.n_opening += encoded[i].size();
  }
  PC_TRY(Appendix appendix, begin_appendix(next.keeps_answer, tokens));
  const bool takes_all = appendix.slide && appendix.slide->takes_all;
  if (next.keeps_answer && ends_turn && !answer_.empty() && !takes_all) appendix.chain.end_turn();
  Position at = appendix.begin;
  for (std::size_t i = takes_all ? *next.said : 0; i < spans.size(); ++i) {
    if (i == next.said) appendix.cut = Cut{at, 0};
    appendix.chain.append(encoded[i], at);
    at += static_cast<Position>(encoded[i].size());
    if (!spans[i].markup && i + 1 < spans.size()) appendix.chain.end_turn();
    appendix.tokens.insert(appendix.tokens.end(), encoded[i].begin(), encoded[i].end());
  }
  appendix.last = std::move(encoded.back());
  return end_appendix(std::move(appendix), at);
}

// What stands before n_new tokens: all that was said, or all but an answer that goes, with its
// opening; where the window slides for them, what it leaves of that.
Result<Session::Appendix> Session::begin_appendix(bool keeps_answer, NextTokens next) const {
  Appendix appendix{chain_, {}, {}, position_, 0, 0, keeps_answer};
  if (!keeps_answer) {
    appendix.begin = open_.begin - static_cast<Position>(*open_.n_opening);
    appendix.unsaid = chain_.tokens(appendix.begin, position_);
  }
  const bool takes_drawn = keeps_answer && token_ >= 0;
  const std::uint64_t n_drawn = takes_drawn ? 1 : 0;
  const std::uint64_t n_more = next.n + n_drawn + options_.least_answer();
  const bool fits =
      static_cast<std::uint64_t>(appendix.begin) + n_more <= engine().context_tokens();
  if (slides() && (!fits || appendix.begin < slid_)) {
    const std::uint64_t n_opening = next.n_opening != 0 ? next.n_opening + n_drawn : 0;
    PC_TRY(appendix.slide, choose_slide(appendix.begin, n_more, n_opening));
    PC_TRY(Slid slid, slide_to(*appendix.slide, appendix.begin));
    appendix.begin = appendix.held_end = appendix.slide->gone.moved(appendix.begin);
    appendix.chain = std::move(slid.chain);
    appendix.timeline = std::move(slid.timeline);
  } else if (!keeps_answer) {
    appendix.chain.rewind(appendix.begin);
  }
  const bool takes_all = appendix.slide && appendix.slide->takes_all;
  if (takes_drawn && !takes_all) appendix.chain.append({&token_, 1}, appendix.begin++);
  appendix.n_seen = appendix.chain.n_tokens() + open_.read.n_module_tokens;
  for (const Import& import : imports_)
    if (appendix.slide && appendix.slide->gone.has(import.position))
      appendix.n_seen -= import.tokens.size();
  return appendix;
}

Result<Session::Appendix> Session::end_appendix(Appendix appendix, Position end) const {
  appendix.end = end;
  const std::uint64_t answer = options_.least_answer(), window = engine().context_tokens();
  if (static_cast<std::uint64_t>(end) + answer <= window) return appendix;
  return error(Code::kContextFull, "the conversation would end at position " + std::to_string(end) +
                                       " and its answer may take " + std::to_string(answer) +
                                       " tokens, but the context window has " +
                                       engine().context_words() +
                                       ": begin another session, or open one whose window slides "
                                       "(overflow)");
}

// Computes what was appended and starts another answer.
Status Session::read_on(Appendix appendix, OpenAnswer open) {
  // Work that fails leaves its timeline as it was; an answer that goes, goes from a fork.
  std::optional<BackendTimeline> forked = std::move(appendix.timeline);
  if (!appendix.keeps_answer && !forked) {
    PC_TRY(forked, timeline_->fork());
    PC_CHECK_OK(forked->rewind(appendix.chain.n_computed(), forked->n_attached()));
  }
  std::vector<float> logits(logits_.size());
  std::vector<pc_run> runs;
  appendix.chain.add_missing(&runs);
  std::uint64_t n_computed = 0;
  for (const pc_run& run : runs) n_computed += run.n_tokens;
  past_.reserve(past_.size() + 1);  // nothing fails behind the computing
  imports_.reserve(imports_.size() + appendix.imports.size());
  said_.reserve(said_.size() + appendix.said.size());
  open.read = open_.read;
  open.read.n_schema_runs += appendix.n_schema_runs;
  std::uint64_t n_imported = 0;
  for (const Import& import : appendix.imports) n_imported += import.tokens.size();
  open.read.n_module_tokens += n_imported;
  cuts_.reserve(cuts_.size() + 1);
  AnswerRoom room = answer_room(max_tokens_behind(appendix.end));
  const Stopwatch compute_watch;
  PC_CHECK_OK(compute(forked ? &*forked : &*timeline_, runs, logits.data()));

  if (forked) timeline_ = std::move(forked);
  open.read.n_attached = timeline_->n_attached();
  if (!appendix.keeps_answer)
    forget_from(open_.begin - static_cast<Position>(*open_.n_opening), appendix.unsaid);
  if (appendix.slide) {
    const std::uint64_t n_turns = dropped_turns_;
    open.read.n_module_tokens -= forget(*appendix.slide, appendix.cut ? appendix.cut->turn : 0,
                                        open.chat ? &*open.chat : nullptr);
    if (appendix.cut) appendix.cut->turn -= dropped_turns_ - n_turns;
    slid_ = appendix.held_end;
  } else if (appendix.keeps_answer) {
    past_.push_back({std::move(open_), position_ + (token_ >= 0 ? 1 : 0)});
  }
  if (appendix.cut) cuts_.push_back(*appendix.cut);
  lacks_begin_ = false;
  std::ranges::move(appendix.imports, std::back_inserter(imports_));
  std::ranges::move(appendix.said, std::back_inserter(said_));
  appendix.chain.computed();
  chain_ = std::move(appendix.chain);
  logits_.swap(logits);
  for (const TokenId token : appendix.tokens) sampler_.observe(token);
  position_ = appendix.end;
  token_ = -1;
  open_ = std::move(open);
  open_.read.n_said = said_.size();
  stats_ = appendix.found;
  stats_.dropped_tokens = dropped_tokens_;
  stats_.dropped_turns = dropped_turns_;
  stats_.cached_tokens = appendix.n_seen + appendix.tokens.size() - n_computed;
  stats_.computed_tokens = n_computed;
  stats_.prompt_tokens = appendix.n_seen + appendix.tokens.size();
  const std::uint64_t moved_us = std::exchange(move_us_, 0);
  stats_.prefill_us += moved_us + compute_watch.microseconds();
  stats_.ttft_us = moved_us + appendix.watch.microseconds();
  begin_answer(std::move(room));
  return ok();
}

// What the model read or drew from there on was never said. computed: chain_'s of it.
void Session::forget_from(Position position, const Tokens& computed) {
  for (const TokenId token : computed) sampler_.forget(token);
  for (; !imports_.empty() && imports_.back().position >= position; imports_.pop_back())
    for (const TokenId token : imports_.back().tokens) sampler_.forget(token);
  if (token_ >= 0) sampler_.forget(token_);
}

}  // namespace pc
