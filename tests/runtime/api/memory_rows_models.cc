// Calls on engines, models and schemas.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/runtime/api/memory_world.h"

namespace pc::test {
namespace {

// ---- Engine and model

void open_and_ask(Attempt& a, const std::string& model, const std::string& cache,
                  std::uint32_t mode = PC_CACHE_READ_WRITE) {
  pc_engine_options o = options_of(model, cache);
  o.cache_mode = mode;
  const Engine engine(
      a.make<pc_engine>([&](pc_engine** e, pc_error* x) { return pc_engine_open(&o, e, x); }));
  if (!engine) return;
  const Schema schema = parse_schema(engine.get(), "<schema name='p'/>");
  a.answer(ask(schema.get(), "<prompt schema='p'>abc</prompt>"));
}

template <class F>
std::function<Scenario()> on_files(F call) {
  return alone([call](Attempt& a) {
    const std::string cache = folder().path() + "/cache";
    const pc_engine_options o = options_of(model_path(), cache);
    a.answer(without_numbers(a.text([&](char** json, pc_error* x) { return call(&o, json, x); })));
  });
}

void tokenize(Attempt& a, const pc_engine* engine, const char* text) {
  std::array<std::int32_t, 64> tokens{};
  std::size_t n = 0;
  a.call([&](pc_error* x) {
    return pc_tokenize(engine, text, PC_NUL_TERMINATED, tokens.data(), tokens.size(), &n, x);
  });
  for (std::size_t i = 0; i < n; ++i) a.answer(std::to_string(tokens[i]));
}

}  // namespace

std::vector<Row> engine_rows() {
  return {
      {"pc_build_describe", alone([](Attempt& a) {
         a.answer(a.text([](char** json, pc_error* x) { return pc_build_describe(json, x); }));
       })},
      {"pc_engine_open, first time",
       alone([](Attempt& a) { open_and_ask(a, model_path(), new_cache()); })},
      {"pc_engine_open, again",
       in_world([](World& w, Attempt& a) { open_and_ask(a, model_path(), w.cache); })},
      {"pc_engine_open, without a store",
       alone([](Attempt& a) { open_and_ask(a, model_path(), "", PC_CACHE_OFF); })},
      {"pc_engine_open, packing",
       alone([](Attempt& a) { open_and_ask(a, golden("gguf/llama_q8_0.gguf"), new_cache()); }), 10},
      {"pc_engine_open, split by patterns",
       alone([](Attempt& a) { open_and_ask(a, golden("gguf/qwen3.gguf"), "", PC_CACHE_OFF); })},
      {"pc_engine_open, sentencepiece",
       alone([](Attempt& a) { open_and_ask(a, sentencepiece_path(), "", PC_CACHE_OFF); })},
      {"pc_engine_open, no such model", alone([](Attempt& a) {
         const pc_engine_options o = options_of("/nowhere/at/all/is/this/model", new_cache());
         pc_engine* engine = nullptr;
         a.call([&](pc_error* x) { return pc_engine_open(&o, &engine, x); }, PC_NOT_FOUND);
       })},
      {"pc_engine_describe", in_world([](World& w, Attempt& a) {
         a.answer(a.text([&](char** json, pc_error* x) {
           return pc_engine_describe(w.engine.get(), json, x);
         }));
       })},
      {"pc_engine_get_facts", in_world([](World& w, Attempt& a) {
         pc_engine_facts facts{};
         facts.struct_size = sizeof facts;
         a.call([&](pc_error* x) { return pc_engine_get_facts(w.engine.get(), &facts, x); });
         a.answer(std::to_string(facts.n_parameters));
       })},
      {"pc_engine_get_token", in_world([](World& w, Attempt& a) {
         pc_token_facts facts{};
         facts.struct_size = sizeof facts;
         a.call([&](pc_error* x) { return pc_engine_get_token(w.engine.get(), 40, &facts, x); });
         a.answer(std::string(facts.bytes, facts.n_bytes));
       })},
      {"pc_engine_trim", in_world([](World& w, Attempt& a) {
         w.load();
         ask(w.schema.get());
         w.prompt.reset();
         w.schema.reset();
         std::uint64_t bytes = 0;
         a.call([&](pc_error* x) { return pc_engine_trim(w.engine.get(), &bytes, x); });
         a.answer(std::to_string(bytes));
       })},
      {"pc_engine_close", in_world([](World& w, Attempt& a) {
         Engine engine = open_engine(model_path(), w.cache);
         a.run([&] { pc_engine_close(engine.release()); });
       })},
      {"pc_model_inspect", on_files(pc_model_inspect)},
      {"pc_model_verify", on_files(pc_model_verify)},
      {"pc_model_probe", on_files([](const pc_engine_options* o, char** json, pc_error* x) {
         return pc_model_probe(o, "The tram is late, and it rains.", PC_NUL_TERMINATED, json, x);
       })},
      {"pc_tokenize", in_world([](World& w, Attempt& a) {
         tokenize(a, w.engine.get(), "The tram, </s> and h\xc3\xa9llo.");
       })},
      {"pc_tokenize, split by patterns",
       [] {
         auto engine =
             std::make_shared<Engine>(open_engine(golden("gguf/qwen3.gguf"), new_cache()));
         return [engine](Attempt& a) { tokenize(a, engine->get(), "abc cab ab"); };
       }},
      {"pc_tokenize, sentencepiece",
       [] {
         auto engine = std::make_shared<Engine>(open_engine(sentencepiece_path(), new_cache()));
         return [engine](Attempt& a) { tokenize(a, engine->get(), "The tram, and h\xc3\xa9llo."); };
       }},
      {"pc_embed", in_world([](World& w, Attempt& a) {
         const std::array<std::int32_t, 40> tokens{40, 41, 300, 301, 2, 5, 6, 7, 8, 9, 500, 501};
         const std::array texts{pc_text_tokens{tokens.data(), 40},
                                pc_text_tokens{tokens.data(), 39}};
         pc_engine_facts facts{};
         facts.struct_size = sizeof facts;
         must([&](auto* x) { return pc_engine_get_facts(w.engine.get(), &facts, x); });
         std::vector<float> vectors(std::size_t{2} * facts.n_dimensions);
         a.call([&](pc_error* x) {
           return pc_embed(w.engine.get(), texts.data(), 2, nullptr, vectors.data(), x);
         });
         a.answer(std::to_string(std::lround(1000 * vectors[0])));
       })},
      {"pc_detokenize", in_world([](World& w, Attempt& a) {
         const std::array<std::int32_t, 30> tokens{40, 41, 300, 301, 2, 5, 6, 7, 8, 9, 500, 501};
         a.answer(a.text([&](char** text, pc_error* x) {
           std::size_t bytes = 0;
           return pc_detokenize(w.engine.get(), tokens.data(), tokens.size(), text, &bytes, x);
         }));
       })},
  };
}

// ---- Schemas

std::vector<Row> schema_rows() {
  return {
      {"pc_schema_parse", in_world([](World& w, Attempt& a) {
         const Schema schema(a.make<pc_schema>([&](pc_schema** s, pc_error* x) {
           return pc_schema_parse(w.engine.get(), kSchema, PC_NUL_TERMINATED, nullptr, s, x);
         }));
         a.answer(ask(schema.get()));
       })},
      {"pc_schema_load", in_world([](World& w, Attempt& a) {
         const std::string path = folder().path() + "/schema.pml";
         folder().write("schema.pml",
                        "<schema name='f'><module name='m' src='text.txt'/></schema>");
         folder().write("text.txt", "The tram is late.");
         const Schema schema(a.make<pc_schema>([&](pc_schema** s, pc_error* x) {
           return pc_schema_load(w.engine.get(), path.c_str(), s, x);
         }));
         a.answer(ask(schema.get(), "<prompt schema='f'><m/>Why?</prompt>"));
       })},
      {"pc_schema_parse, not PML", in_world([](World& w, Attempt& a) {
         pc_schema* schema = nullptr;
         a.call(
             [&](pc_error* x) {
               return pc_schema_parse(w.engine.get(),
                                      "<schema name='s'><modul name='the one with a long name'/>"
                                      "</schema>",
                                      PC_NUL_TERMINATED, nullptr, &schema, x);
             },
             PC_PML_SEMANTIC);
       })},
      {"pc_schema_parse, not XML", in_world([](World& w, Attempt& a) {
         pc_schema* schema = nullptr;
         a.call(
             [&](pc_error* x) {
               return pc_schema_parse(w.engine.get(), "<schema name='s'>a < b</schema>",
                                      PC_NUL_TERMINATED, nullptr, &schema, x);
             },
             PC_PML_SYNTAX);
       })},
      {"pc_schema_plain", in_world([](World& w, Attempt& a) {
         const Schema schema(a.make<pc_schema>(
             [&](pc_schema** s, pc_error* x) { return pc_schema_plain(w.engine.get(), s, x); }));
         a.answer(ask(schema.get(), "<prompt schema='plain'>Why?</prompt>"));
       })},
      {"pc_schema_describe", in_world([](World& w, Attempt& a) {
         a.answer(a.text([&](char** json, pc_error* x) {
           return pc_schema_describe(w.schema.get(), json, x);
         }));
       })},
      {"pc_schema_get_counts", in_world([](World& w, Attempt& a) {
         pc_schema_counts counts{};
         counts.struct_size = sizeof counts;
         a.call([&](pc_error* x) { return pc_schema_get_counts(w.schema.get(), &counts, x); });
         a.answer(std::to_string(counts.tokens) + " " + std::to_string(counts.stored_bytes));
       })},
      {"pc_schema_encode", in_world([](World& w, Attempt& a) {
         w.forget();
         const auto sink = [](void*, std::int32_t, const char*) {};
         pc_set_log(sink, nullptr, PC_LOG_INFO);
         a.call([&](pc_error* x) {
           return pc_schema_encode(w.schema.get(), nullptr, nullptr, nullptr, x);
         });
         pc_set_log(nullptr, nullptr, 0);
         a.answer(ask(w.schema.get()));
       }),
       2},
      {"pc_schema_encode, of what is there", in_world([](World& w, Attempt& a) {
         w.load();
         must([&](auto* x) { return pc_engine_trim(w.engine.get(), nullptr, x); });
         a.call([&](pc_error* x) {
           return pc_schema_encode(w.schema.get(), nullptr, nullptr, nullptr, x);
         });
         a.answer(ask(w.schema.get()));
       })},
      {"pc_schema_pin", in_world([](World& w, Attempt& a) {
         w.load();
         must([&](auto* x) { return pc_engine_trim(w.engine.get(), nullptr, x); });
         const Pin pin(a.make<pc_pin>([&](pc_pin** p, pc_error* x) {
           return pc_schema_pin(w.schema.get(), nullptr, nullptr, p, x);
         }));
         a.answer(ask(w.schema.get()));
       })},
      {"pc_schema_check_answers", in_world([](World& w, Attempt& a) {
         pc_answers_options o;
         pc_answers_options_init(&o);
         o.answer_tokens = 1;
         const pc_prompt* const prompts[] = {w.prompt.get()};
         const std::string report = a.text([&](char** json, pc_error* x) {
           return pc_schema_check_answers(w.schema.get(), prompts, 1, &o, json, x);
         });
         a.answer(without_numbers(report).substr(0, 40));
       }),
       5},
      {"pc_schema_check_answers, of prompts it makes", in_world([](World& w, Attempt& a) {
         pc_answers_options o;
         pc_answers_options_init(&o);
         o.answer_tokens = 1;
         o.prompts = 1;
         const std::string report = a.text([&](char** json, pc_error* x) {
           return pc_schema_check_answers(w.schema.get(), nullptr, 0, &o, json, x);
         });
         a.answer(without_numbers(report).substr(0, 40));
       }),
       5},
      {"pc_schema_close", in_world([](World& w, Attempt& a) {
         w.load();
         ask(w.schema.get());
         w.prompt.reset();
         a.run([&] { pc_schema_close(w.schema.release()); });
       })},
  };
}

}  // namespace pc::test
