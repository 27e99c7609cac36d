/* promptcache: modular attention reuse for transformer inference on the CPU.
 *
 * An engine is a loaded model with a store of encoded modules. A schema is a PML document laid out
 * for it; a prompt is a PML prompt resolved against a schema; a session is one conversation.
 *
 * Conventions
 *  - C99. Strings are UTF-8; where a length is asked for, PC_NUL_TERMINATED means strlen, and so
 *    does 0 in a struct ("" is the empty text there). Paths are NUL-terminated.
 *  - Calls that can fail return a pc_status and fill the caller's pc_error (which may be NULL).
 *    Out-parameters come last before it and are untouched on failure, but for statistics. No
 *    exception, abort, exit or print ever crosses this header.
 *  - Option structs begin with struct_size: set them with their _init function, then change what
 *    you need. Zero, NULL and 0.0 mean the default, unless a bit of `given` says that the field's
 *    zero is meant. Fields are only ever added at their end; one that this library does not know is
 *    an error unless it is zero. Structs that a call fills begin with struct_size, too: set it to
 *    sizeof, the call fills that much.
 *  - Handles are opaque. Each *_close accepts NULL. Handles keep what they need alive, so they may
 *    be closed in any order.
 *  - Reports are JSON texts, owned by the caller and freed with pc_free: fields are added over
 *    time, never renamed.
 *  - Threads: a pc_session is used by one thread at a time; only pc_session_cancel may be called
 *    from others (or a signal handler). All other handles may be used by any number of threads at
 *    once. Sessions of one engine that are asked on several threads are computed together, step by
 *    step, by one team of threads; one that is forked from another is a session like any other. An
 *    engine that has computed cannot in a child made by fork alone, which gets an error; exec gives
 *    the child its own. */
#ifndef PROMPTCACHE_PROMPTCACHE_H_
#define PROMPTCACHE_PROMPTCACHE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PC_API __attribute__((visibility("default")))
#else
#define PC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PC_NUL_TERMINATED SIZE_MAX

/* Stable; only ever appended to. */
typedef int32_t pc_status;
enum {
  PC_OK = 0,
  PC_INVALID_ARGUMENT = 1, /* the caller's value cannot be meant */
  PC_NOT_FOUND = 2,        /* a named file, module or object does not exist */
  PC_IO = 3,               /* the operating system refused */
  PC_CORRUPT = 4,          /* bytes that contradict themselves */
  PC_UNSUPPORTED = 5,      /* understood, but not something this build can run */
  PC_MISMATCH = 6,         /* two sound things that do not belong together */
  PC_PML_SYNTAX = 7,       /* not well-formed XML, or over a limit */
  PC_PML_SEMANTIC = 8,     /* well-formed PML that breaks a rule of the language */
  PC_CONTEXT_FULL = 9,     /* the prompt and its answer do not fit the context window */
  PC_OUT_OF_MEMORY = 10,
  PC_BUDGET = 11, /* an object is larger than the store may hold */
  PC_CANCELLED = 12,
  PC_INTERNAL = 13,   /* a defect in promptcache itself */
  PC_NOT_FINITE = 14, /* the model computed NaN or infinity: no token, no module comes of it */
  PC_DONE = 100,      /* pc_session_next: the generation is over */
  PC_PENDING = 101    /* pc_batch_step: this session's token is not computed yet */
};

typedef struct pc_error {
  pc_status status;
  uint32_t line;      /* of the PML document, 1-based; 0 = not about a place */
  uint32_t column;    /* in bytes, 1-based */
  char message[4608]; /* one sentence, whole with any path; a longer one lacks its middle */
} pc_error;

typedef struct pc_engine pc_engine;
typedef struct pc_schema pc_schema;
typedef struct pc_prompt pc_prompt;
typedef struct pc_chat pc_chat;
typedef struct pc_session pc_session;
typedef struct pc_store pc_store;
typedef struct pc_pin pc_pin;
typedef struct pc_constraint pc_constraint;
typedef struct pc_tools pc_tools;
typedef struct pc_call_reader pc_call_reader;

/* ---- General */

PC_API const char* pc_version(void);                 /* "0.1.0" */
PC_API const char* pc_status_name(pc_status status); /* "pml-syntax"; "unknown" for others */
PC_API void pc_free(void* memory);
/* JSON: version, compiler, instruction sets (compiled, supported, selected), matrices, threads. */
PC_API pc_status pc_build_describe(char** json, pc_error* error);

typedef enum pc_log_level {
  PC_LOG_WARNING = 1, /* something costs more than it should: a module that cannot be stored */
  PC_LOG_INFO = 2     /* what takes long: an engine that opened, a module that was encoded */
} pc_log_level;

/* A sentence of what happened, where no caller is told. Called while the call that it is about is
 * under way, on its thread or one that works for it, one at a time; must not call the library. */
typedef void (*pc_log_sink)(void* user, int32_t level, const char* message);

/* For the whole process: messages up to this pc_log_level go to sink; NULL: none do, as at the
 * start. Once it returns, the sink before is not called any more. Errors are returned as ever. */
PC_API void pc_set_log(pc_log_sink sink, void* user, int32_t level);

/* ---- Engine: a loaded model and a store */

typedef enum pc_cache_mode {
  PC_CACHE_READ_WRITE = 0,
  PC_CACHE_READ_ONLY = 1, /* modules on disk are used, none is written */
  PC_CACHE_OFF = 2        /* modules live in this process's memory only: while a session uses them,
                             and the latest used as long as cache_bytes has room */
} pc_cache_mode;

/* Of what is found in a store of cache_from: */
typedef enum pc_cache_copy {
  PC_COPY_AUTO = 0,   /* copied into cache_dir if it must not be mapped where it lies (its file
                         system may hang, others may write to it), or was read slowly */
  PC_COPY_ALWAYS = 1, /* copied into cache_dir */
  PC_COPY_NEVER = 2   /* copied into memory if it must not be mapped */
} pc_cache_copy;

typedef enum pc_kv_type {
  PC_KV_DEFAULT = 0,
  PC_KV_F32 = 1,
  PC_KV_BF16 = 2,
  PC_KV_Q8 = 3, /* 8 bits, a scale for 32 numbers of a key and for each value; half of bf16 */
  PC_KV_Q4 = 4  /* modules in 4 bits and two of steps, what a session computes in bf16; for heads of
                   a  multiple of 16 dimensions */
} pc_kv_type;

/* What takes long when a model is opened: seconds for gigabytes. */
typedef enum pc_open_step {
  PC_OPEN_READ_WEIGHTS = 1, /* the first time: all are hashed and checked */
  PC_OPEN_PACK_WEIGHTS = 2, /* the first time, where they are quantised and a store is in use */
  PC_OPEN_CHECK_PACKED = 3  /* deterministic, the first time since the machine started */
} pc_open_step;

/* Bytes done, of so many, of one step after the other; on the caller's thread, at each step's start
 * and as it goes on. Non-zero cancels: PC_CANCELLED, and nothing is left half made. */
typedef int (*pc_open_progress)(void* user, uint32_t step, uint64_t done, uint64_t total);

/* Bytes of a text that are tokenised, of so many: called every few milliseconds by any call that
 * tokenises a text of more than 64 KiB, on its thread. Non-zero cancels: the call returns
 * PC_CANCELLED. Must not call the library. */
typedef int (*pc_text_progress)(void* user, uint64_t done, uint64_t total);

typedef enum pc_precision {
  PC_PRECISION_DEFAULT = 0, /* activations are rounded as the kernels want them: 8 bits or bf16 */
  PC_PRECISION_EXACT = 1,   /* f32 activations on weights widened exactly; slower: to compare */
  PC_PRECISION_DETERMINISTIC = 2 /* as default, but sums have one order, whatever is beside them */
} pc_precision;

/* Fields of pc_engine_options whose zero is meant, and is not the default. */
typedef enum pc_engine_given {
  PC_GIVEN_CHAT_TIME = 1 /* 0: midnight of the 1st of January 1970 */
} pc_engine_given;

typedef struct pc_engine_options {
  size_t struct_size;
  const char* model_path; /* a Hugging Face folder, or a GGUF file */
  const char* cache_dir;  /* NULL: $XDG_CACHE_HOME/promptcache, else ~/.cache/promptcache */
  uint32_t cache_mode;    /* pc_cache_mode */
  uint32_t kv_type;       /* pc_kv_type; default bf16, and f32 with PC_PRECISION_EXACT */
  uint64_t cache_bytes;   /* budget of the store; default 8 GiB. Of it an eighth is what modules
                           that no session uses may hold back from eviction; a module that
                           is larger than all of it is refused (PC_BUDGET) */
  const char* cache_namespace; /* modules of different namespaces are never shared */
  /* A name ("chatml"), or the path of a JSON file, with a '/' or ending in ".json", or of a
     template in Jinja, ending in ".jinja" (docs/CHAT_TEMPLATES.md). NULL: the template in the
     model's files. */
  const char* chat_template;
  const char* backend;       /* NULL or "cpu", or the absolute path of a plug-in */
  uint32_t n_threads;        /* default: as many as this process may use */
  uint32_t context_tokens;   /* at most the model's own; default: the model's own */
  pc_open_progress progress; /* may be NULL */
  void* progress_user;
  /* What the model's template is told when it asks for the date, in seconds since 1970 (UTC); 0,
     unless PC_GIVEN_CHAT_TIME: midnight, in the machine's time zone, of the day on which a
     conversation is written or, for it and its prompts, a schema is loaded. */
  int64_t chat_time;
  uint32_t precision;       /* pc_precision; modules of one are not used by the other */
  uint32_t require_backend; /* 1: a plug-in that cannot be used, or has no memory for a request, is
                               an error; 0: the CPU takes over */
  /* 1: a store that cannot be opened, or written where cache_mode wants it, is an error; 0: then
     modules live in memory, and a remark of pc_engine_describe says why. */
  uint32_t require_store;
  pc_text_progress text_progress; /* may be NULL */
  void* text_progress_user;
  uint32_t given; /* bits of pc_engine_given: whose zero is meant; others: PC_UNSUPPORTED */
  /* Folders of stores that are asked, in this order, for modules that cache_dir does not have, and
     never written to. They may not be there, or not answer: then they are done without, and
     remarks say so. With PC_CACHE_OFF they are PC_INVALID_ARGUMENT. */
  const char* const* cache_from;
  size_t n_cache_from;
  /* Files of public keys (Ed25519, PEM), whose signatures in a store of cache_from (pc_store_sign)
     stand for modules that other users may write. */
  const char* const* cache_trust;
  size_t n_cache_trust;
  uint32_t cache_copy; /* pc_cache_copy */
} pc_engine_options;

PC_API void pc_engine_options_init(pc_engine_options* options);
PC_API pc_status pc_engine_open(const pc_engine_options* options, pc_engine** engine,
                                pc_error* error);
PC_API void pc_engine_close(pc_engine* engine);

/* The same engine for another user: what is made with the new handle, schemas, prompts and
 * conversations, has modules of its own that no other namespace sees. "" is one, too. */
PC_API pc_status pc_engine_in_namespace(const pc_engine* engine, const char* cache_namespace,
                                        pc_engine** view, pc_error* error);

typedef struct pc_engine_facts {
  size_t struct_size;
  uint32_t context_tokens; /* window of a prompt and its answer */
  uint32_t vocab_size;     /* of logits and masks */
  uint64_t kv_token_bytes; /* attention states of a token, as modules have them */
  uint64_t n_parameters;
  uint64_t weight_bytes;
  int32_t bos;                /* token, or -1 */
  uint32_t has_chat_format;   /* roles may be used */
  uint32_t store_in_use;      /* modules are looked for, and kept unless it is read-only */
  uint32_t backend_fell_back; /* the CPU computes in the place of the plug-in that was asked for */
  /* For models that fill in the middle, by keys of GGUF or well-known spellings, each a token or
     -1: in front of what precedes the gap, of what follows it and of what belongs there; one that
     stands for no text; in front of a repository's name, and of a file's. */
  int32_t fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repo, fim_file;
  uint32_t n_dimensions; /* of a text's vector (pc_embed) */
  uint32_t pooling;      /* pc_pooling that the model's files ask for; PC_POOLING_MODEL: they say
                            nothing, so it was not made for vectors */
} pc_engine_facts;

PC_API pc_status pc_engine_get_facts(const pc_engine* engine, pc_engine_facts* facts,
                                     pc_error* error);

/* How this engine came by the modules that were asked for since it was opened, and what its store
 * did to files. A module that was encoded counts once, by the reason for which it was not found. */
typedef struct pc_cache_counts {
  size_t struct_size;
  uint64_t held;          /* were in memory */
  uint64_t found;         /* in the store */
  uint64_t not_encoded;   /* encoded: the store had no such file */
  uint64_t corrupt;       /* encoded: the file was damaged */
  uint64_t other_version; /* encoded: the file is of another version's format */
  uint64_t mismatch;      /* encoded: a file under the wrong name */
  uint64_t unreadable;    /* encoded: the system refused, or it is a stranger's file */
  uint64_t no_store;      /* encoded: there is none */
  uint64_t stored;        /* of those encoded: became files */
  uint64_t not_stored;    /* of those encoded: the store would not take them */
  uint64_t mapped_bytes;  /* of those found: used where they lie in their files */
  uint64_t copied_bytes;  /* of those not stored: moved from a file into memory */
  uint64_t evicted_files; /* by this engine, for its budget */
  uint64_t evicted_bytes;
  uint64_t set_aside_files; /* damaged ones that it moved out of the way */
  uint64_t lost_mappings;   /* of this process: files that were cut short under it */
  uint64_t found_behind;    /* look-ups that stores of cache_from answered, some more than one a
                               module: a plan's, and its use */
  uint64_t found_behind_bytes;
  uint64_t failed_behind; /* listed there, and not to be had */
} pc_cache_counts;

PC_API pc_status pc_engine_get_cache_counts(const pc_engine* engine, pc_cache_counts* counts,
                                            pc_error* error);

/* Does this token end the model's turn? 1 or 0. */
PC_API int pc_engine_ends_turn(const pc_engine* engine, int32_t token);

typedef struct pc_token_facts {
  size_t struct_size;
  const char* bytes; /* what it stands for amid a text, maybe a part of a character, maybe none;
                        [n_bytes], valid until the engine is closed */
  size_t n_bytes;
  uint32_t is_control;  /* shows nothing in an answer: n_bytes is 0 */
  uint32_t ends_turn;   /* as pc_engine_ends_turn says */
  const char* spelling; /* of a control token, as chat templates write it; of others none;
                           [n_spelling], valid as long as bytes */
  size_t n_spelling;
  uint32_t is_added; /* an added token that is text: wherever a text has its bytes, and no longer
                        such token there, it becomes this token and never others */
} pc_token_facts;

/* For masks: one token of the model's vocabulary, by itself. Tokens that a model has beyond its
 * tokenizer's vocabulary are control tokens. */
PC_API pc_status pc_engine_get_token(const pc_engine* engine, int32_t token, pc_token_facts* facts,
                                     pc_error* error);

/* Lets go of the modules that no session, pin or running call uses; the store keeps its files. For
 * when memory is short. bytes: of those; may be NULL. */
PC_API pc_status pc_engine_trim(const pc_engine* engine, uint64_t* bytes, pc_error* error);

/* JSON: architecture, shape, weight types and bytes, tokenizer, chat template,
 * K/V bytes a token, context window, digests, backend, cache. */
PC_API pc_status pc_engine_describe(const pc_engine* engine, char** json, pc_error* error);

/* The same of a model's files, without an engine: no weight is read, nothing is written. Of
 * options, model_path, context_tokens, kv_type and cache_dir count. JSON: architecture, family,
 * shape, types of each group of weights, tokenizer, chat template, position scheme, whether modules
 * can be used at another position, K/V bytes a token, digests (that of the weights only where it is
 * remembered), and `refused`: why an engine would not open, or null. Fails where no model is. */
PC_API pc_status pc_model_inspect(const pc_engine_options* options, char** json, pc_error* error);
/* Reads every byte of a model's files; of options, n_threads and progress count, too.
 * JSON: ok, a list of all problems found (parsing, tensors, numbers that are not
 * finite, tokenizer), digests. Damage is reported, not an error of the call. */
PC_API pc_status pc_model_verify(const pc_engine_options* options, char** json, pc_error* error);

/* Reads at most 512 tokens of a text with the model: does it compute what it should?
 * text NULL: a page of English prose. JSON: ok, tokens, perplexity, prefill_distance (of
 * the last logits between one by one and at once: relative, L2), layers (the largest
 * number behind the embedding and behind each layer, and how many are not finite),
 * problems, a list of sentences. What is found is reported, not an error of the call. */
PC_API pc_status pc_model_probe(const pc_engine_options* options, const char* text, size_t bytes,
                                char** json, pc_error* error);

/* Longest text that is tokenised at once; a longer one is PC_INVALID_ARGUMENT. docs/TOKENIZERS.md
 * has times; text_progress of pc_engine_options shows how far a call is, and cancels it. */
#define PC_MAX_TEXT_BYTES 8388608

/* As the model's tokenizer encodes a whole text; no BOS is added. Writes up to
 * `capacity` ids and always the full count. */
PC_API pc_status pc_tokenize(const pc_engine* engine, const char* text, size_t bytes,
                             int32_t* tokens, size_t capacity, size_t* n_tokens, pc_error* error);
typedef enum pc_text_flags {
  PC_TEXT_CONTROLS = 1, /* spellings of control tokens are those tokens, and not text */
  PC_TEXT_BOS = 2, /* BOS stands in front, where the model's tokenizer puts one and the text does
                      not begin with it already */
  PC_TEXT_END = 4  /* behind it stands what the model's tokenizer puts behind a whole text, where it
                      puts anything: for pc_embed */
} pc_text_flags;

/* The same by these pc_text_flags; others: PC_UNSUPPORTED. */
PC_API pc_status pc_tokenize_text(const pc_engine* engine, const char* text, size_t bytes,
                                  uint32_t flags, int32_t* tokens, size_t capacity,
                                  size_t* n_tokens, pc_error* error);
/* The text of tokens, control tokens spelled out. Free with pc_free. bytes: of the text, which may
 * hold NULs; may be NULL. */
PC_API pc_status pc_detokenize(const pc_engine* engine, const int32_t* tokens, size_t n_tokens,
                               char** text, size_t* bytes, pc_error* error);

/* ---- Whole texts: vectors of them, and what the model would say behind each
 *
 * The texts of a call are computed side by side, as many at once as a step has room for. Where all
 * begin with the same tokens (an instruction, one query with many documents) that beginning is
 * computed once. Nothing of them is stored. */

/* What the tokens' states behind the final norm become one vector by. */
typedef enum pc_pooling {
  PC_POOLING_MODEL = 0, /* as the model's files say; the last token's where they say nothing */
  PC_POOLING_LAST = 1,  /* the last token's */
  PC_POOLING_MEAN = 2   /* the mean of all */
} pc_pooling;

typedef struct pc_text_tokens {
  const int32_t* tokens; /* not empty */
  size_t n_tokens;
} pc_text_tokens;

/* Tokens done, of so many of all texts: called on the caller's thread after each step. Non-zero
 * cancels: the call returns PC_CANCELLED. */
typedef int (*pc_texts_progress)(void* user, uint64_t done, uint64_t total);

typedef struct pc_texts_options {
  size_t struct_size;
  uint32_t pooling;           /* pc_pooling; of pc_embed */
  uint32_t n_dimensions;      /* the first so many of each vector; 0: all; of pc_embed */
  pc_texts_progress progress; /* may be NULL */
  void* progress_user;
} pc_texts_options;

PC_API void pc_texts_options_init(pc_texts_options* options);

/* A vector of each text, of length 1 (L2). vectors: [n, n_dimensions]; options may be NULL.
 * PC_UNSUPPORTED where the model's files ask for what is not computed; PC_CONTEXT_FULL for a text
 * that is longer than the context window. A plug-in that cannot gives way as it does elsewhere. */
PC_API pc_status pc_embed(const pc_engine* engine, const pc_text_tokens* texts, size_t n,
                          const pc_texts_options* options, float* vectors, pc_error* error);

/* The logits of these tokens behind each text: of "yes" and "no" behind a question, say, as models
 * are asked that judge documents. logits: [n, n_wanted]. Errors as above. */
PC_API pc_status pc_score(const pc_engine* engine, const pc_text_tokens* texts, size_t n,
                          const int32_t* wanted, size_t n_wanted, const pc_texts_options* options,
                          float* logits, pc_error* error);

/* ---- Schema */

/* From a file; src= is read beside it. */
PC_API pc_status pc_schema_load(const pc_engine* engine, const char* path, pc_schema** schema,
                                pc_error* error);
/* From memory; base_dir is where src= is read, NULL: src= is an error. */
PC_API pc_status pc_schema_parse(const pc_engine* engine, const char* pml, size_t bytes,
                                 const char* base_dir, pc_schema** schema, pc_error* error);
/* One without modules or text, for plain prompts. */
PC_API pc_status pc_schema_plain(const pc_engine* engine, pc_schema** schema, pc_error* error);
PC_API void pc_schema_close(pc_schema* schema);

/* JSON: name, modes, and for each module: path, tokens, bytes when stored,
 * position, parameters, cache; scaffolds; remarks worth an author's look. */
PC_API pc_status pc_schema_describe(const pc_schema* schema, char** json, pc_error* error);

typedef struct pc_schema_counts {
  size_t struct_size;
  uint32_t modules; /* named ones */
  uint32_t scaffolds;
  uint64_t tokens;       /* of all text */
  uint64_t stored_bytes; /* of all files that encoding makes */
} pc_schema_counts;

PC_API pc_status pc_schema_get_counts(const pc_schema* schema, pc_schema_counts* counts,
                                      pc_error* error);

typedef struct pc_encode_stats {
  size_t struct_size;
  uint32_t modules;         /* modules and scaffolds of the schema */
  uint32_t modules_encoded; /* computed by this call; the others were there */
  uint64_t tokens_computed;
  uint64_t bytes_stored;
  uint64_t microseconds;
} pc_encode_stats;

/* Called on the caller's thread: after each module and, while one is encoded or another
 * process that encodes it is waited for, about every 50 ms with the same `done` and that
 * module's name. Non-zero cancels: the call returns PC_CANCELLED, within a layer's time where
 * something is computed; modules that are done stay. */
typedef int (*pc_encode_progress)(void* user, uint32_t done, uint32_t total, const char* module);

/* Encodes every module that the store does not hold yet, as it is where a prompt
 * opens no turn around it. progress and stats may be NULL; stats are filled on failure, too. */
PC_API pc_status pc_schema_encode(const pc_schema* schema, pc_encode_progress progress, void* user,
                                  pc_encode_stats* stats, pc_error* error);

/* ---- Prompt */

PC_API pc_status pc_prompt_parse(const pc_schema* schema, const char* pml, size_t bytes,
                                 pc_prompt** prompt, pc_error* error);

/* What a parameter of a module is given. */
typedef struct pc_argument {
  const char* name;
  const char* value;
  size_t bytes; /* of value, or PC_NUL_TERMINATED */
} pc_argument;

/* A part of a message: text, or a module of the schema. */
typedef struct pc_part {
  const char* text;             /* NULL: a module */
  size_t bytes;                 /* of text, or PC_NUL_TERMINATED */
  const char* module;           /* its path, "europe/paris", which brings europe; NULL: text */
  const pc_argument* arguments; /* of the module's own parameters; [n_arguments] */
  size_t n_arguments;
} pc_part;

/* A turn of a chat: a text, or parts. */
typedef struct pc_message {
  const char* role;     /* "system", "user" or "assistant" */
  const char* content;  /* NULL: parts */
  size_t bytes;         /* of content, or PC_NUL_TERMINATED */
  const pc_part* parts; /* [n_parts] */
  size_t n_parts;
} pc_message;

/* The prompt of these turns, without XML: text is taken as it stands, markup in it is text. */
PC_API pc_status pc_prompt_from_messages(const pc_schema* schema, const pc_message* messages,
                                         size_t n, pc_prompt** prompt, pc_error* error);
/* The prompt that is this text, in no turn. */
PC_API pc_status pc_prompt_from_text(const pc_schema* schema, const char* text, size_t bytes,
                                     pc_prompt** prompt, pc_error* error);
/* The prompt that is the tokens of pc_tokenize_text, in no turn: with PC_TEXT_CONTROLS whoever
 * writes the text can write control tokens. Behind a schema's own text BOS is not put.
 * PC_UNSUPPORTED for a schema with turns. */
PC_API pc_status pc_prompt_from_raw_text(const pc_schema* schema, const char* text, size_t bytes,
                                         uint32_t flags, pc_prompt** prompt, pc_error* error);
/* The prompt that is these tokens as they are, control tokens included, and no BOS that they do not
 * begin with; behind the schema's own text. What was kept of a prompt with the same tokens is
 * found. PC_INVALID_ARGUMENT for an id that the model does not have, and for none. */
PC_API pc_status pc_prompt_from_tokens(const pc_schema* schema, const int32_t* tokens, size_t n,
                                       pc_prompt** prompt, pc_error* error);
PC_API void pc_prompt_close(pc_prompt* prompt);

/* ---- Whole conversations
 *
 * As chat protocols have them, with tools, their calls and their results, in the text that the
 * model's own template writes: pc_chat, made once by who compares prompts of it. Their sessions are
 * not appended to: the next request's prompt finds what was kept (pc_session_keep). */

typedef enum pc_chat_flags {
  PC_CHAT_MODULE = 1,    /* of a part or a tool: it is to be a module */
  PC_CHAT_CONTROLS = 2,  /* of a part: spellings of control tokens in it are those, as in what a
                            template writes; else they are text */
  PC_CHAT_CONTINUES = 4, /* of a conversation: its last message is an answer's, which goes on */
  PC_CHAT_ENDS = 8       /* of a conversation: no answer is opened behind it */
} pc_chat_flags;

typedef struct pc_chat_part {
  const char* text;
  size_t bytes;   /* of text, or PC_NUL_TERMINATED */
  uint32_t flags; /* of pc_chat_flags */
} pc_chat_part;

typedef enum pc_chat_content {
  PC_CONTENT_TEXT = 0,  /* one text: that of all parts */
  PC_CONTENT_PARTS = 1, /* a list, to a template that writes parts itself; to another one text */
  PC_CONTENT_NULL = 2,
  PC_CONTENT_ABSENT = 3
} pc_chat_content;

typedef struct pc_chat_message {
  const char* role;          /* "system", "developer", "user", "assistant", "tool" or "function" */
  uint32_t content;          /* of pc_chat_content */
  const pc_chat_part* parts; /* [n_parts]; none where the content is null or absent */
  size_t n_parts;
  const char* fields;  /* JSON: an object of the message's other fields ("tool_calls",
                          "tool_call_id", what else a template reads), or NULL. Arguments of calls
                          are what the template expects: objects as a rule */
  size_t fields_bytes; /* of fields, or PC_NUL_TERMINATED */
} pc_chat_message;

typedef struct pc_chat_tool {
  const char* json; /* as the template is given it: {"type": "function", "function": {...}} */
  size_t bytes;     /* of json, or PC_NUL_TERMINATED */
  uint32_t flags;   /* of pc_chat_flags */
} pc_chat_tool;

typedef struct pc_chat_options {
  size_t struct_size;
  const pc_chat_tool* tools; /* [n_tools]; NULL: the template is given none, else a list, be it
                                empty */
  size_t n_tools;
  const char* variables;  /* JSON: an object of what the template is told besides
                             ("enable_thinking"), or NULL */
  size_t variables_bytes; /* of variables, or PC_NUL_TERMINATED */
  const char* repair;     /* of the modules, as PML's attribute, whose schema is called "chat" (for
                             "auto"); NULL: "none" */
  uint32_t flags;         /* of pc_chat_flags */
} pc_chat_options;

PC_API void pc_chat_options_init(pc_chat_options* options);

/* options may be NULL. PC_INVALID_ARGUMENT names the field, and stands also where the template
 * refuses the conversation, in its own words; PC_UNSUPPORTED where a named chat format is to write
 * tools, or where the template would lose the calls that an answer has. */
PC_API pc_status pc_chat_write(const pc_engine* engine, const pc_chat_message* messages, size_t n,
                               const pc_chat_options* options, pc_chat** chat, pc_error* error);

/* The same of JSON, {"messages": [{"role", "content", ...}, ...], "tools": [...], "variables":
 * {...}, "add_generation_prompt": true, "continue_final_message": false, "repair": "none"}: a
 * content is a string, null, or a list of parts {"type": "text", "text": "..."}; parts and tools
 * may have "module": true, parts "controls": true. PC_CORRUPT: it is not JSON. */
PC_API pc_status pc_chat_read(const pc_engine* engine, const char* json, size_t bytes,
                              pc_chat** chat, pc_error* error);
PC_API void pc_chat_close(pc_chat* chat);

/* Free with pc_free. text_bytes may be NULL. */
PC_API pc_status pc_chat_text(const pc_chat* chat, char** text, size_t* text_bytes,
                              pc_error* error);

/* Which of the parts and tools that are to be modules are. A module is found whichever others are
 * beside it; where the template writes one so that it cannot be a module, it is computed, and the
 * prompt's remarks say why. */
typedef enum pc_chat_modules {
  PC_CHAT_MODULES = 0,       /* all; they saw the text before the first of them, and themselves */
  PC_CHAT_MODULES_APART = 1, /* all; of the text before the first they saw only what the template
                                writes before anything that was said, so that they are found
                                behind a system's text that is another each time */
  PC_CHAT_NO_MODULES = 2,    /* none: what was kept of conversations that began alike is found */
  PC_CHAT_IN_SLOTS = 4       /* beside one of these: in slots (docs/PML.md, 4.7), behind modules of
                                earlier conversations so made, once the store has some: the
                                beginnings of the first eight are kept beside it as plain text
                                until all is removed (pc_store_remove_all) */
} pc_chat_modules;

/* modules: of pc_chat_modules. */
PC_API pc_status pc_chat_prompt(const pc_chat* chat, uint32_t modules, pc_prompt** prompt,
                                pc_error* error);

/* pc_chat_read and pc_chat_prompt with PC_CHAT_MODULES. */
PC_API pc_status pc_prompt_from_chat(const pc_engine* engine, const char* json, size_t bytes,
                                     pc_prompt** prompt, pc_error* error);
/* pc_chat_read and pc_chat_text. */
PC_API pc_status pc_chat_render(const pc_engine* engine, const char* json, size_t bytes,
                                char** text, size_t* text_bytes, pc_error* error);

/* ---- What a prompt comes to */

/* All tokens of a prompt, in order, those of modules and turns included. Writes up to `capacity`
 * ids and always the full count. */
PC_API pc_status pc_prompt_tokens(const pc_prompt* prompt, int32_t* tokens, size_t capacity,
                                  size_t* n_tokens, pc_error* error);

/* What stands elsewhere than it was written and what else the author may not have
 * meant: sentences, a line each; "" if there is nothing to say. */
PC_API pc_status pc_prompt_remarks(const pc_prompt* prompt, char** text, pc_error* error);

/* Encodes the modules that this prompt uses and the store does not hold yet, as
 * pc_schema_encode does for the schema as it stands. A module that a prompt imports
 * in a turn of its own has seen the turn's opening, and is another file. */
PC_API pc_status pc_prompt_encode(const pc_prompt* prompt, pc_encode_progress progress, void* user,
                                  pc_encode_stats* stats, pc_error* error);

/* Encodes the modules of this prompt once more, together, each seeing those before it, as if the
 * schema had a scaffold of them (docs/PML.md, 4.5): prompts made from then on, by any process, that
 * import the same modules in the same order use that, and are as exact as a full prefill. Worth it
 * for sets that come again: it takes a full prefill's time, and one file more, which may be a
 * quarter of what the store may hold (PC_BUDGET), and with it what else such prompts need.
 * stats->modules is 0 where a prompt has no modules side by side. */
PC_API pc_status pc_prompt_encode_together(const pc_prompt* prompt, pc_encode_progress progress,
                                           void* user, pc_encode_stats* stats, pc_error* error);

/* This prompt will be asked soon, or one that chooses others of its unions' members: its modules,
 * and then those of up to 32 such members, are mapped where they are there, and read ahead from the
 * disk; one that was not used since the machine started is verified first. Encodes nothing. */
PC_API pc_status pc_prompt_prefetch(const pc_prompt* prompt, pc_error* error);

/* Finds or encodes the modules of a prompt, or of a schema as it stands, and holds them until the
 * pin is closed, whatever is evicted or trimmed. progress may be NULL. */
PC_API pc_status pc_prompt_pin(const pc_prompt* prompt, pc_encode_progress progress, void* user,
                               pc_pin** pin, pc_error* error);
PC_API pc_status pc_schema_pin(const pc_schema* schema, pc_encode_progress progress, void* user,
                               pc_pin** pin, pc_error* error);
PC_API void pc_pin_close(pc_pin* pin);

/* What a session would find and compute now. */
typedef struct pc_prompt_counts {
  size_t struct_size;
  uint64_t tokens;
  uint64_t module_tokens;      /* from modules, found or to be encoded first */
  uint64_t approximate_tokens; /* of these: of modules that saw something else than what stands
                                  before them here; with none, all is as if computed */
  uint64_t chained_tokens;     /* from kept conversations */
  uint64_t computed_tokens;    /* the rest */
  uint32_t modules;            /* files that it uses */
  uint32_t modules_missing;    /* of these, to be encoded first */
  uint32_t end;                /* position of the answer's first token */
  uint64_t repaired_tokens; /* of the approximate ones: computed anew, by repair= of the prompt or
                               its schema */
} pc_prompt_counts;

PC_API pc_status pc_prompt_get_counts(const pc_prompt* prompt, pc_prompt_counts* counts,
                                      pc_error* error);

typedef enum pc_run_state { PC_RUN_MISSING = 0, PC_RUN_STORED = 1, PC_RUN_HELD = 2 } pc_run_state;

/* A run of a prompt's tokens that a module has. */
typedef struct pc_module_run {
  uint64_t begin; /* of pc_prompt_tokens, its first */
  uint64_t n_tokens;
  uint32_t state;  /* of pc_run_state: of its module, in memory for PC_RUN_HELD */
  uint32_t exact;  /* 1: the module saw what stands before it here */
  char repair[32]; /* of one that is not exact, as PML's attribute; "auto": nothing was chosen yet,
                      and a session is refused */
  char why[256];   /* why the module is missing, or nothing was chosen: a sentence, or "" */
} pc_module_run;

/* The counts, and each run that a module has, found by one look at the store. Writes up to
 * `capacity` runs and always the full count; counts may be NULL. */
PC_API pc_status pc_prompt_look(const pc_prompt* prompt, pc_prompt_counts* counts,
                                pc_module_run* runs, size_t capacity, size_t* n_runs,
                                pc_error* error);

/* JSON: what a run would do now: for each run of tokens its place, source, hit
 * or miss and why, tokens, bytes; the prompt's remarks. Looks modules up; computes
 * nothing. What does not fit into the context window is refused as by a session. */
PC_API pc_status pc_prompt_explain(const pc_prompt* prompt, char** json, pc_error* error);

/* ---- Answers: what reuse does to them */

/* Prompts done, of so many: called on the caller's thread after each of their answers and about
 * every 50 ms. Non-zero cancels: the call returns PC_CANCELLED. */
typedef int (*pc_answers_progress)(void* user, uint32_t done, uint32_t total);

typedef struct pc_answers_options {
  size_t struct_size;
  uint32_t prompts;             /* made where none are given; 0: 24, or those that are given */
  uint32_t answer_tokens;       /* of each answer that are compared, at most; up to 256; 0: 24 */
  pc_answers_progress progress; /* may be NULL */
  void* progress_user;
} pc_answers_options;

PC_API void pc_answers_options_init(pc_answers_options* options);

/* Answers these prompts of the schema after a full prefill and then with their modules, in several
 * ways: repaired, and as if the schema said attend="slots"; and compares what the answers say.
 * Without prompts (n = 0), they are made from the schema's modules. JSON: of each way, the share of
 * answers that it kept, how near its tokens are, what is computed anew, the time to the first
 * token; and the verdict: the fastest way that keeps the answers, which repair="auto" stands for
 * from then on, for schemas of this name with this model, type of states and attend=, and another
 * for slots; where the cache directory may not be written, for this pc_schema ("kept": false). Null
 * where the prompts' modules are exact. Takes as long as to answer each prompt 20 times. options
 * may be NULL. */
PC_API pc_status pc_schema_check_answers(const pc_schema* schema, const pc_prompt* const* prompts,
                                         size_t n, const pc_answers_options* options, char** json,
                                         pc_error* error);

/* ---- Constraints: what an answer must be (docs/CONSTRAINED.md)
 *
 * Compiled once, for an engine's tokens, and used by any number of its sessions at once, whatever
 * their namespace (pc_engine_in_namespace): it holds no text but its own. An answer may end where
 * it is whole, and ends where nothing else can come; max_tokens and stop strings cut it.
 * PC_UNSUPPORTED: it cannot be enforced, is no pattern or grammar, or is too large; the message
 * names the place and why. PC_INVALID_ARGUMENT: no UTF-8 (but of a schema), a choice that is empty
 * or NULL, no choices. */

/* A JSON Schema. PC_CORRUPT: it is not JSON, has a key twice or a number beyond doubles; where it
 * is too deep, it is PC_UNSUPPORTED. */
PC_API pc_status pc_constraint_from_json_schema(const pc_engine* engine, const char* schema,
                                                size_t bytes, pc_constraint** constraint,
                                                pc_error* error);
/* One of these texts, none of which is empty. */
PC_API pc_status pc_constraint_from_choices(const pc_engine* engine, const char* const* choices,
                                            size_t n, pc_constraint** constraint, pc_error* error);
/* A text, not empty, all of which the pattern takes: what is regular of ECMA-262's expressions. */
PC_API pc_status pc_constraint_from_regex(const pc_engine* engine, const char* pattern,
                                          size_t bytes, pc_constraint** constraint,
                                          pc_error* error);
/* A grammar in GBNF, llama.cpp's notation, whose first rule is "root". */
PC_API pc_status pc_constraint_from_gbnf(const pc_engine* engine, const char* grammar, size_t bytes,
                                         pc_constraint** constraint, pc_error* error);
PC_API void pc_constraint_close(pc_constraint* constraint);

/* ---- Calls of tools
 *
 * How a model writes calls is learned from its chat template, by rendering calls that are known,
 * when an engine is first asked for it (docs/SERVER.md has the shapes). Sessions whose answers are
 * read spell control tokens (spell_controls). */

/* tools: JSON, [{"type": "function", "function": {"name", "parameters", ...}}, ...], as in pc_chat.
 * PC_UNSUPPORTED where the template writes no calls that can be read; PC_INVALID_ARGUMENT names the
 * field; PC_CORRUPT: it is not JSON. */
PC_API pc_status pc_tools_read(const pc_engine* engine, const char* tools, size_t bytes,
                               pc_tools** read, pc_error* error);
PC_API void pc_tools_close(pc_tools* tools);

/* An answer's message whose "tool_calls" are as OpenAI's API has them, arguments an object or JSON
 * in a string, as this model's template wants it; any other message as it is. JSON; free with
 * pc_free. */
PC_API pc_status pc_chat_called(const pc_engine* engine, const char* message, size_t bytes,
                                char** json, pc_error* error);

/* The answer is one call, as the template writes it, of the tool `name` (NULL: of any), with
 * arguments that the tool's schema takes; or, where form is given, JSON by this schema. */
PC_API pc_status pc_constraint_from_tools(const pc_tools* tools, const char* name, const char* form,
                                          size_t form_bytes, pc_constraint** constraint,
                                          pc_error* error);

typedef enum pc_call_reading {
  PC_CALLS_FORCED = 1,    /* the answer is held to be a call: what looks like one is */
  PC_CALLS_AS_WRITTEN = 2 /* JSON and fenced blocks that name a tool, but are not written as the
                             template writes calls, are text */
} pc_call_reading;

typedef enum pc_answer_piece_kind {
  PC_ANSWER_TEXT = 0,
  PC_ANSWER_CALL = 1,      /* a call begins: the tool's name */
  PC_ANSWER_ARGUMENTS = 2, /* of the latest call: all of them are an object in JSON */
  PC_ANSWER_CALL_END = 3   /* the latest call is whole; one that is cut off has no end */
} pc_answer_piece_kind;

typedef struct pc_answer_piece {
  int32_t kind; /* of pc_answer_piece_kind */
  const char* text;
  size_t bytes;
} pc_answer_piece;

/* Reads one answer. flags: of pc_call_reading. Used by one thread at a time; where a call of it
 * failed, by none. */
PC_API pc_status pc_call_reader_open(const pc_tools* tools, uint32_t flags, pc_call_reader** reader,
                                     pc_error* error);
/* Text that came; NULL: the answer is over. pieces: [n] that are certain by it, until the reader's
 * next call. */
PC_API pc_status pc_call_reader_push(pc_call_reader* reader, const char* text, size_t bytes,
                                     const pc_answer_piece** pieces, size_t* n, pc_error* error);
PC_API void pc_call_reader_close(pc_call_reader* reader);

/* A whole answer. JSON: {"content": "...", "tool_calls": [{"name", "arguments": {...}, "whole"}]};
 * whole: false where the answer ended within the call: arguments are as far as they go. */
PC_API pc_status pc_calls_read(const pc_tools* tools, uint32_t flags, const char* answer,
                               size_t bytes, char** json, pc_error* error);

/* ---- Session: one conversation, or one generation */

#define PC_SEED_RANDOM UINT64_MAX

typedef struct pc_token_bias {
  int32_t token;
  float bias; /* added to the token's logit; -INFINITY: it is never drawn */
} pc_token_bias;

/* Called on the caller's thread before each token is drawn: clears the bits of tokens that may not
 * be. session: the one that draws, maybe a fork; pc_session_logits and pc_session_logprobs of it
 * may be called. position: of the token to be drawn. allowed: token i is bit i % 32 of word i / 32,
 * all set before but what the constraint forbids, which stays forbidden whatever is set;
 * [(vocab_size + 31) / 32]. Non-zero ends pc_session_next with PC_CANCELLED. Then, and where no
 * token is left and that call fails, nothing was drawn, and the next call draws again. */
typedef int (*pc_token_mask)(void* user, const pc_session* session, uint32_t position,
                             uint32_t* allowed, size_t n_words);

/* Tokens done, of so many, of a prompt or of appended turns that are computed (modules are encoded
 * before): called on the caller's thread, before the first step, then after each but the last or
 * about every 50 ms; not by pc_batch_step, which returns after each. Non-zero cancels as
 * pc_session_cancel does. */
typedef int (*pc_session_progress)(void* user, uint64_t done, uint64_t total);

/* Called before the token that was drawn last is computed, on the caller's thread, where a draft is
 * wanted (max_draft) and has room: writes what is likely to follow it, at most `capacity` tokens, 1
 * to 15, and returns how many; 0: what the constraint forces is tried, or else what followed there
 * in the conversation. A draft ends before a token that ends the turn or is none of the model's.
 * Whatever it says, the answer is the same: what a grammar forces comes at the price of a step. */
typedef size_t (*pc_token_draft)(void* user, int32_t* tokens, size_t capacity);

/* Fields of pc_session_options whose zero is meant, and is not the default. */
typedef enum pc_session_given {
  /* 0: the prompt is computed and nothing drawn; the answer is over with PC_FINISH_LENGTH. */
  PC_GIVEN_MAX_TOKENS = 1,
  PC_GIVEN_TOP_P = 2,              /* 0: the likeliest token alone */
  PC_GIVEN_REPETITION_PENALTY = 4, /* 0: PC_INVALID_ARGUMENT, as nothing can be divided by it */
  PC_GIVEN_PROMPT_LOGPROBS = 8,    /* 0: of the prompt's tokens alone, without others beside them */
  PC_GIVEN_MAX_DRAFT = 16          /* 0: each token of an answer is computed by itself */
} pc_session_given;

/* At the end of the context window. */
typedef enum pc_overflow {
  PC_OVERFLOW_STOP = 0, /* turns that do not fit are PC_CONTEXT_FULL, and an answer ends */
  /* The oldest turns go whole, or where that is not enough the beginning of the last answer, and
     the conversation goes on: system text and a prompt's modules stay, of a text without turns the
     first 16 tokens. What stays keeps its states, which have seen what went, so that what follows
     is approximate; a quarter of the window is free then, and positions are smaller by what went.
     Nothing that follows is kept (pc_session_keep), and pc_session_rewind goes no farther back. Of
     a conversation that the template wrote whole (pc_chat) no turn goes. PC_UNSUPPORTED where the
     model's states are bound to theirs, or tokens of modules were computed anew (repair). */
  PC_OVERFLOW_SLIDE = 1
} pc_overflow;

typedef struct pc_session_options {
  size_t struct_size;
  uint32_t max_tokens;      /* 0: default 256, or less where the context ends before */
  uint32_t no_reuse;        /* 1: compute every token of the prompt, use no module */
  float temperature;        /* 0: greedy (the default) */
  uint32_t top_k;           /* 0: all */
  float top_p;              /* the likeliest that make up so much; 0 (not given) or 1: all */
  float min_p;              /* at least so many times as likely as the likeliest; 0: all; 1: those
                               as likely alone */
  float repetition_penalty; /* 0 (not given) or 1: none */
  uint64_t seed; /* of the sampler; the same seed gives the same tokens where the same is found in
                    the store, in a batch but for rounding (PC_PRECISION_DETERMINISTIC: in any),
                    PC_SEED_RANDOM others each time */
  const char* const* stop; /* strings that end the generation and are not part of it */
  size_t n_stop;
  float presence_penalty;    /* off the logit of each token that the answer has */
  float frequency_penalty;   /* the same, for each time that it has it */
  const pc_token_bias* bias; /* [n_bias]; copied */
  size_t n_bias;
  pc_token_mask mask; /* may be NULL */
  void* mask_user;    /* must outlive the session and its forks */
  /* A name, or NULL. Where those who wait want more computed than a step has room for, clients take
     turns; sessions without a name are one. Of one client's, the prompt with the fewest tokens left
     to compute goes first, and in every fifth of its turns at the latest the oldest. */
  const char* client;
  pc_session_progress progress; /* may be NULL */
  void* progress_user;          /* as mask_user */
  /* Which tokens of modules that have not seen what stands before them are computed anew: "none",
     "leading:16" (of each module), "attended:15%" (of all, those that the question attends to
     most), "selected:15%" (those whose values deviate most), "all", or "auto", what
     pc_schema_check_answers chose; docs/PML.md. NULL: what the prompt or its schema says. */
  const char* repair;
  /* 1: control tokens that the answer has, but for what ends its turn, are spelled in its text,
     where some models write calls of tools with them ("[TOOL_CALLS]"); 0: they are not shown. */
  uint32_t spell_controls;
  /* 1: where the context ends before max_tokens, the answer has as many as there is room for, one
     at least, unless max_tokens is 0; 0: such a prompt is refused. */
  uint32_t cut_to_window;
  uint32_t given; /* bits of pc_session_given: whose zero is meant; others: PC_UNSUPPORTED */
  /* How likely each token of the prompt is behind those before it, for pc_session_prompt_logprobs,
     and so many of the likeliest there, at most 128; 0 (not given): nothing is asked. From token
     prompt_logprobs_from on: all from the one before it on is computed, the rest may be from kept
     conversations, and from modules if none reaches farther. PC_UNSUPPORTED with a backend that
     gives the last logits alone. */
  uint32_t prompt_logprobs, prompt_logprobs_from;
  /* So many tokens, at most, are computed beside the one that was drawn where they are likely to
     follow it: what `draft` says, else what the constraint forces, else, where the answer begins to
     repeat what the conversation has, what followed there. The answer is the same, sooner. 0 (not
     given), or over 15: 15; fewer beside other sessions. None, and `draft` is not called, with a
     backend that gives the last logits alone. */
  uint32_t max_draft;
  pc_token_draft draft; /* may be NULL */
  void* draft_user;     /* as mask_user */
  uint32_t overflow;    /* pc_overflow; of the conversation, not of a prompt that does not fit */
  /* 1: where the prompt departs from a conversation that was kept and has a later piece of it, as a
     history without the thoughts before an answer has, that piece's states are used at its new
     place: approximate. What follows is kept for such prompts alone. 0: all is exact. */
  uint32_t moves;
  /* NULL, or what each answer is held to, from its first token on. PC_MISMATCH where it was not
     made for the engine of the prompt's schema; pc_engine_in_namespace gives the same engine. May
     be closed once the call has returned. */
  const pc_constraint* constraint;
} pc_session_options;

PC_API void pc_session_options_init(pc_session_options* options);

/* Checks that prompt and answer fit the context window, no more. options may be NULL. */
PC_API pc_status pc_session_open(const pc_prompt* prompt, const pc_session_options* options,
                                 pc_session** session, pc_error* error);
PC_API void pc_session_close(pc_session* session);

/* How answers are drawn from the next one on, and the one at hand where nothing is drawn of it yet:
 * what options say of max_tokens, cut_to_window, the sampler (which begins anew), stop, constraint,
 * mask, spell_controls, max_draft and draft; the rest stays the session's. NULL: the defaults. An
 * answer of max_tokens 0 is one that nothing is drawn of: it goes on. A failure changes nothing.
 * PC_CONTEXT_FULL where there is no room for the one at hand. */
PC_API pc_status pc_session_set_answer(pc_session* session, const pc_session_options* options,
                                       pc_error* error);

/* Finds or encodes the modules and computes the fresh tokens; else pc_session_next does first. */
PC_API pc_status pc_session_prefill(pc_session* session, pc_error* error);

typedef struct pc_token {
  int32_t id;
  const char* text; /* whole UTF-8 characters that became certain, maybe none; in front of an
                       answer that begins a turn no space that the tokenizer adds to every text;
                       NUL-terminated, valid until the session's next call */
  size_t text_bytes;
} pc_token;

/* The next token: PC_OK; or PC_DONE, the generation is over, and the last text may come, id -1. */
PC_API pc_status pc_session_next(pc_session* session, pc_token* token, pc_error* error);

/* pc_session_next for many sessions of one engine, computed together: the weights, and modules that
 * several use, are read once for all. Prompts that are longer than a step has room for go on from
 * call to call, while the others decode. Modules that are missing are encoded before it, unless
 * pc_prompt_encode was called; so is computed which tokens a repair takes. tokens:
 * [n], as pc_session_next gives them. outcomes: [n]; status is PC_OK, PC_DONE, PC_PENDING where no
 * token is there yet, or that session's error. Sessions whose drafts were right (max_draft) have
 * their tokens from a call that computes nothing, beside which the others are pending. Other calls
 * on a session that is pending complete it first. An error of the call itself (NULL, a session
 * twice, two engines, no memory): nothing was drawn. */
PC_API pc_status pc_batch_step(pc_session* const* sessions, size_t n, pc_token* tokens,
                               pc_error* outcomes, pc_error* error);

/* What the latest token was drawn from, or the first will be: [n] f32, until the next call. */
PC_API pc_status pc_session_logits(const pc_session* session, const float** logits, size_t* n,
                                   pc_error* error);

typedef struct pc_token_logprob {
  int32_t token;
  float logprob; /* natural logarithm of its probability */
} pc_token_logprob;

/* What the model itself makes of the logits that pc_session_logits gives, before penalties, bias,
 * mask and temperature. drawn: NULL, or of the token that pc_session_next gave last;
 * PC_INVALID_ARGUMENT where that gave none, or pc_session_keep has computed it since. top: [n], the
 * likeliest first; n is at most the vocabulary's. */
PC_API pc_status pc_session_logprobs(const pc_session* session, pc_token_logprob* drawn,
                                     pc_token_logprob* top, size_t n, pc_error* error);

/* The same of a token of the prompt where prompt_logprobs asked for it, once the prompt is
 * computed. index: of pc_prompt_tokens; the first stands behind nothing, and has none
 * (PC_INVALID_ARGUMENT). drawn: NULL, or that token. top: [n], n at most prompt_logprobs. */
PC_API pc_status pc_session_prompt_logprobs(const pc_session* session, size_t index,
                                            pc_token_logprob* drawn, pc_token_logprob* top,
                                            size_t n, pc_error* error);

/* Goes on behind the answer, whether or not it is over: closes its turn, adds these turns as the
 * model's chat format writes them, the last of which is the user's, opens the next answer's and
 * computes what is new of that. The answer stays as it was drawn, unless the format writes it
 * otherwise once turns follow it. Statistics are of these turns from then on. Modules among the
 * parts are found, or encoded, and attached as a prompt of the whole conversation would have them.
 * A failure leaves the session as it was. PC_INVALID_ARGUMENT where the prompt did not end with a
 * turn of the user's; PC_UNSUPPORTED where the format writes the turns before the answer otherwise
 * now, and where a module's place in the schema is before anonymous text that was read, or
 * positions are the schema's; PC_CONTEXT_FULL. */
PC_API pc_status pc_session_append(pc_session* session, const pc_message* messages, size_t n,
                                   pc_error* error);

/* The same with turns of PML: <prompt schema="travel"><user>And <oslo/>?</user></prompt>. */
PC_API pc_status pc_session_append_pml(pc_session* session, const char* pml, size_t bytes,
                                       pc_error* error);

/* Goes on behind all text, an answer included, in no turn: for prompts without turns. */
PC_API pc_status pc_session_append_text(pc_session* session, const char* text, size_t bytes,
                                        pc_error* error);
/* The same with tokens as they are, control tokens included. */
PC_API pc_status pc_session_append_tokens(pc_session* session, const int32_t* tokens, size_t n,
                                          pc_error* error);

/* Another session that has seen, said and drawn the same, and shares its memory as far as both
 * go together. Either may go on, on any thread. */
PC_API pc_status pc_session_fork(const pc_session* session, pc_session** fork, pc_error* error);

/* The position of the next token to be computed: of a token that was drawn last and is not, yet. */
PC_API pc_status pc_session_position(const pc_session* session, uint32_t* position,
                                     pc_error* error);

/* Goes back to `position`, which is in an answer or its first: pc_session_next goes on from there,
 * with other draws. What was drawn, and which turns were appended, behind it is forgotten.
 * Statistics are of what comes from then on. A failure leaves the session as it was.
 * PC_INVALID_ARGUMENT where no answer has that position, the chat format has written it otherwise
 * since, or what is kept of the answer is more than its max_tokens, has a stop string or is not
 * what its constraint allows (pc_session_set_answer); PC_CONTEXT_FULL where that wants a longer
 * answer than fits. */
PC_API pc_status pc_session_rewind(pc_session* session, uint32_t position, pc_error* error);

/* Puts what the session computed itself into the store: a chain of modules, each of which saw all
 * before it. A later prompt of this engine's model that begins with the same, in any process, finds
 * it and computes the rest alone, with the same result up to rounding: so a conversation goes on
 * after a restart, in a session whose prompt is all that was said and a question behind it
 * (pc_prompt_from_messages; examples/resume.c). Nothing is computed twice; text and arguments of
 * modules with cache="false" are not kept, nor what an answer that still goes on ends with, nor
 * anything of a conversation that was under way when the CPU took it over (fell_back). n_tokens: of
 * the conversation, how many the store was given or had, its modules included. PC_UNSUPPORTED where
 * no store is in use. */
PC_API pc_status pc_session_keep(pc_session* session, uint64_t* n_tokens, pc_error* error);

/* Asks the session to stop: its running call returns PC_CANCELLED, or the next one that computes,
 * once. The session is then where it was before that call, and any call goes on from there. A
 * prompt that was not computed to its end begins anew, with its modules where they are. */
PC_API void pc_session_cancel(pc_session* session);

typedef enum pc_finish {
  PC_FINISH_NONE = 0,   /* not over */
  PC_FINISH_EOS = 1,    /* the model ended its turn, or nothing else could come */
  PC_FINISH_STOP = 2,   /* a stop string */
  PC_FINISH_LENGTH = 3, /* max_tokens */
  PC_FINISH_CANCELLED = 4
} pc_finish;

typedef struct pc_session_stats {
  size_t struct_size;
  uint64_t prompt_tokens;   /* cached + computed */
  uint64_t cached_tokens;   /* taken from modules and from kept conversations */
  uint64_t computed_tokens; /* of the prompt, computed by this session */
  uint64_t generated_tokens;
  uint32_t modules_found;   /* files (or in-memory modules) used */
  uint32_t modules_encoded; /* of those, computed by this session first */
  uint64_t cached_bytes;    /* K/V bytes used in place */
  uint64_t plan_us;         /* parsing, tokenising, resolving the prompt */
  uint64_t lookup_us;       /* finding and mapping the modules */
  uint64_t encode_us;       /* encoding those that were missing */
  uint64_t prefill_us;      /* computing the fresh tokens */
  uint64_t ttft_us;         /* all of these and the first sample */
  uint64_t decode_us;       /* tokens after the first */
  uint32_t finish;          /* pc_finish */
  uint32_t fell_back;       /* the CPU computes it: the plug-in had no memory for it */
  uint64_t chained_tokens;  /* of cached_tokens: of kept conversations (pc_session_keep) */
  uint64_t repaired_tokens; /* of computed_tokens: of modules, in the place of their states */
  int32_t stop; /* PC_FINISH_STOP: which of options.stop ended it, the first in the text and, of
                   several there, the first that was given; else -1 */
  int32_t end_token;       /* PC_FINISH_EOS: the token that was drawn and ended the turn; else -1 */
  uint64_t encoded_tokens; /* of cached_tokens: of modules that were encoded for it */
  uint64_t drafted_tokens; /* computed before they, or others in their place, were drawn */
  uint64_t right_drafts;   /* of these and of generated_tokens: those that were drawn */
  /* Of the conversation since it began: what PC_OVERFLOW_SLIDE let go; the turns, the oldest behind
     the system's, are no more seen. */
  uint64_t dropped_tokens, dropped_turns;
  uint64_t moved_tokens; /* of chained_tokens: at a new place, by options.moves; approximate */
} pc_session_stats;

/* Fills what struct_size holds. */
PC_API void pc_session_get_stats(const pc_session* session, pc_session_stats* stats);

/* ---- Files that fail */

/* Where the mapped file of a model or a module is cut short, or its disk fails, SIGBUS ends the
 * process. After this call it is PC_IO of the requests that used the file, and nothing that was
 * computed from it counts: a module is made again, a model is to be opened again. Installs a
 * handler for the whole process, which passes on other signals to the one that was there. */
PC_API pc_status pc_guard_files(pc_error* error);

/* ---- Store: the directory of module files, without a model */

/* dir NULL: the default directory. Must exist. */
PC_API pc_status pc_store_open(const char* dir, uint32_t cache_mode, pc_store** store,
                               pc_error* error);
PC_API void pc_store_close(pc_store* store);
/* JSON: directory, files (key, bytes, tokens, K/V type, model, backend, last use), total bytes;
 * files of packed weights (key, bytes, model, last use), their total bytes. */
PC_API pc_status pc_store_describe(const pc_store* store, char** json, pc_error* error);
/* `key`: 64 hexadecimal digits or a beginning that only one file has.
 * JSON: every header field and the runs. */
PC_API pc_status pc_store_show(const pc_store* store, const char* key, char** json,
                               pc_error* error);
/* What is done, of so much, on the caller's thread: files, where a call is about all of them, and
 * bytes, where it is about one. Non-zero cancels the call. May be NULL. */
typedef int (*pc_store_progress)(void* user, uint64_t done, uint64_t total);
/* Checks every byte of one file, or of all. JSON: per file ok or why not; how many are bad, and how
 * many were removed meanwhile ("vanished"). Damage is reported, not an error of the call. */
PC_API pc_status pc_store_verify(const pc_store* store, const char* key, char** json,
                                 pc_error* error);
PC_API pc_status pc_store_verify_all(const pc_store* store, pc_store_progress progress, void* user,
                                     char** json, pc_error* error);
/* Removes one file, which must not be pinned (PC_INVALID_ARGUMENT), or all, pinned ones and packed
 * weights and texts that stand in (PC_CHAT_IN_SLOTS) too. Who has one mapped keeps it. What is
 * removed before a cancel is gone. removed: how many; may be NULL. */
PC_API pc_status pc_store_remove(pc_store* store, const char* key, uint64_t* removed,
                                 pc_error* error);
PC_API pc_status pc_store_remove_all(pc_store* store, pc_store_progress progress, void* user,
                                     uint64_t* removed, pc_error* error);
/* The module of this key is not evicted, by any process, until it is unpinned or removed; it counts
 * for every budget. PC_NOT_FOUND where no file has the key or, unpinning, it is not pinned. */
PC_API pc_status pc_store_pin(pc_store* store, const char* key, pc_error* error);
PC_API pc_status pc_store_unpin(pc_store* store, const char* key, pc_error* error);

/* Writes modules, every byte of them verified, to a new file, which another store can import. keys:
 * n_keys of them, as above; NULL: all modules. PC_INVALID_ARGUMENT where there is such a file. */
PC_API pc_status pc_store_export(const pc_store* store, const char* const* keys, size_t n_keys,
                                 const char* path, pc_store_progress progress, void* user,
                                 pc_error* error);
/* Puts the modules of such a file into the store, after every byte of all was verified. Whoever
 * made the file is trusted: the sums find damage, not forgery. keys: lines of 64 digits, freed with
 * pc_free; may be NULL. */
PC_API pc_status pc_store_import(pc_store* store, const char* path, pc_store_progress progress,
                                 void* user, char** keys, pc_error* error);

/* Puts modules of another store, the folder `from`, into this one: keys, n_keys of 64 digits, or
 * all (NULL). What is there is passed over, each comes whole, so a pull that was ended goes on.
 * trust: files of public keys, whose signature is then asked for, whoever owns the folder. JSON:
 * copied, copied_bytes, there, and of those that could not be had ("failed") key and why. */
PC_API pc_status pc_store_pull(pc_store* store, const char* from, const char* const* trust,
                               size_t n_trust, const char* const* keys, size_t n_keys,
                               pc_store_progress progress, void* user, char** json,
                               pc_error* error);
/* Writes the list of the store's modules, of which every byte is verified: "v3/manifest" in its
 * folder. private_key: the file of a key (Ed25519, PEM) that signs it; NULL: nobody does. with: a
 * list, signed by that key (PC_MISMATCH), whose files are listed as well, or NULL. listed: how
 * many; may be NULL. */
PC_API pc_status pc_store_sign(pc_store* store, const char* private_key, const char* with,
                               pc_store_progress progress, void* user, uint64_t* listed,
                               pc_error* error);
/* The keys in a list, the file `path`, of which one of trust signed it (PC_MISMATCH: none did);
 * n_trust 0: whoever wrote it is believed. keys: lines of 64 digits, freed with pc_free. */
PC_API pc_status pc_manifest_keys(const char* path, const char* const* trust, size_t n_trust,
                                  char** keys, pc_error* error);

/* Removes the files worth least to keep until at most target_bytes are left;
 * files in use and pinned ones stay. target_bytes counts modules alone: packed weights go when they
 * were not used for 30 days. JSON: removed, left, in use, pinned, of both. */
PC_API pc_status pc_store_gc(pc_store* store, uint64_t target_bytes, pc_store_progress progress,
                             void* user, char** json, pc_error* error);

#ifdef __cplusplus
}
#endif
#endif /* PROMPTCACHE_PROMPTCACHE_H_ */
