// Calls on prompts and sessions.

#include <array>
#include <cstdint>
#include <string>

#include "tests/runtime/api/memory_world.h"

namespace pc::test {
namespace {

// A prompt's prefill, and its answer.
void prefill(Attempt& a, const pc_prompt* prompt, const pc_session_options& o) {
  const Session session(
      made<pc_session*>([&](auto* s, auto* x) { return pc_session_open(prompt, &o, s, x); }));
  a.call([&](pc_error* x) { return pc_session_prefill(session.get(), x); });
  a.answer(tokens_of(session.get()));
}

std::function<Scenario()> prefill_repaired(const char* repair) {
  return in_world([repair](World& w, Attempt& a) {
    pc_session_options o = session_options();
    o.repair = repair;
    prefill(a, w.prompt.get(), o);
  });
}

// A call behind a token that was drawn, and what comes next.
template <class F>
std::function<Scenario()> on_session(F f, int n_drawn = 1) {
  return in_world([f, n_drawn](World& w, Attempt& a) {
    const Session session = w.session(n_drawn);
    f(session.get(), a);
    a.answer(tokens_of(session.get()));
  });
}

// What a step gives both sessions until one is over.
void step_batch(const World& w, Attempt& a, int n_drawn) {
  const Session one = w.session(n_drawn);
  const Prompt other = parse_prompt(w.schema.get(), "<prompt schema='s'><a/>Why?</prompt>");
  const Session two = open_session(other.get());
  const std::array sessions{one.get(), two.get()};
  std::array<pc_token, 2> tokens{};
  std::array<pc_error, 2> outcomes{};
  std::array<std::string, 2> texts;
  const auto step = [&](pc_error* x) {
    const pc_status status = pc_batch_step(sessions.data(), 2, tokens.data(), outcomes.data(), x);
    for (std::size_t i = 0; status == PC_OK && i < 2; ++i) {
      if (outcomes[i].status == PC_OK) texts[i] += std::to_string(tokens[i].id) + " ";
      if (outcomes[i].status != PC_OK && outcomes[i].status != PC_OUT_OF_MEMORY &&
          outcomes[i].status != PC_DONE && outcomes[i].status != PC_PENDING)
        a.fail(outcomes[i].message);
    }
    return status;
  };
  a.call(step);
  for (std::size_t i = 0; i < 2; ++i) a.answer(texts[i] + tokens_of(sessions[i]));
}

}  // namespace

std::vector<Row> prompt_rows() {
  return {
      {"pc_prompt_parse", in_world([](World& w, Attempt& a) {
         w.load();
         const Prompt prompt(a.make<pc_prompt>([&](pc_prompt** p, pc_error* x) {
           return pc_prompt_parse(w.schema.get(), kPrompt, PC_NUL_TERMINATED, p, x);
         }));
         a.answer(tokens_of(open_session(prompt.get()).get()));
       })},
      {"pc_prompt_parse, of an unknown module", in_world([](World& w, Attempt& a) {
         pc_prompt* prompt = nullptr;
         a.call(
             [&](pc_error* x) {
               return pc_prompt_parse(w.schema.get(), "<prompt schema='s'><trap/></prompt>",
                                      PC_NUL_TERMINATED, &prompt, x);
             },
             PC_PML_SEMANTIC);
       })},
      {"pc_prompt_from_messages", in_world([](World& w, Attempt& a) {
         const pc_argument argument{"days", "two days", PC_NUL_TERMINATED};
         const std::array parts{pc_part{nullptr, 0, "trip", &argument, 1},
                                pc_part{"Where to?", PC_NUL_TERMINATED, nullptr, nullptr, 0}};
         const pc_message message{"user", nullptr, 0, parts.data(), parts.size()};
         const Prompt prompt(a.make<pc_prompt>([&](pc_prompt** p, pc_error* x) {
           return pc_prompt_from_messages(w.schema.get(), &message, 1, p, x);
         }));
         a.answer(tokens_of(open_session(prompt.get()).get()));
       })},
      {"pc_prompt_from_text", in_world([](World& w, Attempt& a) {
         const Prompt prompt(a.make<pc_prompt>([&](pc_prompt** p, pc_error* x) {
           return pc_prompt_from_text(w.schema.get(), "Where is it?", PC_NUL_TERMINATED, p, x);
         }));
         a.answer(tokens_of(open_session(prompt.get()).get()));
       })},
      {"pc_prompt_from_raw_text and pc_prompt_from_tokens", in_world([](World& w, Attempt& a) {
         const Prompt text(a.make<pc_prompt>([&](pc_prompt** p, pc_error* x) {
           return pc_prompt_from_raw_text(w.schema.get(), "Where</s> is it?", PC_NUL_TERMINATED,
                                          PC_TEXT_CONTROLS | PC_TEXT_BOS, p, x);
         }));
         a.answer(tokens_of(open_session(text.get()).get()));
         const std::array<std::int32_t, 3> ids{5, 2, 7};
         const Prompt tokens(a.make<pc_prompt>([&](pc_prompt** p, pc_error* x) {
           return pc_prompt_from_tokens(w.schema.get(), ids.data(), ids.size(), p, x);
         }));
         a.answer(tokens_of(open_session(tokens.get()).get()));
       })},
      {"pc_prompt_from_chat", in_world([](World& w, Attempt& a) {
         const char* const json =
             R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "A page <s> of text.",
                 "module": true}, {"type": "text", "text": "Where is it?"}]}]})";
         a.answer(a.text([&](char** text, pc_error* x) {
           return pc_chat_render(w.engine.get(), json, PC_NUL_TERMINATED, text, nullptr, x);
         }));
         const Engine view(a.make<pc_engine>([&](pc_engine** e, pc_error* x) {
           return pc_engine_in_namespace(w.engine.get(), "ann", e, x);
         }));
         if (!view) return;
         const Prompt prompt(a.make<pc_prompt>([&](pc_prompt** p, pc_error* x) {
           return pc_prompt_from_chat(view.get(), json, PC_NUL_TERMINATED, p, x);
         }));
         a.answer(tokens_of(open_session(prompt.get()).get()));
       })},
      {"pc_chat_write and pc_chat_prompt", in_world([](World& w, Attempt& a) {
         const pc_chat_part part = {"A page <s> of text.", PC_NUL_TERMINATED, PC_CHAT_MODULE};
         const pc_chat_message message = {"user", PC_CONTENT_PARTS,     &part,
                                          1,      R"({"name": "Ann"})", PC_NUL_TERMINATED};
         const std::unique_ptr<pc_chat, decltype(&pc_chat_close)> chat(
             a.make<pc_chat>([&](pc_chat** c, pc_error* x) {
               return pc_chat_write(w.engine.get(), &message, 1, nullptr, c, x);
             }),
             pc_chat_close);
         if (!chat) return;
         a.answer(a.text(
             [&](char** text, pc_error* x) { return pc_chat_text(chat.get(), text, nullptr, x); }));
         const Prompt prompt(a.make<pc_prompt>([&](pc_prompt** p, pc_error* x) {
           return pc_chat_prompt(chat.get(), PC_CHAT_MODULES_APART, p, x);
         }));
         a.answer(tokens_of(open_session(prompt.get()).get()));
       })},
      {"pc_prompt_remarks", in_world([](World& w, Attempt& a) {
         const Prompt prompt =
             parse_prompt(w.schema.get(), "<prompt schema='s'>First <b/> and <a/></prompt>");
         a.answer(a.text(
             [&](char** text, pc_error* x) { return pc_prompt_remarks(prompt.get(), text, x); }));
       })},
      {"pc_prompt_encode", in_world([](World& w, Attempt& a) {
         w.forget();
         pc_encode_stats stats{};
         stats.struct_size = sizeof stats;
         const auto go_on = [](void*, std::uint32_t, std::uint32_t, const char*) { return 0; };
         a.call([&](pc_error* x) {
           return pc_prompt_encode(w.prompt.get(), go_on, nullptr, &stats, x);
         });
         a.answer(tokens_of(w.session().get()));
       }),
       2},
      {"pc_prompt_encode_together", in_world([](World& w, Attempt& a) {
         w.forget();
         pc_encode_stats stats{};
         stats.struct_size = sizeof stats;
         a.call([&](pc_error* x) {
           return pc_prompt_encode_together(w.prompt.get(), nullptr, nullptr, &stats, x);
         });
         a.answer(tokens_of(w.session().get()));
       }),
       2},
      {"pc_prompt_prefetch", in_world([](World& w, Attempt& a) {
         w.load();
         must([&](auto* x) { return pc_engine_trim(w.engine.get(), nullptr, x); });
         a.call([&](pc_error* x) { return pc_prompt_prefetch(w.prompt.get(), x); });
         a.answer(tokens_of(w.session().get()));
       })},
      {"pc_prompt_pin", in_world([](World& w, Attempt& a) {
         w.forget();
         const Pin pin(a.make<pc_pin>([&](pc_pin** p, pc_error* x) {
           return pc_prompt_pin(w.prompt.get(), nullptr, nullptr, p, x);
         }));
         a.answer(tokens_of(w.session().get()));
       }),
       2},
      {"pc_pin_close", in_world([](World& w, Attempt& a) {
         pc_pin* const pin = made<pc_pin*>([&](auto* p, auto* x) {
           return pc_prompt_pin(w.prompt.get(), nullptr, nullptr, p, x);
         });
         a.run([&] { pc_pin_close(pin); });
       })},
      {"pc_prompt_get_counts", in_world([](World& w, Attempt& a) {
         w.load();
         pc_prompt_counts counts{};
         counts.struct_size = sizeof counts;
         a.call([&](pc_error* x) { return pc_prompt_get_counts(w.prompt.get(), &counts, x); });
         a.answer(std::to_string(counts.module_tokens) + " " + std::to_string(counts.modules));
       })},
      {"pc_prompt_explain", in_world([](World& w, Attempt& a) {
         w.load();
         a.answer(a.text(
             [&](char** json, pc_error* x) { return pc_prompt_explain(w.prompt.get(), json, x); }));
       })},
      {"pc_prompt_close", in_world([](World& w, Attempt& a) {
         w.load();
         a.run([&] { pc_prompt_close(w.prompt.release()); });
       })},
  };
}

std::vector<Row> session_rows() {
  return {
      {"pc_session_open", in_world([](World& w, Attempt& a) {
         pc_session_options o = session_options();
         const char* const stops[] = {"a stop that is no short text", "\n\n"};
         const pc_token_bias bias{5, -1.0f};
         o.stop = stops;
         o.n_stop = 2;
         o.bias = &bias;
         o.n_bias = 1;
         o.client = "a client whose name is long enough";
         o.repair = "leading:2";
         const Session session(a.make<pc_session>([&](pc_session** s, pc_error* x) {
           return pc_session_open(w.prompt.get(), &o, s, x);
         }));
         a.answer(tokens_of(session.get()));
       })},
      {"pc_session_open, beyond the window", in_world([](World& w, Attempt& a) {
         pc_session_options o = session_options();
         o.max_tokens = 100'000;
         pc_session* session = nullptr;
         a.call([&](pc_error* x) { return pc_session_open(w.prompt.get(), &o, &session, x); },
                PC_CONTEXT_FULL);
       })},
      {"pc_session_prefill", in_world([](World& w, Attempt& a) {
         w.load();
         must([&](auto* x) { return pc_engine_trim(w.engine.get(), nullptr, x); });
         prefill(a, w.prompt.get(), session_options());
       })},
      {"pc_session_prefill, encoding", in_world([](World& w, Attempt& a) {
         w.forget();
         prefill(a, w.prompt.get(), session_options());
       }),
       2},
      {"pc_session_prefill, without reuse", in_world([](World& w, Attempt& a) {
         pc_session_options o = session_options();
         o.no_reuse = 1;
         prefill(a, w.prompt.get(), o);
       })},
      {"pc_session_prefill, repair leading", prefill_repaired("leading:2")},
      {"pc_session_prefill, repair attended", prefill_repaired("attended:30%")},
      {"pc_session_prefill, repair selected", prefill_repaired("selected:30%")},
      {"pc_session_next", on_session(
                              [](pc_session* session, Attempt& a) {
                                pc_token token{};
                                a.call([&](pc_error* x) {
                                  return pc_session_next(session, &token, x);
                                });
                                a.answer(std::to_string(token.id));
                              },
                              0)},
      {"pc_session_next, of a second token", on_session([](pc_session* session, Attempt& a) {
         pc_token token{};
         a.call([&](pc_error* x) { return pc_session_next(session, &token, x); });
         a.answer(std::to_string(token.id));
       })},
      {"pc_batch_step", in_world([](World& w, Attempt& a) { step_batch(w, a, 0); })},
      {"pc_batch_step, decoding", in_world([](World& w, Attempt& a) { step_batch(w, a, 1); })},
      {"pc_session_logits", on_session([](pc_session* session, Attempt& a) {
         const float* logits = nullptr;
         std::size_t n = 0;
         a.call([&](pc_error* x) { return pc_session_logits(session, &logits, &n, x); });
         a.answer(std::to_string(n));
       })},
      {"pc_session_logprobs", on_session([](pc_session* session, Attempt& a) {
         pc_token_logprob drawn{};
         std::array<pc_token_logprob, 5> top{};
         a.call([&](pc_error* x) {
           return pc_session_logprobs(session, &drawn, top.data(), top.size(), x);
         });
         for (const auto& t : top) a.answer(std::to_string(t.token));
       })},
      {"pc_session_append", on_session([](pc_session* session, Attempt& a) {
         const pc_message message{"user", "And when does it go?", PC_NUL_TERMINATED, nullptr, 0};
         a.call([&](pc_error* x) { return pc_session_append(session, &message, 1, x); });
       })},
      {"pc_session_append_pml", in_world([](World& w, Attempt& a) {
         // An answer whose text shares no token with what closes its turn.
         std::array<std::int32_t, 4> tokens{};
         std::size_t n = 0;
         must([&](auto* x) {
           return pc_tokenize(w.engine.get(), "x", PC_NUL_TERMINATED, tokens.data(), tokens.size(),
                              &n, x);
         });
         const pc_token_bias bias{tokens[n - 1], 1e4f};
         pc_session_options o = session_options();
         o.bias = &bias;
         o.n_bias = 1;
         const Session session(made<pc_session*>(
             [&](auto* s, auto* x) { return pc_session_open(w.prompt.get(), &o, s, x); }));
         next_token(session.get());
         a.call([&](pc_error* x) {
           return pc_session_append_pml(session.get(),
                                        "<prompt schema='s'><user>And <c/> then?</user></prompt>",
                                        PC_NUL_TERMINATED, x);
         });
         a.answer(tokens_of(session.get()));
         pc_session_stats stats{};
         stats.struct_size = sizeof stats;
         pc_session_get_stats(session.get(), &stats);
         a.answer(std::to_string(stats.prompt_tokens) + " " + std::to_string(stats.cached_tokens));
       })},
      {"pc_session_append_text", on_session([](pc_session* session, Attempt& a) {
         a.call([&](pc_error* x) {
           return pc_session_append_text(session, "It is late, and", PC_NUL_TERMINATED, x);
         });
       })},
      {"pc_session_append_tokens", on_session([](pc_session* session, Attempt& a) {
         const std::array<std::int32_t, 3> tokens{40, 41, 42};
         a.call([&](pc_error* x) {
           return pc_session_append_tokens(session, tokens.data(), tokens.size(), x);
         });
       })},
      {"pc_session_fork", on_session([](pc_session* session, Attempt& a) {
         const Session fork(a.make<pc_session>(
             [&](pc_session** s, pc_error* x) { return pc_session_fork(session, s, x); }));
         a.answer(tokens_of(fork.get()));
       })},
      {"pc_session_set_answer", on_session([](pc_session* session, Attempt& a) {
         pc_session_options o = session_options();
         o.repetition_penalty = 1.5f;
         const char* const stop = "never";
         o.stop = &stop;
         o.n_stop = 1;
         a.call([&](pc_error* x) { return pc_session_set_answer(session, &o, x); });
         const pc_message message{"user", "And then?", PC_NUL_TERMINATED, nullptr, 0};
         a.call([&](pc_error* x) { return pc_session_append(session, &message, 1, x); });
       })},
      {"pc_session_set_answer, of an answer that is not begun",
       on_session(
           [](pc_session* session, Attempt& a) {
             pc_session_options o = session_options();
             o.presence_penalty = 0.5f;
             a.call([&](pc_error* x) { return pc_session_set_answer(session, &o, x); });
           },
           0)},
      {"pc_session_position", on_session([](pc_session* session, Attempt& a) {
         std::uint32_t position = 0;
         a.call([&](pc_error* x) { return pc_session_position(session, &position, x); });
         a.answer(std::to_string(position));
       })},
      {"pc_session_rewind",
       on_session(
           [](pc_session* session, Attempt& a) {
             const auto end = made<std::uint32_t>(
                 [&](auto* p, auto* x) { return pc_session_position(session, p, x); });
             a.call([&](pc_error* x) { return pc_session_rewind(session, end - 1, x); });
           },
           3)},
      {"pc_session_rewind, into an earlier answer",
       on_session(
           [](pc_session* session, Attempt& a) {
             const auto end = made<std::uint32_t>(
                 [&](auto* p, auto* x) { return pc_session_position(session, p, x); });
             const pc_message message{"user", "And then?", PC_NUL_TERMINATED, nullptr, 0};
             must([&](auto* x) { return pc_session_append(session, &message, 1, x); });
             next_token(session);
             a.call([&](pc_error* x) { return pc_session_rewind(session, end - 1, x); });
           },
           3)},
      {"pc_session_keep", in_world([](World& w, Attempt& a) {
         w.forget();
         const Session session = w.session();
         a.answer(tokens_of(session.get()));
         std::uint64_t n = 0;
         a.call([&](pc_error* x) { return pc_session_keep(session.get(), &n, x); });
         a.answer(std::to_string(n));
         a.answer(tokens_of(w.session().get()));
       }),
       2},
      {"pc_session_get_stats", on_session([](pc_session* session, Attempt& a) {
         pc_session_stats stats{};
         stats.struct_size = sizeof stats;
         a.run([&] { pc_session_get_stats(session, &stats); });
         a.answer(std::to_string(stats.prompt_tokens));
       })},
      {"pc_session_cancel and pc_session_close", in_world([](World& w, Attempt& a) {
         Session session = w.session(2);
         a.run([&] {
           pc_session_cancel(session.get());
           pc_session_close(session.release());
         });
       })},
  };
}

}  // namespace pc::test
