// Calls that make constraints, and answers that are held to them.

#include <array>
#include <string>

#include "tests/runtime/api/memory_world.h"

namespace pc::test {
namespace {

using Constraint = std::unique_ptr<pc_constraint, Close<pc_constraint_close>>;

Constraint numbers(const World& w) {
  return Constraint(made<pc_constraint*>([&](auto* c, auto* x) {
    return pc_constraint_from_regex(w.engine.get(), "[0-9]{2}", PC_NUL_TERMINATED, c, x);
  }));
}

// Its answer where it was made.
void ask_held(const World& w, const pc_constraint* constraint, Attempt& a) {
  if (!constraint) return;
  pc_session_options o = session_options();
  o.constraint = constraint;
  const Session session(made<pc_session*>(
      [&](auto* s, auto* x) { return pc_session_open(w.prompt.get(), &o, s, x); }));
  a.answer(tokens_of(session.get()));
}

// One call on a session that is held to a constraint, n_drawn tokens into its answer; and the
// answer then.
template <class F>
std::function<Scenario()> on_held(int n_drawn, F f) {
  return in_world([n_drawn, f](World& w, Attempt& a) {
    const Constraint constraint = numbers(w);
    pc_session_options o = session_options();
    o.constraint = constraint.get();
    const Session session(made<pc_session*>(
        [&](auto* s, auto* x) { return pc_session_open(w.prompt.get(), &o, s, x); }));
    must([&](auto* x) { return pc_session_prefill(session.get(), x); });
    for (int i = 0; i < n_drawn; ++i) next_token(session.get());
    f(session.get(), o, a);
    a.answer(tokens_of(session.get()));
  });
}

// Of one call that makes a constraint, in an engine that has read its tokens.
template <class F>
std::function<Scenario()> made_by(F f) {
  return in_world([f](World& w, Attempt& a) {
    numbers(w);
    const Constraint made(a.make<pc_constraint>(
        [&](pc_constraint** c, pc_error* x) { return f(w.engine.get(), c, x); }));
    ask_held(w, made.get(), a);
  });
}

}  // namespace

std::vector<Row> constraint_rows() {
  return {
      {"pc_constraint_from_json_schema",
       made_by([](const pc_engine* engine, pc_constraint** c, pc_error* x) {
         return pc_constraint_from_json_schema(
             engine, R"({"type": "integer", "minimum": 1, "maximum": 9})", PC_NUL_TERMINATED, c, x);
       }),
       16},
      {"pc_constraint_from_choices",
       made_by([](const pc_engine* engine, pc_constraint** c, pc_error* x) {
         const std::array<const char*, 2> choices{"ab", "ac"};
         return pc_constraint_from_choices(engine, choices.data(), choices.size(), c, x);
       })},
      {"pc_constraint_from_regex",
       made_by([](const pc_engine* engine, pc_constraint** c, pc_error* x) {
         return pc_constraint_from_regex(engine, "[a-c]{2}", PC_NUL_TERMINATED, c, x);
       })},
      {"pc_constraint_from_gbnf",
       made_by([](const pc_engine* engine, pc_constraint** c, pc_error* x) {
         return pc_constraint_from_gbnf(engine, "root ::= [0-9] \"x\"", PC_NUL_TERMINATED, c, x);
       })},
      {"pc_constraint_from_regex, the first of an engine", in_world([](World& w, Attempt& a) {
         w.engine = open_engine(model_path(), w.cache);
         const Constraint made(a.make<pc_constraint>([&](pc_constraint** c, pc_error* x) {
           return pc_constraint_from_regex(w.engine.get(), "ab", PC_NUL_TERMINATED, c, x);
         }));
         w.load();
         ask_held(w, made.get(), a);
       }),
       64},
      {"pc_session_open and pc_session_next, held to one", in_world([](World& w, Attempt& a) {
         const Constraint constraint = numbers(w);
         pc_session_options o = session_options();
         o.constraint = constraint.get();
         const Session session(a.make<pc_session>([&](pc_session** s, pc_error* x) {
           return pc_session_open(w.prompt.get(), &o, s, x);
         }));
         if (!session) return;
         a.call([&](pc_error* x) {
           pc_token token;
           return pc_session_next(session.get(), &token, x);
         });
         a.answer(tokens_of(session.get()));
       })},
      {"pc_session_next, of a second token, held to one",
       on_held(1,
               [](pc_session* session, const pc_session_options&, Attempt& a) {
                 pc_token token{};
                 a.call([&](pc_error* x) { return pc_session_next(session, &token, x); });
                 a.answer(std::to_string(token.id));
               })},
      {"pc_session_set_answer, held to one",
       on_held(0,
               [](pc_session* session, const pc_session_options& o, Attempt& a) {
                 a.call([&](pc_error* x) { return pc_session_set_answer(session, &o, x); });
               })},
      {"pc_session_rewind, held to one",
       on_held(2,
               [](pc_session* session, const pc_session_options&, Attempt& a) {
                 const auto end = made<std::uint32_t>(
                     [&](auto* p, auto* x) { return pc_session_position(session, p, x); });
                 a.call([&](pc_error* x) { return pc_session_rewind(session, end, x); });
               })},
  };
}

}  // namespace pc::test
