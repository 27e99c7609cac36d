// The C API's calls on a session.

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_messages.h"
#include "runtime/api/c_api_support.h"
#include "runtime/session/session.h"

static_assert(PC_FINISH_CANCELLED == static_cast<int>(pc::Finish::kCancelled));

struct pc_session {
  explicit pc_session(std::unique_ptr<pc::Session> made) : session(std::move(made)) {
    session->set_owner(this);
  }
  std::unique_ptr<pc::Session> session;
};

namespace {

using pc::Code;
using pc::Status;
using namespace pc::capi;

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

pc::Result<pc::SessionOptions> session_options(const pc_session_options* given,
                                               const pc::Engine& engine) {
  PC_TRY(const pc_session_options o, read_options(given));
  if (!o.stop && o.n_stop != 0) return null_argument("stop");
  if (!o.bias && o.n_bias != 0) return null_argument("bias");
  PC_CHECK_OK(check_given(o.given, PC_GIVEN_MAX_TOKENS | PC_GIVEN_TOP_P |
                                       PC_GIVEN_REPETITION_PENALTY | PC_GIVEN_PROMPT_LOGPROBS |
                                       PC_GIVEN_MAX_DRAFT));
  const auto is_given = [&o](auto value, pc_session_given bit) {
    return value != 0 || (o.given & bit) != 0;
  };
  pc::SessionOptions options;
  if (is_given(o.max_tokens, PC_GIVEN_MAX_TOKENS)) options.max_tokens = o.max_tokens;
  options.cut_to_window = o.cut_to_window != 0;
  if (o.overflow > PC_OVERFLOW_SLIDE)
    return pc::error(pc::Code::kUnsupported,
                     "overflow " + std::to_string(o.overflow) + " is none that this version knows");
  options.overflow = static_cast<pc::Overflow>(o.overflow);
  options.no_reuse = o.no_reuse != 0;
  options.moves = o.moves != 0;
  options.sampler.temperature = o.temperature;
  options.sampler.top_k = o.top_k;
  if (is_given(o.top_p, PC_GIVEN_TOP_P)) options.sampler.top_p = o.top_p;
  options.sampler.min_p = o.min_p;
  if (is_given(o.repetition_penalty, PC_GIVEN_REPETITION_PENALTY))
    options.sampler.repetition_penalty = o.repetition_penalty;
  options.sampler.presence_penalty = o.presence_penalty;
  options.sampler.frequency_penalty = o.frequency_penalty;
  for (std::size_t i = 0; i < o.n_bias; ++i)
    options.sampler.bias.push_back({o.bias[i].token, o.bias[i].bias});
  if (o.mask) {
    options.mask = [mask = o.mask, user = o.mask_user](std::span<std::uint32_t> allowed,
                                                       const pc::DrawPlace& at) {
      return mask(user, static_cast<const pc_session*>(at.owner),
                  static_cast<std::uint32_t>(at.position), allowed.data(), allowed.size()) == 0;
    };
  }
  if (o.constraint) {
    if (o.constraint->engine.get() != &engine)
      return pc::error(Code::kMismatch, "the constraint is of another engine than the prompt");
    options.constraint = o.constraint->begin;
  }
  if (o.progress) {
    options.progress = [progress = o.progress, user = o.progress_user](std::uint64_t done,
                                                                       std::uint64_t total) {
      return progress(user, done, total) == 0;
    };
  }
  if (is_given(o.prompt_logprobs, PC_GIVEN_PROMPT_LOGPROBS))
    options.scoring = pc::PromptScoring{o.prompt_logprobs, o.prompt_logprobs_from};
  if (is_given(o.max_draft, PC_GIVEN_MAX_DRAFT)) options.max_draft = o.max_draft;
  if (o.draft) {
    options.draft = [draft = o.draft, user = o.draft_user](pc::Tokens* next, std::size_t most) {
      next->resize(most);
      next->resize(std::min(most, draft(user, next->data(), most)));
    };
  }
  options.client = string_or_empty(o.client);
  if (o.spell_controls) options.controls = pc::Tokenizer::Controls::kSpell;
  if (o.repair) {
    PC_TRY(options.repair, pc::pml::parse_repair(o.repair));
  }
  options.sampler.seed = o.seed == PC_SEED_RANDOM ? random_seed() : o.seed;
  for (std::size_t i = 0; i < o.n_stop; ++i) options.stop.push_back(string_or_empty(o.stop[i]));
  return options;
}

// Sessions of one engine, each once.
pc::Result<std::vector<pc::Session*>> read_batch(std::span<pc_session* const> sessions) {
  std::vector<pc::Session*> read;
  read.reserve(sessions.size());
  for (const pc_session* session : sessions) {
    if (!session) return null_argument("a session of the batch");
    read.push_back(session->session.get());
    if (&read.back()->opened_with() != &read.front()->opened_with())
      return pc::error(Code::kInvalidArgument, "the sessions of a batch are of two engines");
  }
  std::vector<pc::Session*> sorted = read;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    return pc::error(Code::kInvalidArgument, "a session stands twice in a batch");
  return read;
}

// What a step of a batch gave one session.
void give_next(const pc::Session& session, const pc::Session::Next& next, pc_token* token,
               pc_error* outcome) {
  *outcome = {};
  *token = {-1, "", 0};
  if (!next) {
    outcome->status = PC_PENDING;
  } else if (!next->ok()) {
    const pc::Error& error = next->error();
    report(error.code, error.message, error.line, error.column, outcome);
  } else {
    if (!next->value()) outcome->status = PC_DONE;
    *token = {next->value().value_or(-1), session.text().c_str(), session.text().size()};
  }
}

pc_session_stats session_stats(const pc::Session& session) {
  const pc::SessionStats& s = session.stats();
  pc_session_stats stats{};
  stats.prompt_tokens = s.prompt_tokens;
  stats.cached_tokens = s.cached_tokens;
  stats.computed_tokens = s.computed_tokens;
  stats.generated_tokens = s.generated_tokens;
  stats.modules_found = s.modules_found;
  stats.modules_encoded = s.modules_encoded;
  stats.cached_bytes = s.cached_bytes;
  stats.plan_us = s.plan_us;
  stats.lookup_us = s.lookup_us;
  stats.encode_us = s.encode_us;
  stats.prefill_us = s.prefill_us;
  stats.ttft_us = s.ttft_us;
  stats.decode_us = s.decode_us;
  stats.finish = static_cast<std::uint32_t>(s.finish);
  stats.fell_back = session.fell_back();
  stats.chained_tokens = s.chained_tokens;
  stats.repaired_tokens = s.repaired_tokens;
  stats.stop = s.stop;
  stats.end_token = s.end_token;
  stats.encoded_tokens = s.encoded_tokens;
  stats.drafted_tokens = s.drafted_tokens;
  stats.right_drafts = s.right_drafts;
  stats.dropped_tokens = s.dropped_tokens;
  stats.dropped_turns = s.dropped_turns;
  stats.moved_tokens = s.moved_tokens;
  return stats;
}

}  // namespace

extern "C" {

void pc_session_options_init(pc_session_options* options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof *options;
}

pc_status pc_session_open(const pc_prompt* prompt, const pc_session_options* options,
                          pc_session** session, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_REQUIRE(session);
    PC_TRY(const pc::SessionOptions asked,
           session_options(options, prompt->prompt->schema->engine()));
    PC_TRY(auto opened, pc::Session::open(prompt->prompt, asked));
    *session = new pc_session(std::move(opened));
    return pc::ok();
  });
}

void pc_session_close(pc_session* session) {
  delete session;
}

pc_status pc_session_prefill(pc_session* session, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    return session->session->prefill();
  });
}

pc_status pc_session_next(pc_session* session, pc_token* token, pc_error* error) {
  bool over = false;
  const pc_status status = guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(token);
    PC_TRY(const std::optional<pc::TokenId> next, session->session->next());
    const std::string& text = session->session->text();
    *token = {next.value_or(-1), text.c_str(), text.size()};
    over = !next;
    return pc::ok();
  });
  return status == PC_OK && over ? PC_DONE : status;
}

pc_status pc_batch_step(pc_session* const* sessions, std::size_t n, pc_token* tokens,
                        pc_error* outcomes, pc_error* error) {
  return guarded(error, [&]() -> Status {
    if (n == 0) return pc::ok();
    PC_REQUIRE(sessions);
    PC_REQUIRE(tokens);
    PC_REQUIRE(outcomes);
    PC_TRY(const auto batch, read_batch({sessions, n}));
    const auto nexts = pc::Session::step(batch);
    for (std::size_t i = 0; i < n; ++i) give_next(*batch[i], nexts[i], &tokens[i], &outcomes[i]);
    return pc::ok();
  });
}

pc_status pc_session_logits(const pc_session* session, const float** logits, std::size_t* n,
                            pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(logits);
    PC_REQUIRE(n);
    const auto values = session->session->logits();
    if (values.empty())
      return pc::error(Code::kInvalidArgument,
                       "there are no logits before pc_session_prefill or pc_session_next");
    *logits = values.data();
    *n = values.size();
    return pc::ok();
  });
}

pc_status pc_session_logprobs(const pc_session* session, pc_token_logprob* drawn,
                              pc_token_logprob* top, std::size_t n, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(top || n == 0);
    const auto logits = session->session->logits();
    if (logits.empty() || n > logits.size())
      return pc::error(Code::kInvalidArgument,
                       logits.empty() ? "there are no logits before pc_session_prefill or "
                                        "pc_session_next"
                                      : "n is more than the vocabulary has tokens");
    if (drawn) {
      const auto token = session->session->drawn();
      if (!token) return pc::error(Code::kInvalidArgument, "no token was drawn from the logits");
      *drawn = {*token, pc::logprob_of(logits, *token)};
    }
    const auto likeliest = pc::top_logprobs(logits, n);
    for (std::size_t i = 0; i < n; ++i) top[i] = {likeliest[i].token, likeliest[i].logprob};
    return pc::ok();
  });
}

pc_status pc_session_prompt_logprobs(const pc_session* session, std::size_t index,
                                     pc_token_logprob* drawn, pc_token_logprob* top, std::size_t n,
                                     pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(top || n == 0);
    const auto none = [](std::string why) {
      return pc::error(Code::kInvalidArgument, std::move(why));
    };
    const pc::PromptScores* const scores = session->session->prompt_scores();
    if (!scores)
      return none(
          "nothing is known of the prompt's tokens: prompt_logprobs was not asked for, or "
          "the prompt is not computed yet (pc_session_prefill)");
    if (index < scores->first() || index >= scores->end())
      return none("token " + std::to_string(index) + " of the prompt has no likelihood: tokens " +
                  std::to_string(scores->first()) + " to " + std::to_string(scores->end()) +
                  ", the latter not included, were asked for and have one");
    const auto likeliest = scores->top(index);
    if (n > likeliest.size())
      return none("n is " + std::to_string(n) + ", but prompt_logprobs asked for " +
                  std::to_string(likeliest.size()));
    if (drawn) *drawn = {scores->of(index).token, scores->of(index).logprob};
    for (std::size_t i = 0; i < n; ++i) top[i] = {likeliest[i].token, likeliest[i].logprob};
    return pc::ok();
  });
}

pc_status pc_session_set_answer(pc_session* session, const pc_session_options* options,
                                pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_TRY(const pc::SessionOptions asked,
           session_options(options, session->session->opened_with()));
    return session->session->set_answer(asked);
  });
}

pc_status pc_session_append(pc_session* session, const pc_message* messages, std::size_t n,
                            pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(messages || n == 0);
    PC_TRY(const auto read, read_messages(messages, n));
    PC_TRY(pc::pml::Prompt turns, pc::pml::prompt_of("", read));
    return session->session->append(std::move(turns.children));
  });
}

pc_status pc_session_append_pml(pc_session* session, const char* pml, std::size_t bytes,
                                pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(pml);
    return session->session->append_pml(view_of(pml, bytes));
  });
}

pc_status pc_session_append_text(pc_session* session, const char* text, std::size_t bytes,
                                 pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(text);
    return session->session->append_text(view_of(text, bytes));
  });
}

pc_status pc_session_append_tokens(pc_session* session, const std::int32_t* tokens, std::size_t n,
                                   pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(tokens || n == 0);
    return session->session->append_tokens({tokens, n});
  });
}

pc_status pc_session_fork(const pc_session* session, pc_session** fork, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(fork);
    PC_TRY(auto forked, session->session->fork());
    *fork = new pc_session(std::move(forked));
    return pc::ok();
  });
}

pc_status pc_session_position(const pc_session* session, std::uint32_t* position, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_REQUIRE(position);
    *position = static_cast<std::uint32_t>(session->session->position());
    return pc::ok();
  });
}

pc_status pc_session_rewind(pc_session* session, std::uint32_t position, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    constexpr std::uint32_t kLast = std::numeric_limits<pc::Position>::max();
    return session->session->rewind(static_cast<pc::Position>(std::min(position, kLast)));
  });
}

pc_status pc_session_keep(pc_session* session, std::uint64_t* n_tokens, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(session);
    PC_TRY(const std::uint64_t n, session->session->keep());
    if (n_tokens) *n_tokens = n;
    return pc::ok();
  });
}

void pc_session_cancel(pc_session* session) {
  if (session) session->session->cancel();
}

void pc_session_get_stats(const pc_session* session, pc_session_stats* stats) {
  if (session && stats) write_stats(session_stats(*session->session), stats);
}

}  // extern "C"
