/* Part of c_api_test: answers that are drawn each in its own way. */
#include <stdio.h>
#include <string.h>

#include "promptcache/promptcache.h"

int draw_otherwise(const pc_prompt* prompt);

static int failures = 0;
static pc_error error;

static void check(int is_so, int line) {
  if (is_so) return;
  ++failures;
  fprintf(stderr, "%s:%d: it is not so; last error: %s\n", __FILE__, line, error.message);
}
#define CHECK(condition) check(condition, __LINE__)

static void rest(pc_session* session) {
  pc_token token;
  while (pc_session_next(session, &token, &error) == PC_OK) continue;
}

int draw_otherwise(const pc_prompt* prompt) {
  pc_session_options options;
  pc_session* session = NULL;
  pc_session_stats stats;
  const pc_message next = {"user", "And then?", PC_NUL_TERMINATED, NULL, 0};
  stats.struct_size = sizeof stats;
  pc_session_options_init(&options);
  options.max_tokens = 6;
  CHECK(pc_session_open(prompt, &options, &session, &error) == PC_OK);
  rest(session);
  options.max_tokens = 2;
  CHECK(pc_session_set_answer(session, &options, &error) == PC_OK);
  CHECK(pc_session_append(session, &next, 1, &error) == PC_OK);
  rest(session);
  pc_session_get_stats(session, &stats);
  CHECK(stats.generated_tokens <= 2);
  options.given = PC_GIVEN_MAX_TOKENS, options.max_tokens = 0;
  CHECK(pc_session_set_answer(session, &options, &error) == PC_OK);
  CHECK(pc_session_append(session, &next, 1, &error) == PC_OK);
  rest(session);
  pc_session_get_stats(session, &stats);
  CHECK(stats.generated_tokens == 0 && stats.finish == PC_FINISH_LENGTH);
  options.min_p = 2;
  CHECK(pc_session_set_answer(session, &options, &error) == PC_INVALID_ARGUMENT &&
        strstr(error.message, "min-p") != NULL);
  options.min_p = 0, options.n_stop = 1;
  CHECK(pc_session_set_answer(session, &options, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_session_set_answer(NULL, &options, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_session_set_answer(session, NULL, &error) == PC_OK);
  pc_session_close(session);
  return failures;
}
