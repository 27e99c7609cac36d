#include <promptcache/promptcache.h>
#include <stdio.h>

int main(int argc, char** argv) { /* MODEL SCHEMA PROMPT: answers a PML prompt */
  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = argc == 4 ? argv[1] : "";
  static char pml[1 << 16];
  FILE* file = argc == 4 ? fopen(argv[3], "rb") : NULL;
  if (!file) return fputs("usage: hello MODEL SCHEMA PROMPT\n", stderr), 2;
  size_t bytes = fread(pml, 1, sizeof pml, file); fclose(file);
  pc_engine* engine = NULL; pc_schema* schema = NULL;
  pc_prompt* prompt = NULL; pc_session* session = NULL;
  pc_token token; pc_error error;
  pc_status s = pc_engine_open(&options, &engine, &error);
  if (s == PC_OK) s = pc_schema_load(engine, argv[2], &schema, &error);
  if (s == PC_OK) s = pc_prompt_parse(schema, pml, bytes, &prompt, &error);
  if (s == PC_OK) s = pc_session_open(prompt, NULL, &session, &error);
  while (s == PC_OK && ((s = pc_session_next(session, &token, &error)) == PC_OK || s == PC_DONE))
    fputs(token.text, stdout);
  puts(s == PC_DONE ? "" : error.message);
  pc_session_close(session), pc_prompt_close(prompt);
  pc_schema_close(schema), pc_engine_close(engine);
  return s == PC_DONE ? 0 : 1;
}
