#include "tools/serve/answer/answering.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/constrain/grammar/constraint.h"
#include "tools/serve/answer/answer_grammar.h"
#include "tools/serve/answer/answer_mask.h"
#include "tools/serve/answer/answer_reader.h"
#include "tools/serve/answer/prompt_echo.h"
#include "tools/serve/request/failure_of.h"

namespace pc::serve {
namespace {

// One of the answers to a question.
struct Choice {
  AnswerReader reader;
  std::optional<AnswerMask> mask = {};              // which the session asks
  std::optional<promptcache::Session> opened = {};  // until it is over, and kept
  promptcache::Session& session() { return *opened; }

  bool is_over = false;
  bool has_begun = false;          // its prompt is computed
  bool is_told = false;            // and the client knows
  std::uint64_t kept_tokens = 0;   // that the store has of it
  pc_session_stats ended_as = {};  // once its session is closed

  pc_session_stats stats() const { return opened ? opened->stats() : ended_as; }
};

// Answers that are drawn at once; those to more prompts come one lot behind the other.
constexpr std::uint32_t kMostAtOnce = 16;

class Answering {
 public:
  // sink: null where nobody waits for the answer
  Answering(const ServedModel& model, Planner& planner, const Question& question, EventSink* sink)
      : model_(model),
        question_(question),
        sink_(sink),
        plans_(planner.plans(question, true)),
        form_(form_of(question, model)) {
    const Plan& plan = plans_.front();
    usage_.reuse = {plan.mode, plan.parts, plan.remarks, question.n_dropped};
    if (question.n_dropped != 0)
      usage_.reuse.remarks.push_back(
          std::to_string(question.n_dropped) +
          " of the oldest messages went: the conversation is longer than the context window "
          "(overflow)");
    choices_.resize(question.n_choices());
    echoes_.resize(question.n_prompts());
    AnswerRules rules = answer_rules(question, model);
    grammar_ = std::move(rules.grammar);
    if (!rules.remark.empty()) usage_.reuse.remarks.push_back(std::move(rules.remark));
    for (const std::string& stop : question.sampling.stop) stop_.push_back(stop.c_str());
  }

  // That the prompts are some for this model is certain from then on.
  void open() {
    for (std::uint32_t prompt = 0; prompt < question_.n_prompts(); ++prompt)
      add_choice(prompt * question_.n);
  }

  void prefill_first() { prefill(0); }
  void remark(const char* sentence) { usage_.reuse.remarks.push_back(sentence); }

  void prefill_rest() {
    for (std::uint32_t prompt = 1; prompt < question_.n_prompts(); ++prompt) prefill(prompt);
  }

  void answer() {
    sink_->take(Begun{usage()});
    const std::uint32_t n_prompts = question_.n_prompts();
    const std::uint32_t n_at_once = std::max(1U, kMostAtOnce / question_.n);
    for (std::uint32_t first = 0; first < n_prompts; first += n_at_once) {
      const std::uint32_t end = std::min(n_prompts, first + n_at_once);
      answer(first, end);
      if (end < n_prompts) close(first * question_.n, end * question_.n);
    }
  }

  void keep() {
    if (question_.mode == Mode::kOff || !model_.facts().engine.store_in_use) return;
    try {
      for (const auto& choice : choices_)
        if (choice && choice->opened && choice->has_begun)
          choice->kept_tokens = std::max(choice->kept_tokens, choice->session().keep());
    } catch (const promptcache::Error&) {
      // The store is full or cannot be written: the next request computes what it lacks.
    }
  }

  Usage usage() const {
    Usage usage = usage_;
    usage.thought_tokens = n_thought_;
    for (std::uint32_t i = 0; i < choices_.size(); ++i) {
      if (!choices_[i] || !choices_[i]->has_begun) continue;
      const pc_session_stats stats = choices_[i]->stats();
      usage.generated_tokens += stats.generated_tokens;
      usage.drafted_tokens += stats.drafted_tokens;
      usage.right_drafts += stats.right_drafts;
      usage.decode_us = std::max<std::uint64_t>(usage.decode_us, stats.decode_us);
      if (i == 0) usage.first_token_us = stats.ttft_us;
      if (i % question_.n == 0) add_prompt(i, stats, &usage);
    }
    return usage;
  }

 private:
  static AnswerForm form_of(const Question& question, const ServedModel& model) {
    AnswerForm form;
    if (!question.chat.is_null()) form.thoughts = model.thought_shape();
    form.is_thinking = model.opens_thought(question);
    const Json tools = question.chat["tools"];
    if (tools.is_null() || question.tool_choice.kind == ToolChoice::Kind::kNone) return form;
    if (!model.call_shape())
      throw ApiError::bad_request(
          "this model's chat template writes no calls of tools that could be read back; leave "
          "\"tools\" out",
          "tools");
    form.tools = std::make_shared<const promptcache::Tools>(model.engine(), tools.dump());
    if (question.tool_choice.must_call()) form.reading |= PC_CALLS_FORCED;
    if (question.format.kind != Format::Kind::kText) form.reading |= PC_CALLS_AS_WRITTEN;
    return form;
  }

  bool is_raw() const { return question_.chat.is_null() && !question_.of_schema; }
  const Plan& plan_of(std::uint32_t number) const { return plans_[number / question_.n]; }

  void prefill(std::uint32_t prompt) {
    Choice& choice = *choices_[prompt * question_.n];
    choice.session().prefill();
    choice.has_begun = true;
  }

  // Of a prompt, whose first answer has this number.
  void add_prompt(std::uint32_t first, const pc_session_stats& stats, Usage* usage) const {
    usage->prompt_tokens += stats.prompt_tokens;
    const std::uint64_t cached = stats.cached_tokens - stats.encoded_tokens;
    usage->cached_tokens += cached;
    usage->chained_tokens += stats.chained_tokens;
    usage->moved_tokens += stats.moved_tokens;
    usage->repaired_tokens += stats.repaired_tokens;
    usage->modules += stats.modules_found;
    usage->modules_encoded += stats.modules_encoded;
    usage->prompt_us += stats.plan_us + stats.lookup_us + stats.encode_us + stats.prefill_us;
    std::uint64_t kept = 0;
    for (std::uint32_t i = first; i < first + question_.n; ++i)
      if (choices_[i]) kept = std::max(kept, choices_[i]->kept_tokens);
    usage->written_tokens += std::max(stats.encoded_tokens, kept - std::min(kept, cached));
  }

  // Those to these prompts. Where each has several, the others find what the first has computed.
  void answer(std::uint32_t first, std::uint32_t end) {
    if (question_.n > 1) {
      for (std::uint32_t prompt = first; prompt < end; ++prompt) prefill(prompt);
      keep();
      for (std::uint32_t i = first * question_.n; i < end * question_.n; ++i)
        if (!choices_[i]) add_choice(i);
    }
    while (step(first * question_.n, end * question_.n))
      if (!sink_->is_wanted()) throw Unwanted();
  }

  // Their memory goes to those to come.
  void close(std::uint32_t begin, std::uint32_t end) {
    keep();
    for (std::uint32_t i = begin; i < end; ++i) {
      choices_[i]->ended_as = choices_[i]->stats();
      choices_[i]->opened.reset();
    }
  }

  // Its prompt is computed, and so is that of all to the same prompt.
  void begin(std::uint32_t number) {
    choices_[number]->has_begun = true;
    if (!question_.echoes) return;
    const std::uint32_t prompt = number / question_.n;
    auto& echo = echoes_[prompt];
    const auto top = question_.top_logprobs;
    const promptcache::Session* const scored =
        top ? &choices_[prompt * question_.n]->session() : nullptr;
    if (!echo) echo = echo_of(model_, question_.raw[prompt], scored, top.value_or(0));
    sink_->take(Said{number, echo->text, echo->tokens});
  }

  // Throws where the prompt does not fit the context window.
  void add_choice(std::uint32_t number) try {
    const Sampling& s = question_.sampling;
    promptcache::SessionOptions options;
    options.set_max_tokens(s.max_tokens.value_or(model_.facts().engine.context_tokens));
    options.cut_to_window = true;
    options.no_reuse = question_.mode == Mode::kOff;
    options.moves = question_.moves;
    const Plan& plan = plan_of(number);
    if (!plan.exact) usage_.approximate_tokens = plan.prompt.counts().approximate_tokens;
    options.repair = question_.repair.empty() ? nullptr : question_.repair.c_str();
    options.temperature = s.temperature;
    options.top_k = s.top_k;
    options.set_top_p(s.top_p);
    options.min_p = s.min_p;
    options.set_repetition_penalty(s.repetition_penalty);
    options.presence_penalty = s.presence_penalty;
    options.frequency_penalty = s.frequency_penalty;
    options.seed = s.seed == PC_SEED_RANDOM ? s.seed : s.seed + number % question_.n;
    if (s.max_draft) options.set_max_draft(*s.max_draft);
    options.stop = stop_.data();
    options.n_stop = stop_.size();
    options.bias = s.bias.data();
    options.n_bias = s.bias.size();
    options.client = question_.client.c_str();
    options.progress = [](void* self, std::uint64_t done, std::uint64_t total) {
      EventSink* const sink = static_cast<Answering*>(self)->sink_;
      if (!sink) return 0;
      if (static_cast<Answering*>(self)->plans_.size() == 1) sink->take(Progress{done, total});
      return sink->is_wanted() ? 0 : 1;
    };
    options.progress_user = this;
    options.spell_controls = form_.tools || form_.thoughts;
    if (question_.echoes && question_.top_logprobs && number % question_.n == 0)
      options.set_prompt_logprobs(*question_.top_logprobs);
    choices_[number] = std::make_unique<Choice>(Choice{AnswerReader(number, form_)});
    Choice& choice = *choices_[number];
    choice.mask.emplace(model_.engine(), constraint_of(number), thought_limit(), form_.is_thinking);
    if (choice.mask->is_needed()) {
      options.mask = AnswerMask::hook;
      options.draft = AnswerMask::draft_hook;
      options.mask_user = options.draft_user = &*choice.mask;
    }
    choice.opened.emplace(plan.prompt, options);
  } catch (const promptcache::Error& error) {
    if (error.status() == PC_BUDGET) throw;
    if (error.status() == PC_CONTEXT_FULL && !question_.of_schema)
      throw ApiError::too_long({plan_of(number).prompt.tokens().size(), least_answer(),
                                model_.facts().engine.context_tokens},
                               question_.prompt_field());
    const bool is_repair = error.status() == PC_INVALID_ARGUMENT && !question_.repair.empty();
    throw ApiError::of(error, is_repair ? "repair" : question_.prompt_field());
  }

  // None: the answer may be anything.
  std::optional<constrain::Constraint> constraint_of(std::size_t number) {
    if (!grammar_) return std::nullopt;
    Result<constrain::Constraint> begun = model_.constrained(*grammar_);
    if (!begun.ok()) throw ApiError::bad_request(begun.error().message, question_.format.where);
    if (number == 0)
      for (const constrain::LeftOut& one : begun->left_out())
        usage_.reuse.remarks.push_back(one.text() + " is not enforced");
    return std::move(begun).value();
  }

  std::uint32_t least_answer() const { return question_.sampling.max_tokens == 0 ? 0 : 1; }

  std::optional<ThoughtLimit> thought_limit() const {
    if (!form_.thoughts || !question_.thought_budget) return std::nullopt;
    return ThoughtLimit{*question_.thought_budget,
                        model_.engine().tokenize(form_.thoughts->close, PC_TEXT_CONTROLS)};
  }

  // The next token of those of these answers that are not over, if there are any.
  bool step(std::uint32_t begin, std::uint32_t end) {
    std::vector<promptcache::Session*> sessions;
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = begin; i < end; ++i) {
      if (choices_[i]->is_over) continue;
      sessions.push_back(&choices_[i]->session());
      numbers.push_back(i);
    }
    if (sessions.empty()) return false;
    const auto tokens = promptcache::batch_step(sessions);
    for (std::size_t i = 0; i < tokens.size(); ++i) take(numbers[i], tokens[i]);
    return true;
  }

  void take(std::uint32_t number, const promptcache::BatchToken& step) {
    Choice& choice = *choices_[number];
    if (step.status == PC_PENDING) return;
    if (step.status != PC_OK && step.status != PC_DONE) {
      pc_error error{};
      step.error.copy(error.message, sizeof error.message - 1);
      throw promptcache::Error(step.status, error);
    }
    if (!choice.is_told) begin(number);
    choice.is_told = true;
    const std::string_view text(step.token.text, step.token.text_bytes);
    std::vector<DrawnToken> tokens;
    if (step.status == PC_OK) {
      n_thought_ += choice.reader.is_thinking() ? 1 : 0;
      if (question_.top_logprobs || question_.tells_tokens) tokens.push_back(drawn(choice));
    } else if (is_raw() && question_.top_logprobs && choice.stats().end_token >= 0) {
      tokens.push_back(end_of(model_.engine(), choice.session(), *question_.top_logprobs));
    }
    choice.reader.push(text, std::move(tokens), sink_);
    if (step.status == PC_OK) choice.mask->accept(step.token.id, choice.reader.is_thinking());
    if (step.status == PC_DONE)
      end(choice, static_cast<pc_finish>(choice.stats().finish));
    else if (question_.one_call && choice.reader.has_whole_call())
      end(choice, PC_FINISH_EOS);
  }

  void end(Choice& choice, pc_finish how) {
    choice.is_over = true;
    const pc_session_stats stats = choice.stats();
    choice.reader.finish(
        how, how == PC_FINISH_STOP ? stop_of(choice) : "",
        {stats.prompt_tokens, stats.cached_tokens - stats.encoded_tokens, stats.generated_tokens},
        sink_);
  }

  std::string stop_of(const Choice& choice) const {
    const std::int32_t stop = choice.stats().stop;
    return stop < 0 ? "" : question_.sampling.stop[static_cast<std::size_t>(stop)];
  }

  DrawnToken drawn(Choice& choice) const {
    DrawnToken drawn{.token = shown(model_.engine(), choice.session().logprob())};
    drawn.is_apart = model_.engine().token(drawn.token.id).is_control != 0;
    for (const pc_token_logprob& top :
         choice.session().top_logprobs(question_.top_logprobs.value_or(0)))
      drawn.top.push_back(shown(model_.engine(), top));
    return drawn;
  }

  const ServedModel& model_;
  const Question& question_;
  EventSink* const sink_;
  const std::vector<Plan> plans_;
  const AnswerForm form_;
  std::optional<constrain::Grammar> grammar_;
  std::vector<const char*> stop_;
  std::vector<std::unique_ptr<Choice>> choices_;   // by number; null: not opened yet
  std::vector<std::optional<PromptEcho>> echoes_;  // of each prompt
  Usage usage_;
  std::uint64_t n_thought_ = 0;  // tokens
};

constexpr const char* kApart =
    "the store may hold less (--cache-size) than a part of this prompt takes: nothing of it was "
    "reused, and nothing is kept";

Question apart_from_store(Question question) {
  question.mode = Mode::kOff;
  return question;
}

}  // namespace

void answer(const ServedModel& model, Planner& planner, const Question& question, EventSink* sink) {
  std::optional<Question> apart;
  std::optional<Answering> answering;
  const std::optional<ApiError> failure = failure_of([&] {
    bool is_accepted = false;
    const auto prefill = [&](const Question& asked) {
      answering.emplace(model, planner, asked, sink);
      answering->open();
      if (!std::exchange(is_accepted, true)) sink->take(Accepted{});
      answering->prefill_first();
    };
    try {
      prefill(question);
    } catch (const promptcache::Error& error) {
      if (error.status() != PC_BUDGET || question.mode == Mode::kOff || question.of_schema) throw;
      prefill(apart.emplace(apart_from_store(question)));
      answering->remark(kApart);
    }
    answering->answer();
  });
  if (failure) return sink->take(Failed{*failure});
  if (!answering) return;
  const auto kept = failure_of([&] { answering->keep(); });
  if (!kept) sink->take(Ended{answering->usage()});
}

Usage prewarm(const ServedModel& model, Planner& planner, const Question& question) {
  Usage usage;
  const auto failure = failure_of([&] {
    Answering answering(model, planner, question, nullptr);
    answering.open();
    answering.prefill_first();
    answering.prefill_rest();
    answering.keep();
    usage = answering.usage();
  });
  if (failure) throw *failure;
  return usage;
}

}  // namespace pc::serve
