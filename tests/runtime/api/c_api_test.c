/* The C API from C: compiled as C99 and linked to the shared library alone.
 * Arguments: a model's folder and a fresh folder for the cache. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "promptcache/promptcache.h"
#include "tests/runtime/api/c_check.h"

int failures = 0;
pc_error error;

static const char* schema_pml =
    "<schema name=\"s\"><system>Be short.</system>\n"
    "<module name=\"a\">A page about <param name=\"x\" len=\"4\"/>.</module>\n"
    "<module name=\"b\">Another page.</module></schema>";
static const char* prompt_pml = "<prompt schema=\"s\"><a x=\"it\"/><user>And now?</user></prompt>";

static pc_engine* open_engine(const char* model, const char* cache) {
  pc_engine_options options;
  pc_engine* engine = NULL;
  pc_engine_options_init(&options);
  options.model_path = model;
  options.cache_dir = cache;
  options.chat_template = "llama2";
  CHECK(pc_engine_open(&options, &engine, &error) == PC_OK);
  return engine;
}

/* What an opening told, and when it is to stop. */
typedef struct told {
  int calls, stop_at;
  uint64_t done, total;
} told;

static int listen(void* user, uint32_t step, uint64_t done, uint64_t total) {
  told* t = user;
  CHECK(step == PC_OPEN_READ_WEIGHTS); /* f32: nothing is packed */
  CHECK(done >= t->done && done <= total);
  t->done = done;
  t->total = total;
  return ++t->calls == t->stop_at;
}

static void opening(const char* model) {
  pc_engine* engine = NULL;
  pc_engine_options options;
  told t = {0, 0, 0, 0};
  char* json = NULL;
  pc_engine_options_init(&options);
  options.model_path = model;
  options.cache_mode = PC_CACHE_OFF;
  options.progress = listen;
  options.progress_user = &t;
  CHECK(pc_engine_open(&options, &engine, &error) == PC_OK);
  CHECK(t.calls >= 2 && t.done == t.total && t.total > 0);
  pc_engine_close(engine);
  engine = NULL;
  t = (told){0, 1, 0, 0};
  CHECK(pc_engine_open(&options, &engine, &error) == PC_CANCELLED && engine == NULL);
  t = (told){0, 1, 0, 0};
  CHECK(pc_model_verify(&options, &json, &error) == PC_CANCELLED && json == NULL);
  t = (told){0, 1, 0, 0};
  options.struct_size = offsetof(pc_engine_options, progress); /* a caller of before */
  CHECK(pc_engine_open(&options, &engine, &error) == PC_OK && t.calls == 0);
  pc_engine_close(engine);
}

static void bad_arguments(pc_engine* engine) {
  pc_engine* other = (pc_engine*)8;
  pc_schema* schema = (pc_schema*)8;
  pc_engine_options options;
  memset(&options, 0, sizeof options);
  CHECK(pc_engine_open(&options, &other, &error) == PC_INVALID_ARGUMENT); /* struct_size */
  pc_engine_options_init(&options);
  CHECK(pc_engine_open(&options, &other, &error) == PC_INVALID_ARGUMENT); /* no model */
  options.model_path = "/nonexistent";
  CHECK(pc_engine_open(&options, &other, NULL) == PC_NOT_FOUND);
  CHECK(pc_engine_open(NULL, &other, &error) == PC_INVALID_ARGUMENT);
  CHECK(other == (pc_engine*)8); /* untouched on failure */
  CHECK(pc_schema_parse(engine, NULL, 0, NULL, &schema, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_schema_parse(engine, "<schema name='s'>\n  <modul/></schema>", PC_NUL_TERMINATED, NULL,
                        &schema, &error) == PC_PML_SEMANTIC);
  CHECK(error.line == 2 && error.column == 3);
  CHECK(strstr(error.message, "module") != NULL); /* the nearest known name */
  CHECK(pc_schema_parse(engine, "<schema", PC_NUL_TERMINATED, NULL, &schema, &error) ==
        PC_PML_SYNTAX);
  CHECK(schema == (pc_schema*)8);
  CHECK(strcmp(pc_status_name(PC_PML_SEMANTIC), "pml-semantic") == 0);
  CHECK(strcmp(pc_status_name(4711), "unknown") == 0);
  pc_engine_close(NULL);
  pc_schema_close(NULL);
  pc_prompt_close(NULL);
  pc_session_close(NULL);
  pc_store_close(NULL);
  pc_free(NULL);
}

static int count_modules(void* user, uint32_t done, uint32_t total, const char* module) {
  int* modules = user;
  CHECK(done <= total && module != NULL);
  CHECK((int)done == *modules || (int)done == *modules + 1); /* waited for, or done */
  *modules = (int)done;
  return 0;
}

static int stop_after_one(void* user, uint32_t done, uint32_t total, const char* module) {
  (void)user, (void)total, (void)module;
  return done == 1;
}

/* One answer; returns its tokens' hash. */
static unsigned answer(const pc_prompt* prompt, int no_reuse, pc_session_stats* stats) {
  pc_session_options options;
  pc_session* session = NULL;
  pc_token token;
  const float* logits = NULL;
  size_t n = 0;
  unsigned hash = 0;
  pc_status status;
  pc_session_options_init(&options);
  options.max_tokens = 6;
  options.no_reuse = (uint32_t)no_reuse;
  CHECK(pc_session_open(prompt, &options, &session, &error) == PC_OK);
  CHECK(pc_session_logits(session, &logits, &n, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_session_prefill(session, &error) == PC_OK);
  CHECK(pc_session_logits(session, &logits, &n, &error) == PC_OK && n == 700);
  while ((status = pc_session_next(session, &token, &error)) == PC_OK) {
    hash = hash * 31 + (unsigned)token.id;
    CHECK(strlen(token.text) == token.text_bytes);
  }
  CHECK(status == PC_DONE);
  CHECK(pc_session_next(session, &token, &error) == PC_DONE && token.id == -1 &&
        token.text_bytes == 0);
  stats->struct_size = sizeof *stats;
  pc_session_get_stats(session, stats);
  CHECK(stats->finish != PC_FINISH_NONE);
  pc_session_close(session);
  return hash;
}

/* Reads an answer to its end; its tokens' hash. */
static unsigned rest(pc_session* session) {
  pc_token token;
  unsigned hash = 0;
  while (pc_session_next(session, &token, &error) == PC_OK) hash = hash * 31 + (unsigned)token.id;
  return hash;
}

/* A prompt of messages goes on after it was kept; n: of its tokens, how many come from the store.
 */
static uint64_t chat(pc_engine* engine, const char* answer, uint64_t* kept) {
  static const char* const text =
      "The harbour ferry of Lindby leaves at seven in the morning and at six in the evening. A "
      "ticket costs four crowns; children and dogs travel free. In winter the ferry rests.";
  const pc_message messages[] = {{"user", text, PC_NUL_TERMINATED, NULL, 0},
                                 {"assistant", answer, PC_NUL_TERMINATED, NULL, 0},
                                 {"user", "And then?", 9, NULL, 0}};
  pc_schema* schema = NULL;
  pc_prompt* prompt = NULL;
  pc_session* session = NULL;
  pc_session_stats stats;
  CHECK(pc_schema_plain(engine, &schema, &error) == PC_OK);
  CHECK(pc_prompt_from_messages(schema, messages, 3, &prompt, &error) == PC_OK);
  CHECK(pc_session_open(prompt, NULL, &session, &error) == PC_OK);
  CHECK(pc_session_prefill(session, &error) == PC_OK);
  CHECK(pc_session_keep(session, kept, &error) == PC_OK);
  stats.struct_size = sizeof stats;
  pc_session_get_stats(session, &stats);
  pc_session_close(session);
  pc_prompt_close(prompt);
  pc_schema_close(schema);
  return stats.chained_tokens;
}

static void messages(pc_engine* engine) {
  const pc_argument argument = {"x", "Oslo", PC_NUL_TERMINATED};
  const pc_part parts[] = {{NULL, 0, "a", &argument, 1}, {" Go.", 4, NULL, NULL, 0}};
  const pc_part odd[] = {{"text", 4, "a", NULL, 0}};
  const pc_message whole = {"user", NULL, 0, parts, 2}, both = {"user", "x", 1, parts, 2},
                   mixed = {"user", NULL, 0, odd, 1};
  pc_schema* schema = NULL;
  pc_prompt *prompt = NULL, *written = NULL, *none = NULL;
  char *json = NULL, *same = NULL;
  uint64_t kept = 0;
  CHECK(chat(engine, "No.", &kept) == 0 && kept > 0);
  CHECK(chat(engine, "Yes.", &kept) > 0); /* as far as both begin alike */
  CHECK(pc_schema_parse(engine,
                        "<schema name='m'><module name='a'>In <param name='x' len='4'/>."
                        "</module></schema>",
                        PC_NUL_TERMINATED, NULL, &schema, &error) == PC_OK);
  CHECK(pc_prompt_from_messages(schema, &whole, 1, &prompt, &error) == PC_OK);
  CHECK(pc_prompt_parse(schema, "<prompt schema='m'><user><a x='Oslo'/> Go.</user></prompt>",
                        PC_NUL_TERMINATED, &written, &error) == PC_OK);
  CHECK(pc_prompt_explain(prompt, &json, &error) == PC_OK);
  CHECK(pc_prompt_explain(written, &same, &error) == PC_OK && strcmp(json, same) == 0);
  CHECK(pc_prompt_from_messages(schema, &both, 1, &none, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_prompt_from_messages(schema, &mixed, 1, &none, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_prompt_from_messages(schema, NULL, 1, &none, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_prompt_from_text(schema, "Hello", 5, &none, &error) == PC_OK);
  pc_free(json);
  pc_free(same);
  pc_prompt_close(none);
  pc_prompt_close(prompt);
  pc_prompt_close(written);
  pc_schema_close(schema);
}

/* Allows the tokens below *user, but not those that end an answer. */
static int below(void* user, const pc_session* session, uint32_t position, uint32_t* allowed,
                 size_t n_words) {
  const uint32_t limit = *(const uint32_t*)user;
  CHECK(session != NULL && position > 0);
  for (size_t i = 0; i < n_words * 32; ++i)
    if (i >= limit || i < 3) allowed[i / 32] &= ~(1u << i % 32);
  return limit == UINT32_MAX;
}

static void draw(const pc_engine* engine, const pc_prompt* prompt) {
  pc_session_options options;
  pc_session* session = NULL;
  pc_token token;
  pc_token_logprob drawn, top[3];
  pc_engine_facts facts;
  uint32_t limit = 40;
  pc_token_bias bias = {7, 100.0f};
  facts.struct_size = sizeof facts;
  CHECK(pc_engine_get_facts(engine, &facts, &error) == PC_OK && facts.vocab_size > 40 &&
        facts.context_tokens > 0 && facts.kv_token_bytes > 0 && !facts.backend_fell_back);
  pc_session_options_init(&options);
  options.mask = below;
  options.mask_user = &limit;
  options.temperature = 1.0f;
  options.seed = PC_SEED_RANDOM;
  CHECK(pc_session_open(prompt, &options, &session, &error) == PC_OK);
  CHECK(pc_session_prefill(session, &error) == PC_OK);
  CHECK(pc_session_logprobs(session, NULL, top, 3, &error) == PC_OK &&
        top[0].logprob >= top[1].logprob && top[0].logprob <= 0.0f);
  CHECK(pc_session_logprobs(session, &drawn, NULL, 0, &error) == PC_INVALID_ARGUMENT);
  for (int i = 0; i < 5 && pc_session_next(session, &token, &error) == PC_OK; ++i) {
    CHECK(token.id >= 0 && token.id < 40);
    CHECK(pc_session_logprobs(session, &drawn, NULL, 0, &error) == PC_OK &&
          drawn.token == token.id);
  }
  limit = UINT32_MAX;
  CHECK(pc_session_next(session, &token, &error) == PC_CANCELLED);
  limit = 40;
  CHECK(pc_session_next(session, &token, &error) == PC_OK && token.id < 40);
  pc_session_close(session);
  options.mask = NULL;
  options.temperature = 0.0f;
  options.bias = &bias;
  options.n_bias = 1;
  CHECK(pc_session_open(prompt, &options, &session, &error) == PC_OK);
  CHECK(pc_session_next(session, &token, &error) == PC_OK && token.id == 7);
  pc_session_close(session);
  bias.token = 1 << 30;
  CHECK(pc_session_open(prompt, &options, &session, &error) == PC_INVALID_ARGUMENT);
}

/* A caller that was built with a later version of the header. */
static void later_options(const pc_prompt* prompt) {
  struct {
    pc_session_options known;
    uint64_t unknown;
  } options;
  pc_session* session = NULL;
  memset(&options, 0, sizeof options);
  options.known.struct_size = sizeof options;
  CHECK(pc_session_open(prompt, &options.known, &session, &error) == PC_OK);
  pc_session_close(session);
  options.unknown = 1;
  CHECK(pc_session_open(prompt, &options.known, &session, &error) == PC_UNSUPPORTED);
}

static void count(const pc_schema* schema, const pc_prompt* prompt,
                  const pc_session_stats* cached) {
  pc_schema_counts schema_counts;
  pc_prompt_counts counts;
  schema_counts.struct_size = sizeof schema_counts;
  counts.struct_size = sizeof counts;
  CHECK(pc_schema_get_counts(schema, &schema_counts, &error) == PC_OK &&
        schema_counts.modules == 2 && schema_counts.stored_bytes > 0 && schema_counts.tokens > 0);
  CHECK(pc_prompt_get_counts(prompt, &counts, &error) == PC_OK);
  CHECK(counts.tokens == cached->prompt_tokens && counts.modules == cached->modules_found);
  CHECK(counts.module_tokens + counts.chained_tokens == cached->cached_tokens);
  CHECK(counts.computed_tokens == cached->computed_tokens && counts.modules_missing == 0);
  CHECK(counts.approximate_tokens <= counts.module_tokens);
}

/* Stops at the second call. */
static int stop_at_two(void* user, uint32_t done, uint32_t total) {
  return done > total || ++*(int*)user == 2;
}

static void check_answers(const pc_schema* schema, const pc_prompt* prompt) {
  const pc_prompt* const prompts[] = {prompt, NULL};
  pc_answers_options options;
  char* json = NULL;
  int n_told = 0;
  pc_answers_options_init(&options);
  options.prompts = 3;
  options.answer_tokens = 2;
  options.progress = stop_at_two;
  options.progress_user = &n_told;
  CHECK(pc_schema_check_answers(schema, NULL, 0, &options, &json, &error) == PC_CANCELLED &&
        n_told == 2 && json == NULL);
  options.progress = NULL;
  CHECK(pc_schema_check_answers(schema, NULL, 0, &options, &json, &error) == PC_OK);
  CHECK(strstr(json, "\"prompts\":3") != NULL && strstr(json, "\"verdict\":\"") != NULL &&
        strstr(json, "\"kept\":true") != NULL);
  pc_free(json);
  json = NULL;
  CHECK(pc_schema_check_answers(schema, prompts, 1, &options, &json, &error) ==
        PC_INVALID_ARGUMENT);
  options.prompts = 0;
  CHECK(pc_schema_check_answers(schema, prompts, 2, &options, &json, &error) ==
        PC_INVALID_ARGUMENT);
  CHECK(pc_schema_check_answers(schema, NULL, 1, &options, &json, &error) == PC_INVALID_ARGUMENT);
  CHECK(json == NULL);
  CHECK(pc_schema_check_answers(schema, prompts, 1, &options, &json, &error) == PC_OK &&
        strstr(json, "\"prompts\":1") != NULL);
  pc_free(json);
  options.struct_size = 0;
  CHECK(pc_schema_check_answers(schema, prompts, 1, &options, &json, &error) ==
        PC_INVALID_ARGUMENT);
}

int draw_otherwise(const pc_prompt* prompt); /* c_api_answers.c: gives its failures */

static void converse(const pc_prompt* prompt) {
  pc_session_options options;
  pc_session *session = NULL, *fork = NULL;
  pc_session_stats first, second;
  uint32_t position = 0;
  const pc_message next = {"user", "And then?", PC_NUL_TERMINATED, NULL, 0};
  const pc_message odd[] = {{"tool", "4", 1, NULL, 0}, {"user", "And then?", 9, NULL, 0}};
  pc_session_options_init(&options);
  options.max_tokens = 6;
  CHECK(pc_session_open(prompt, &options, &session, &error) == PC_OK);
  rest(session);
  first.struct_size = second.struct_size = sizeof first;
  pc_session_get_stats(session, &first);
  CHECK(pc_session_append(session, odd, 2, &error) == PC_INVALID_ARGUMENT &&
        strstr(error.message, "\"tool\"") != NULL);
  CHECK(pc_session_append(session, NULL, 1, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_session_append(session, NULL, 0, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_session_fork(session, &fork, &error) == PC_OK);
  CHECK(pc_session_append(session, &next, 1, &error) == PC_OK);
  CHECK(pc_session_append(fork, &next, 1, &error) == PC_OK);
  pc_session_get_stats(session, &second);
  CHECK(second.cached_tokens + 1 >= first.prompt_tokens + first.generated_tokens);
  CHECK(second.computed_tokens > 0 && second.finish == PC_FINISH_NONE);
  CHECK(pc_session_position(fork, &position, &error) == PC_OK);
  CHECK(rest(session) == rest(fork));
  CHECK(pc_session_rewind(session, position, &error) == PC_OK);
  CHECK(pc_session_rewind(fork, position + 1, &error) == PC_OK);
  CHECK(rest(session) != 0);
  CHECK(pc_session_rewind(session, UINT32_MAX, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_session_rewind(session, 0, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_session_append_text(session, " More.", PC_NUL_TERMINATED, &error) == PC_OK);
  CHECK(pc_session_append(session, &next, 1, &error) == PC_INVALID_ARGUMENT);
  pc_session_close(session);
  pc_session_close(fork);
}

static void generate(pc_engine* engine) {
  pc_schema* schema = NULL;
  pc_prompt* prompt = NULL;
  pc_session_stats cached, full;
  pc_encode_stats encoded;
  int modules = 0;
  char* json = NULL;
  unsigned first;
  CHECK(pc_schema_parse(engine, schema_pml, PC_NUL_TERMINATED, NULL, &schema, &error) == PC_OK);
  CHECK(pc_schema_encode(schema, stop_after_one, NULL, NULL, &error) == PC_CANCELLED);
  encoded.struct_size = sizeof encoded;
  CHECK(pc_schema_encode(schema, count_modules, &modules, &encoded, &error) == PC_OK);
  CHECK(modules == 3 && encoded.modules == 3 &&
        encoded.modules_encoded == 2); /* one was done before the stop */
  CHECK(pc_schema_describe(schema, &json, &error) == PC_OK &&
        strstr(json, "\"path\":\"b\"") != NULL);
  pc_free(json);
  CHECK(pc_prompt_parse(schema, prompt_pml, strlen(prompt_pml), &prompt, &error) == PC_OK);
  CHECK(pc_prompt_explain(prompt, &json, &error) == PC_OK &&
        strstr(json, "\"state\":\"memory\"") != NULL);
  pc_free(json);
  first = answer(prompt, 0, &cached);
  CHECK(answer(prompt, 0, &cached) == first);
  count(schema, prompt, &cached);
  check_answers(schema, prompt);
  pc_schema_close(schema); /* the prompt keeps what it needs */
  CHECK(cached.cached_tokens > 0 && cached.modules_found == 2 && cached.modules_encoded == 0);
  failures += draw_otherwise(prompt);
  converse(prompt);
  draw(engine, prompt);
  constrain(engine, prompt);
  later_options(prompt);
  answer(prompt, 1, &full);
  CHECK(full.cached_tokens == 0 && full.computed_tokens == cached.prompt_tokens);
  pc_prompt_close(prompt);
}

static void tokens(pc_engine* engine) {
  pc_token_facts token = {.struct_size = sizeof token};
  int32_t ids[64];
  size_t n = 0;
  char* text = NULL;
  CHECK(pc_tokenize(engine, "A short text", PC_NUL_TERMINATED, ids, 64, &n, &error) == PC_OK &&
        n > 0 && n < 64);
  CHECK(pc_detokenize(engine, ids, n, &text, NULL, &error) == PC_OK &&
        strstr(text, "A short text") != NULL);
  pc_free(text);
  CHECK(pc_engine_get_token(engine, ids[0], &token, &error) == PC_OK && token.n_bytes > 0);
  CHECK(pc_tokenize(engine, "A short text", PC_NUL_TERMINATED, NULL, 0, &n, &error) == PC_OK &&
        n > 0);
}

/* Stops at the second file. */
static int leave(void* user, uint64_t done, uint64_t total) {
  ++*(int*)user;
  return done == 1 && total > 1;
}

static void store(const char* cache) {
  pc_store* s = NULL;
  char* json = NULL;
  uint64_t removed = 0;
  CHECK(pc_store_open(cache, PC_CACHE_READ_WRITE, &s, &error) == PC_OK);
  CHECK(pc_store_describe(s, &json, &error) == PC_OK && strstr(json, "\"tokens\"") != NULL);
  pc_free(json);
  CHECK(pc_store_verify_all(s, NULL, NULL, &json, &error) == PC_OK &&
        strstr(json, "\"bad\":0") != NULL);
  pc_free(json);
  CHECK(pc_store_show(s, "zz", &json, &error) == PC_NOT_FOUND);
  int n_told = 0;
  CHECK(pc_store_gc(s, 0, leave, &n_told, &json, &error) == PC_CANCELLED && n_told == 2);
  CHECK(pc_store_remove_all(s, leave, &n_told, &removed, &error) == PC_CANCELLED && n_told == 4);
  CHECK(pc_store_remove_all(s, NULL, NULL, &removed, &error) == PC_OK && removed > 1);
  CHECK(pc_store_gc(s, 0, NULL, NULL, &json, &error) == PC_OK);
  pc_free(json);
  pc_store_close(s);
}

static void model(const char* path) {
  pc_engine_options options;
  char* json = NULL;
  pc_engine_options_init(&options);
  CHECK(pc_model_inspect(&options, &json, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_model_verify(NULL, &json, &error) == PC_INVALID_ARGUMENT && json == NULL);
  options.model_path = path;
  CHECK(pc_model_inspect(&options, &json, &error) == PC_OK &&
        strstr(json, "\"refused\":null") != NULL);
  pc_free(json);
  CHECK(pc_model_verify(&options, &json, &error) == PC_OK && strstr(json, "\"ok\":true") != NULL);
  pc_free(json);
  options.cache_mode = PC_CACHE_OFF;
  options.precision = PC_PRECISION_EXACT;
  CHECK(pc_model_probe(&options, "one two three", PC_NUL_TERMINATED, &json, &error) == PC_OK &&
        strstr(json, "\"ok\":true") != NULL && strstr(json, "\"perplexity\"") != NULL);
  pc_free(json);
  CHECK(pc_model_probe(&options, "", 0, &json, &error) == PC_INVALID_ARGUMENT);
  options.precision = 3;
  CHECK(pc_model_probe(&options, NULL, 0, &json, &error) == PC_INVALID_ARGUMENT);
  pc_engine_options_init(&options);
  options.model_path = "/nonexistent";
  CHECK(pc_model_inspect(&options, &json, &error) == PC_NOT_FOUND);
  CHECK(pc_model_verify(&options, &json, &error) == PC_NOT_FOUND);
}

int main(int argc, char** argv) {
  char* json = NULL;
  pc_engine* engine;
  if (argc != 3) return 2;
  CHECK(pc_version()[0] != '\0');
  CHECK(pc_build_describe(&json, &error) == PC_OK && strstr(json, "\"isa\"") != NULL);
  pc_free(json);
  model(argv[1]);
  opening(argv[1]);
  engine = open_engine(argv[1], argv[2]);
  if (!engine) return 1;
  CHECK(pc_engine_describe(engine, &json, &error) == PC_OK &&
        strstr(json, "\"kv_bytes_per_token\"") != NULL);
  pc_free(json);
  bad_arguments(engine);
  tokens(engine);
  generate(engine);
  messages(engine);
  pc_engine_close(engine);
  store(argv[2]);
  if (failures == 0) printf("all checks of the C API passed\n");
  return failures != 0;
}
