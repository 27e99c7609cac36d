#include <promptcache/promptcache.h>
#include <stdio.h>

/* A conversation that goes on in the next process: each run asks one question more. What was said
 * lies in FILE, questions and answers in turn, a NUL behind each; what was computed of it lies in
 * the store (pc_session_keep), where the prompt that has all of it finds it. */

enum { MOST_TURNS = 1000 };

static pc_error error;
static char text[1 << 20]; /* of all turns */
static pc_message turns[MOST_TURNS];

/* What was said, with a question behind it; gives the number of turns, 0: too much was said. */
static size_t read_turns(FILE* file, const char* question) {
  const size_t bytes = file ? fread(text, 1, sizeof text, file) : 0;
  size_t n = 0, at = 0;
  for (size_t i = 0; i < bytes && n < MOST_TURNS; ++i) {
    if (text[i] != '\0') continue;
    turns[n] = (pc_message){n % 2 == 0 ? "user" : "assistant", text + at, i - at, NULL, 0};
    ++n, at = i + 1;
  }
  if (bytes == sizeof text || n % 2 != 0 || n == MOST_TURNS) return 0;
  turns[n] = (pc_message){"user", question, PC_NUL_TERMINATED, NULL, 0};
  return n + 1;
}

/* Says the answer; what was said is written down once that is whole, and kept. */
static pc_status answer(pc_session* session, const char* path, const char* question) {
  static char said[1 << 16];
  size_t bytes = 0;
  pc_token token;
  pc_status s;
  while ((s = pc_session_next(session, &token, &error)) == PC_OK || s == PC_DONE) {
    fputs(token.text, stdout);
    for (size_t i = 0; i < token.text_bytes && bytes < sizeof said; ++i)
      said[bytes++] = token.text[i];
    if (s == PC_DONE) break;
  }
  if (s != PC_DONE) return s;
  FILE* file = fopen(path, "ab");
  if (!file) {
    snprintf(error.message, sizeof error.message, "%s cannot be written", path);
    return PC_IO;
  }
  fprintf(file, "%s%c", question, '\0');
  fwrite(said, 1, bytes, file);
  fputc('\0', file);
  fclose(file);
  return pc_session_keep(session, NULL, &error);
}

int main(int argc, char** argv) { /* MODEL FILE QUESTION */
  if (argc != 4) return fputs("usage: resume MODEL FILE QUESTION\n", stderr), 2;
  FILE* file = fopen(argv[2], "rb");
  const size_t n = read_turns(file, argv[3]);
  if (file) fclose(file);
  if (n == 0) return fprintf(stderr, "%s is no conversation, or too long\n", argv[2]), 1;

  pc_engine_options options;
  pc_engine_options_init(&options);
  options.model_path = argv[1];
  pc_engine* engine = NULL;
  pc_schema* schema = NULL;
  pc_prompt* prompt = NULL;
  pc_session* session = NULL;
  pc_status s = pc_engine_open(&options, &engine, &error);
  if (s == PC_OK) s = pc_schema_plain(engine, &schema, &error);
  if (s == PC_OK) s = pc_prompt_from_messages(schema, turns, n, &prompt, &error);
  if (s == PC_OK) s = pc_session_open(prompt, NULL, &session, &error);
  if (s == PC_OK) s = answer(session, argv[2], argv[3]);
  if (s != PC_OK) fprintf(stderr, "%s\n", error.message);
  if (s == PC_OK) {
    pc_session_stats stats;
    stats.struct_size = sizeof stats;
    pc_session_get_stats(session, &stats);
    fprintf(stderr, "\n%llu tokens, of which %llu were there\n",
            (unsigned long long)stats.prompt_tokens, (unsigned long long)stats.chained_tokens);
  }

  pc_session_close(session);
  pc_prompt_close(prompt);
  pc_schema_close(schema);
  pc_engine_close(engine);
  return s == PC_OK ? 0 : 1;
}
