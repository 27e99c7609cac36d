// What a client asks for, in whichever protocol: what the readers of the protocols make, and
// answering.h answers. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tools/output/json.h"

namespace pc::serve {

using cli::Json;

// Which states a prompt may use.
enum class Mode {
  kPrefix,     // those of any conversation or prompt that began alike: exact
  kOff,        // none: all is computed, nothing is kept
  kMarked,     // and parts that the client marked are modules
  kTools,      // and each tool is one
  kDocuments,  // and so are long texts that have come before
};

const char* name_of(Mode mode);
std::optional<Mode> mode_of(const std::string& name);
std::string mode_names();  // with commas

struct Sampling {
  std::optional<std::uint32_t> max_tokens;  // none: as many as the context window has room for
  float temperature = 1, top_p = 1, min_p = 0;
  std::uint32_t top_k = 0;  // 0: all
  float presence_penalty = 0, frequency_penalty = 0, repetition_penalty = 1;
  std::uint64_t seed = PC_SEED_RANDOM;
  std::vector<std::string> stop;
  std::vector<pc_token_bias> bias;
  std::optional<std::uint32_t> max_draft = {};  // none: the server's
};

// Whose modules, conversations and schemas; none: the server's own.
using NameSpace = std::optional<std::string>;

// Who is asked: what a request is read against.
struct ModelFacts {
  std::string id;
  pc_engine_facts engine{};
  bool holds_calls = false;  // calls begin with a word that an answer can be kept from
};

// A prompt that imports modules of a schema: PML or, where that is empty, turns.
struct SchemaPrompt {
  std::string schema;  // its name; "": that of PML which names none
  std::string pml;
  std::vector<promptcache::Message> turns;
};

// What an answer must be.
struct Format {
  enum class Kind { kText, kJson, kSchema, kChoice, kGbnf } kind = Kind::kText;
  Json schema = {};        // kSchema
  std::string where = {};  // its field
  bool strict = false;     // all of the schema is enforced, or the request is refused
  std::vector<std::string> choices = {};  // kChoice: the answer is one of them
  std::string gbnf = {};                  // kGbnf: a grammar in llama.cpp's notation
};

// Whether an answer may, must or must not call tools.
struct ToolChoice {
  enum class Kind { kAuto, kNone, kRequired, kNamed } kind = Kind::kAuto;
  std::string name = {};                  // kNamed
  std::vector<std::string> allowed = {};  // that may be called alone; empty: all

  bool must_call() const { return kind == Kind::kRequired || kind == Kind::kNamed; }
  bool lets_call(const std::string& tool) const {
    if (kind == Kind::kNone) return false;
    if (kind == Kind::kNamed) return tool == name;
    return allowed.empty() || std::ranges::find(allowed, tool) != allowed.end();
  }
};

// Of a prompt of no turns.
struct RawPiece {
  std::string text = {};
  std::vector<std::int32_t> tokens = {};  // in the place of text; in the vocabulary
  bool takes_controls = true;             // spellings of control tokens in the text are those
};

// BOS stands in front of one that begins with a text, where the model's tokenizer puts one.
struct RawPrompt {
  std::vector<RawPiece> pieces;
};

class RequestNotes;  // tools/serve/http/request_log.h

struct Question {
  Format format;
  ToolChoice tool_choice;
  std::optional<std::uint32_t> thought_budget;  // tokens; what is thought by then is closed
  bool one_call = false;                        // an answer ends behind its first call
  std::optional<SchemaPrompt> of_schema;        // in the place of chat and raw
  std::string repair;  // of modules, as pc_session_options has it; "": what the prompt says
  // A conversation, as pc_prompt_from_chat takes it; null: the prompts are `raw`, in no turn.
  Json chat;
  std::vector<RawPrompt> raw;
  Sampling sampling;
  std::uint32_t n = 1;                        // answers to each prompt
  bool echoes = false;                        // the answers begin with their prompt, which is raw
  bool tells_tokens = false;                  // each with its number, also without logprobs
  std::optional<std::uint32_t> top_logprobs;  // of each token, beside its own; none: no logprobs
  Mode mode = Mode::kPrefix;
  bool says_mode = false;               // the request itself does
  bool moves = false;                   // as pc_session_options has it
  NameSpace name_space;                 // whose modules it may use
  std::string client;                   // who takes turns with others
  std::optional<bool> slides = {};      // over the oldest turns where they do not fit; none: the
                                        // server's choice
  std::size_t n_dropped = 0;            // messages that went so
  std::vector<std::string> ignored;     // fields of the request that mean nothing here
  std::vector<std::string> remarks;     // what was made of others, in sentences
  std::shared_ptr<RequestNotes> notes;  // for the log of requests; null: there is none

  std::uint32_t n_prompts() const {
    return raw.empty() ? 1 : static_cast<std::uint32_t>(raw.size());
  }
  // Of all prompts: those of the first go before those of the next.
  std::uint32_t n_choices() const { return n * n_prompts(); }

  // The field that has the prompt.
  const char* prompt_field() const {
    const bool has_turns = of_schema ? of_schema->pml.empty() : !chat.is_null();
    return has_turns ? "messages" : "prompt";
  }
};

}  // namespace pc::serve
