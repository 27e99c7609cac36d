#include <promptcache/promptcache.h>
#include <stdio.h>
#include <string.h>

/* Constrained output: the answer is one of the texts on the command line, whatever the model would
 * rather say. A mask lets only those tokens be drawn that go on with one of them. */

enum { kChoices = 16, kTokens = 64 };

static struct {
  int32_t tokens[kChoices][kTokens];
  size_t n_tokens[kChoices], n_choices;
  int fits[kChoices]; /* begins with what was drawn */
  size_t n_drawn;
  const pc_engine* engine;
  int32_t vocab_size;
} choice;

static void allow(uint32_t* allowed, int32_t token) {
  allowed[token / 32] |= (uint32_t)1 << token % 32;
}

static int only_choices(void* user, uint32_t* allowed, size_t n_words) {
  (void)user;
  memset(allowed, 0, n_words * sizeof *allowed);
  for (size_t c = 0; c < choice.n_choices; ++c) {
    if (!choice.fits[c]) continue;
    if (choice.n_drawn < choice.n_tokens[c]) allow(allowed, choice.tokens[c][choice.n_drawn]);
    if (choice.n_drawn != choice.n_tokens[c]) continue;
    for (int32_t t = 0; t < choice.vocab_size; ++t) /* it is said: the turn may end */
      if (pc_engine_ends_turn(choice.engine, t)) allow(allowed, t);
  }
  return 0;
}

static void drawn(int32_t token) {
  for (size_t c = 0; c < choice.n_choices; ++c)
    choice.fits[c] = choice.fits[c] && choice.n_drawn < choice.n_tokens[c] &&
                     choice.tokens[c][choice.n_drawn] == token;
  ++choice.n_drawn;
}

int main(int argc, char** argv) { /* MODEL QUESTION CHOICE... */
  if (argc < 4 || argc > 3 + kChoices)
    return fputs("usage: choice MODEL QUESTION CHOICE... (at most 16)\n", stderr), 2;
  pc_error error = {0};
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = argv[1];
  pc_engine* engine = NULL;
  pc_schema* schema = NULL;
  pc_prompt* prompt = NULL;
  pc_session* session = NULL;
  pc_engine_facts facts = {.struct_size = sizeof facts};
  pc_status s = pc_engine_open(&options, &engine, &error);
  if (s == PC_OK) s = pc_engine_get_facts(engine, &facts, &error);
  choice.engine = engine;
  choice.vocab_size = (int32_t)facts.vocab_size;
  for (int i = 3; s == PC_OK && i < argc; ++i) {
    const size_t c = choice.n_choices++;
    s = pc_tokenize(engine, argv[i], PC_NUL_TERMINATED, choice.tokens[c], kTokens,
                    &choice.n_tokens[c], &error);
    choice.fits[c] = 1;
    if (choice.n_tokens[c] > kTokens) return fputs("a choice is too long\n", stderr), 2;
  }
  pc_session_options asking;
  pc_session_options_init(&asking);
  asking.mask = only_choices;
  const pc_message message = {"user", argv[2], PC_NUL_TERMINATED, NULL, 0};
  if (s == PC_OK) s = pc_schema_plain(engine, &schema, &error);
  if (s == PC_OK) s = pc_prompt_from_messages(schema, &message, 1, &prompt, &error);
  if (s == PC_OK) s = pc_session_open(prompt, &asking, &session, &error);
  while (s == PC_OK) {
    pc_token token;
    s = pc_session_next(session, &token, &error);
    if (s == PC_OK) drawn(token.id);
    if (s == PC_OK || s == PC_DONE) fputs(token.text, stdout);
  }
  puts("");
  if (s != PC_DONE) fprintf(stderr, "%s\n", error.message);

  pc_session_close(session);
  pc_prompt_close(prompt);
  pc_schema_close(schema);
  pc_engine_close(engine);
  return s == PC_DONE ? 0 : 1;
}
