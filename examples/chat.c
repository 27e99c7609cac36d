#include <promptcache/promptcache.h>
#include <stdio.h>
#include <string.h>

/* A conversation: answers a PML prompt, then each line of the standard input. What was said is
 * not computed again; each answer comes as it grows. */

static pc_error error;

static pc_status answer(pc_session* session) {
  pc_token token;
  pc_status status;
  do {
    status = pc_session_next(session, &token, &error);
    if (status == PC_OK || status == PC_DONE) fputs(token.text, stdout);
    fflush(stdout);
  } while (status == PC_OK);
  puts("");
  return status == PC_DONE ? PC_OK : status;
}

static pc_status ask(pc_session* session, char* line) {
  line[strcspn(line, "\n")] = '\0';
  const pc_message message = {"user", line, PC_NUL_TERMINATED, NULL, 0};
  pc_status status = pc_session_append(session, &message, 1, &error);
  if (status == PC_OK) status = answer(session);
  return status;
}

int main(int argc, char** argv) { /* MODEL SCHEMA PROMPT */
  static char text[1 << 16];
  FILE* file = argc == 4 ? fopen(argv[3], "rb") : NULL;
  if (!file) return fputs("usage: chat MODEL SCHEMA PROMPT < QUESTIONS\n", stderr), 2;
  const size_t bytes = fread(text, 1, sizeof text, file);
  fclose(file);

  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = argv[1];
  pc_engine* engine = NULL;
  pc_schema* schema = NULL;
  pc_prompt* prompt = NULL;
  pc_session* session = NULL;
  pc_status s = pc_engine_open(&options, &engine, &error);
  if (s == PC_OK) s = pc_schema_load(engine, argv[2], &schema, &error);
  if (s == PC_OK) s = pc_prompt_parse(schema, text, bytes, &prompt, &error);
  if (s == PC_OK) s = pc_session_open(prompt, NULL, &session, &error);
  if (s == PC_OK) s = answer(session);
  while (s == PC_OK && fgets(text, sizeof text, stdin)) s = ask(session, text);
  if (s != PC_OK) fprintf(stderr, "%s\n", error.message);

  pc_session_close(session);
  pc_prompt_close(prompt);
  pc_schema_close(schema);
  pc_engine_close(engine);
  return s == PC_OK ? 0 : 1;
}
