#include <promptcache/promptcache.h>
#include <stdio.h>

/* Constrained output: the answer is one of the texts on the command line, whatever the model would
 * rather say. A constraint is compiled once, and serves any number of sessions. */

int main(int argc, char** argv) { /* MODEL QUESTION CHOICE... */
  if (argc < 4) return fputs("usage: choice MODEL QUESTION CHOICE...\n", stderr), 2;
  pc_error error = {0};
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = argv[1];
  pc_engine* engine = NULL;
  pc_constraint* constraint = NULL;
  pc_schema* schema = NULL;
  pc_prompt* prompt = NULL;
  pc_session* session = NULL;
  pc_status s = pc_engine_open(&options, &engine, &error);
  if (s == PC_OK)
    s = pc_constraint_from_choices(engine, (const char* const*)(argv + 3), (size_t)argc - 3,
                                   &constraint, &error);
  pc_session_options asking;
  pc_session_options_init(&asking);
  asking.constraint = constraint;
  const pc_message message = {"user", argv[2], PC_NUL_TERMINATED, NULL, 0};
  if (s == PC_OK) s = pc_schema_plain(engine, &schema, &error);
  if (s == PC_OK) s = pc_prompt_from_messages(schema, &message, 1, &prompt, &error);
  if (s == PC_OK) s = pc_session_open(prompt, &asking, &session, &error);
  while (s == PC_OK) {
    pc_token token;
    s = pc_session_next(session, &token, &error);
    if (s == PC_OK || s == PC_DONE) fputs(token.text, stdout);
  }
  puts("");
  if (s != PC_DONE) fprintf(stderr, "%s\n", error.message);

  pc_session_close(session);
  pc_prompt_close(prompt);
  pc_schema_close(schema);
  pc_constraint_close(constraint);
  pc_engine_close(engine);
  return s == PC_DONE ? 0 : 1;
}
