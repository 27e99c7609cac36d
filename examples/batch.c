#include <promptcache/promptcache.h>
#include <stdio.h>
#include <string.h>

/* Answers many questions about one page at once, on one thread: each step computes a token for all
 * of them, and reads the model's weights and the page's states once. */

enum { kQuestions = 16 };

int main(int argc, char** argv) { /* MODEL SCHEMA MODULE QUESTION... */
  const size_t n = argc > 4 ? (size_t)argc - 4 : 0;
  if (n == 0 || n > kQuestions)
    return fputs("usage: batch MODEL SCHEMA MODULE QUESTION... (at most 16)\n", stderr), 2;
  pc_error error = {0}, outcomes[kQuestions];
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = argv[1];
  pc_engine* engine = NULL;
  pc_schema* schema = NULL;
  pc_session *sessions[kQuestions] = {NULL}, *running[kQuestions];
  size_t who[kQuestions], n_running = 0;
  int failed = 0;
  static char answers[kQuestions][4096];
  pc_token tokens[kQuestions];

  pc_status s = pc_engine_open(&options, &engine, &error);
  if (s == PC_OK) s = pc_schema_load(engine, argv[2], &schema, &error);
  for (size_t i = 0; s == PC_OK && i < n; ++i) {
    const pc_part parts[] = {{NULL, 0, argv[3], NULL, 0},
                             {argv[4 + i], PC_NUL_TERMINATED, NULL, NULL, 0}};
    const pc_message message = {"user", NULL, 0, parts, 2};
    pc_prompt* prompt = NULL;
    s = pc_prompt_from_messages(schema, &message, 1, &prompt, &error);
    if (s == PC_OK) s = pc_session_open(prompt, NULL, &sessions[i], &error);
    pc_prompt_close(prompt); /* the session keeps what it needs */
    running[n_running] = sessions[i];
    who[n_running++] = i;
  }
  while (s == PC_OK && n_running > 0) {
    s = pc_batch_step(running, n_running, tokens, outcomes, &error);
    size_t left = 0; /* those that go on */
    for (size_t i = 0; s == PC_OK && i < n_running; ++i) {
      const pc_status outcome = outcomes[i].status;
      char* answer = answers[who[i]];
      const size_t end = strlen(answer);
      snprintf(answer + end, sizeof answers[0] - end, "%s", tokens[i].text);
      if (outcome != PC_OK && outcome != PC_PENDING && outcome != PC_DONE)
        fprintf(stderr, "%s: %s\n", argv[4 + who[i]], outcomes[i].message), failed = 1;
      if (outcome != PC_OK && outcome != PC_PENDING) continue;
      running[left] = running[i];
      who[left++] = who[i];
    }
    n_running = left;
  }
  for (size_t i = 0; s == PC_OK && i < n; ++i) printf("%s %s\n", argv[4 + i], answers[i]);
  if (s != PC_OK) fprintf(stderr, "%s\n", error.message);

  for (size_t i = 0; i < n; ++i) pc_session_close(sessions[i]);
  pc_schema_close(schema);
  pc_engine_close(engine);
  return s == PC_OK && !failed ? 0 : 1;
}
