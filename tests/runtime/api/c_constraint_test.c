/* Answers that are held to something, from C. */
#include <string.h>

#include "promptcache/promptcache.h"
#include "tests/runtime/api/c_check.h"

/* Adds to the text what comes until the answer is over. */
static void rest_of(pc_session* session, char* text, size_t room) {
  pc_token token;
  pc_status status;
  do {
    status = pc_session_next(session, &token, &error);
    CHECK(status == PC_OK || status == PC_DONE);
    if (status == PC_OK || status == PC_DONE) strncat(text, token.text, room - strlen(text) - 1);
  } while (status == PC_OK);
}

static void choose(const pc_engine* engine, const pc_prompt* prompt) {
  const char* const choices[] = {"Oslo", "Bergen"};
  pc_constraint* constraint = NULL;
  pc_session_options options;
  pc_session *session = NULL, *fork = NULL;
  pc_session_stats stats = {.struct_size = sizeof stats};
  char text[64] = "", same[64] = "";
  CHECK(pc_constraint_from_choices(engine, choices, 2, &constraint, &error) == PC_OK);
  pc_session_options_init(&options);
  options.constraint = constraint;
  CHECK(pc_session_open(prompt, &options, &session, &error) == PC_OK);
  CHECK(pc_session_prefill(session, &error) == PC_OK);
  CHECK(pc_session_fork(session, &fork, &error) == PC_OK);
  pc_constraint_close(constraint); /* the sessions keep what they need */
  rest_of(session, text, sizeof text);
  rest_of(fork, same, sizeof same);
  CHECK(strcmp(text, "Oslo") == 0 || strcmp(text, "Bergen") == 0);
  CHECK(strcmp(text, same) == 0); /* the likeliest, both times */
  pc_session_get_stats(session, &stats);
  CHECK(stats.finish == PC_FINISH_EOS);
  pc_session_close(fork);
  pc_session_close(session);
}

static void refuse(const pc_engine* engine) {
  const char* const none[] = {"Oslo", NULL};
  pc_constraint* constraint = NULL;
  CHECK(pc_constraint_from_json_schema(engine, "{\"items\": {\"$ref\": \"x.json\"}}",
                                       PC_NUL_TERMINATED, &constraint, &error) == PC_UNSUPPORTED);
  CHECK(strstr(error.message, "schema/items: ") != NULL);
  CHECK(pc_constraint_from_json_schema(engine, "{", 1, &constraint, &error) == PC_CORRUPT);
  CHECK(pc_constraint_from_regex(engine, "a|", 1, &constraint, &error) == PC_OK); /* "a" */
  pc_constraint_close(constraint);
  constraint = NULL;
  CHECK(pc_constraint_from_gbnf(engine, "root ::= ?", PC_NUL_TERMINATED, &constraint, &error) ==
        PC_UNSUPPORTED);
  CHECK(pc_constraint_from_choices(engine, none, 2, &constraint, &error) == PC_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "choices[1]") != NULL);
  CHECK(pc_constraint_from_choices(engine, none, 0, &constraint, &error) == PC_INVALID_ARGUMENT);
  CHECK(pc_constraint_from_regex(engine, NULL, 0, &constraint, NULL) == PC_INVALID_ARGUMENT);
  CHECK(pc_constraint_from_gbnf(NULL, "root ::= \"a\"", 0, &constraint, NULL) ==
        PC_INVALID_ARGUMENT);
  CHECK(constraint == NULL);
  pc_constraint_close(NULL);
}

void constrain(const pc_engine* engine, const pc_prompt* prompt) {
  choose(engine, prompt);
  refuse(engine);
}
