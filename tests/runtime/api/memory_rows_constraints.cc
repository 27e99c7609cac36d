// Calls that make constraints, and answers that are held to them.

#include <array>
#include <string>

#include "tests/runtime/api/memory_world.h"

namespace pc::test {
namespace {

using Constraint = std::unique_ptr<pc_constraint, Close<pc_constraint_close>>;

Constraint numbers_of(const Engine& engine) {
  return Constraint(made<pc_constraint*>([&](auto* c, auto* x) {
    return pc_constraint_from_regex(engine.get(), "[0-9]{2}", PC_NUL_TERMINATED, c, x);
  }));
}

Constraint numbers(const World& w) {
  return numbers_of(w.engine);
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

constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
        "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": false}}}])";

// A model whose template writes calls.
const std::string& calling_path() {
  static const auto checkpoint = [] {
    auto made = std::make_unique<TinyCheckpoint>(35);
    write_chat_template(*made,
                        "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}"
                        "{% for c in m.tool_calls or [] %}~{{ c.function.name }}"
                        "{{ c.function.arguments | tojson }}{% endfor %}{{ eos_token }}"
                        "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}");
    return made;
  }();
  return checkpoint->path();
}

using Tools = std::unique_ptr<pc_tools, Close<pc_tools_close>>;

Tools tools_of(const Engine& engine) {
  return Tools(made<pc_tools*>([&](auto* t, auto* x) {
    return pc_tools_read(engine.get(), kTools, PC_NUL_TERMINATED, t, x);
  }));
}

}  // namespace

std::vector<Row> constraint_rows() {
  return {
      {"pc_tools_read, the first of an engine", alone([](Attempt& a) {
         const Engine engine = open_engine(calling_path(), new_cache());
         const Tools tools(a.make<pc_tools>([&](pc_tools** t, pc_error* x) {
           return pc_tools_read(engine.get(), kTools, PC_NUL_TERMINATED, t, x);
         }));
         // That memory ran out once has taught nothing.
         const Tools again = tools_of(engine);
         a.text([&](char** json, pc_error* x) {
           return pc_calls_read(again.get(), 0, "~f{}", PC_NUL_TERMINATED, json, x);
         });
       }),
       256},
      {"pc_constraint_from_tools and pc_calls_read", alone([](Attempt& a) {
         const Engine engine = open_engine(calling_path(), new_cache());
         const Tools tools = tools_of(engine);
         numbers_of(engine);
         const Constraint constraint(a.make<pc_constraint>([&](pc_constraint** c, pc_error* x) {
           return pc_constraint_from_tools(tools.get(), "f", nullptr, 0, c, x);
         }));
         a.text([&](char** json, pc_error* x) {
           return pc_calls_read(tools.get(), 0, "So: ~f{}", PC_NUL_TERMINATED, json, x);
         });
       }),
       16},
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
