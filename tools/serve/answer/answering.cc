#include "tools/serve/answer/answering.h"

#include <algorithm>
#include <list>
#include <optional>

#include "tools/serve/answer/answer_grammar.h"
#include "tools/serve/answer/answer_mask.h"
#include "tools/serve/answer/answer_reader.h"
#include "tools/serve/request/failure_of.h"

namespace pc::serve {
namespace {

// One of the answers to a question.
struct Choice {
  AnswerReader reader;
  std::optional<AnswerMask> mask = {};              // which the session asks
  std::optional<promptcache::Session> opened = {};  // always, once it is complete
  promptcache::Session& session() { return *opened; }
  const promptcache::Session& session() const { return *opened; }

  bool is_over = false;
};

class Answering {
 public:
  // sink: null where nobody waits for the answer
  Answering(const ServedModel& model, Planner& planner, const Question& question, EventSink* sink)
      : model_(model),
        question_(question),
        sink_(sink),
        plan_(planner.plan(question, true)),
        form_(form_of(question, model)) {
    usage_.reuse = {plan_.mode, plan_.parts, plan_.remarks};
    grammar_ = answer_grammar(question, model);
    for (const std::string& stop : question.sampling.stop) stop_.push_back(stop.c_str());
  }

  void prefill() {
    add_choice();
    if (sink_) sink_->take(Accepted{});
    choices_.front().session().prefill();
    const pc_session_stats stats = choices_.front().session().stats();
    usage_.prompt_tokens = stats.prompt_tokens;
    usage_.cached_tokens = stats.cached_tokens - stats.encoded_tokens;
    usage_.written_tokens = stats.encoded_tokens;
    usage_.chained_tokens = stats.chained_tokens;
    usage_.repaired_tokens = stats.repaired_tokens;
    usage_.modules = stats.modules_found;
    usage_.modules_encoded = stats.modules_encoded;
    usage_.prompt_us = stats.plan_us + stats.lookup_us + stats.encode_us + stats.prefill_us;
  }

  void answer() {
    sink_->take(Begun{usage_});
    if (question_.n > 1) keep();  // the others find it
    while (choices_.size() < question_.n) add_choice();
    if (question_.echoes)
      for (std::uint32_t i = 0; i < question_.n; ++i) sink_->take(Said{i, echo(), {}});
    while (step())
      if (!sink_->is_wanted()) throw Unwanted();
  }

  void keep() {
    if (question_.mode == Mode::kOff || !model_.facts().engine.store_in_use) return;
    try {
      for (Choice& choice : choices_) {
        const std::uint64_t kept = choice.session().keep();
        usage_.written_tokens =
            std::max(usage_.written_tokens, kept - std::min(kept, usage_.cached_tokens));
      }
    } catch (const promptcache::Error&) {
      // The store is full or cannot be written: the next request computes what it lacks.
    }
  }

  Usage usage() const {
    Usage usage = usage_;
    usage.thought_tokens = n_thought_;
    for (const Choice& choice : choices_) {
      const pc_session_stats stats = choice.session().stats();
      usage.generated_tokens += stats.generated_tokens;
      usage.decode_us = std::max(usage.decode_us, stats.decode_us);
      if (&choice == &choices_.front()) usage.first_token_us = stats.ttft_us;
    }
    return usage;
  }

 private:
  static AnswerForm form_of(const Question& question, const ServedModel& model) {
    AnswerForm form;
    if (!question.chat.is_null()) form.thoughts = model.thought_shape();
    form.is_thinking = model.opens_thought(question);
    const Json tools = question.chat["tools"];
    if (tools.is_null()) return form;
    if (!model.call_shape())
      throw ApiError::bad_request(
          "this model's chat template writes no calls of tools that could be read back; leave "
          "\"tools\" out",
          "tools");
    form.calls = model.call_shape();
    form.types = ToolTypes(tools);
    form.must_call = question.must_call();
    return form;
  }

  std::string echo() const {
    return question_.tokens.empty() ? question_.text : model_.text_of(question_.tokens);
  }

  // Throws where the prompt does not fit the context window.
  void add_choice() try {
    const Sampling& s = question_.sampling;
    promptcache::SessionOptions options;
    options.set_max_tokens(s.max_tokens.value_or(model_.facts().engine.context_tokens));
    options.cut_to_window = true;
    options.no_reuse = question_.mode == Mode::kOff;
    if (!plan_.exact) usage_.approximate_tokens = plan_.prompt.counts().approximate_tokens;
    options.repair = question_.repair.empty() ? nullptr : question_.repair.c_str();
    options.temperature = s.temperature;
    options.top_k = s.top_k;
    options.set_top_p(s.top_p);
    options.min_p = s.min_p;
    options.set_repetition_penalty(s.repetition_penalty);
    options.presence_penalty = s.presence_penalty;
    options.frequency_penalty = s.frequency_penalty;
    options.seed = s.seed == PC_SEED_RANDOM ? s.seed : s.seed + choices_.size();
    options.stop = stop_.data();
    options.n_stop = stop_.size();
    options.bias = s.bias.data();
    options.n_bias = s.bias.size();
    options.client = question_.client.c_str();
    options.progress = [](void* self, std::uint64_t done, std::uint64_t total) {
      EventSink* const sink = static_cast<Answering*>(self)->sink_;
      if (!sink) return 0;
      sink->take(Progress{done, total});
      return sink->is_wanted() ? 0 : 1;
    };
    options.progress_user = this;
    options.spell_controls = form_.calls || form_.thoughts;
    const auto number = static_cast<std::uint32_t>(choices_.size());
    Choice& choice = choices_.emplace_back(Choice{AnswerReader(number, form_)});
    std::optional<constrain::Constraint> constraint;
    if (grammar_) constraint = model_.constrained(*grammar_);
    if (constraint && number == 0)
      for (const constrain::LeftOut& one : constraint->left_out())
        usage_.reuse.remarks.push_back(one.text() + " is not enforced");
    choice.mask.emplace(std::move(constraint), thought_limit(), form_.is_thinking);
    if (choice.mask->is_needed()) {
      options.mask = AnswerMask::hook;
      options.mask_user = &*choice.mask;
    }
    choice.opened.emplace(plan_.prompt, options);
  } catch (const constrain::SchemaError& error) {
    throw ApiError::bad_request(error.what(), question_.format.where);
  } catch (const promptcache::Error& error) {
    const bool is_repair = error.status() == PC_INVALID_ARGUMENT && !question_.repair.empty();
    throw ApiError::of(error, is_repair ? "repair" : question_.prompt_field());
  }

  std::optional<ThoughtLimit> thought_limit() const {
    if (!form_.thoughts || !question_.thought_budget) return std::nullopt;
    return ThoughtLimit{*question_.thought_budget,
                        model_.engine().tokenize(form_.thoughts->close, PC_TEXT_CONTROLS)};
  }

  // The next token of all answers that are not over, if there are any.
  bool step() {
    std::vector<promptcache::Session*> sessions;
    std::vector<std::uint32_t> numbers;
    std::uint32_t number = 0;
    for (Choice& choice : choices_) {
      if (!choice.is_over) {
        sessions.push_back(&choice.session());
        numbers.push_back(number);
      }
      ++number;
    }
    if (sessions.empty()) return false;
    const auto tokens = promptcache::batch_step(sessions);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      take(*std::next(choices_.begin(), numbers[i]), tokens[i]);
    return true;
  }

  void take(Choice& choice, const promptcache::BatchToken& step) {
    if (step.status == PC_PENDING) return;
    if (step.status != PC_OK && step.status != PC_DONE) {
      pc_error error{};
      step.error.copy(error.message, sizeof error.message - 1);
      throw promptcache::Error(step.status, error);
    }
    const std::string_view text(step.token.text, step.token.text_bytes);
    std::vector<DrawnToken> tokens;
    if (step.status == PC_OK) {
      n_thought_ += choice.reader.is_thinking() ? 1 : 0;
      if (question_.top_logprobs) tokens.push_back(drawn(choice));
    }
    choice.reader.push(text, std::move(tokens), sink_);
    if (step.status == PC_OK) choice.mask->accept(step.token.id, choice.reader.is_thinking());
    if (step.status == PC_DONE)
      end(choice, static_cast<pc_finish>(choice.session().stats().finish));
    else if (question_.one_call && choice.reader.has_whole_call())
      end(choice, PC_FINISH_EOS);
  }

  void end(Choice& choice, pc_finish how) {
    choice.is_over = true;
    choice.reader.finish(how, how == PC_FINISH_STOP ? stop_of(choice) : "", sink_);
  }

  std::string stop_of(const Choice& choice) const {
    const std::int32_t stop = choice.session().stats().stop;
    return stop < 0 ? "" : question_.sampling.stop[static_cast<std::size_t>(stop)];
  }

  DrawnToken drawn(const Choice& choice) const {
    DrawnToken drawn{chance(choice.session().logprob()), {}};
    for (const pc_token_logprob& top : choice.session().top_logprobs(*question_.top_logprobs))
      drawn.top.push_back(chance(top));
    return drawn;
  }

  TokenChance chance(const pc_token_logprob& token) const {
    return {model_.engine().detokenize(&token.token, 1), token.logprob};
  }

  const ServedModel& model_;
  const Question& question_;
  EventSink* const sink_;
  const Plan plan_;
  const AnswerForm form_;
  std::optional<constrain::Grammar> grammar_;
  std::vector<const char*> stop_;
  std::list<Choice> choices_;
  Usage usage_;
  std::uint64_t n_thought_ = 0;  // tokens
};

}  // namespace

void answer(const ServedModel& model, Planner& planner, const Question& question, EventSink* sink) {
  std::optional<Answering> answering;
  const std::optional<ApiError> failure = failure_of([&] {
    answering.emplace(model, planner, question, sink);
    answering->prefill();
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
    answering.prefill();
    answering.keep();
    usage = answering.usage();
  });
  if (failure) throw *failure;
  return usage;
}

}  // namespace pc::serve
