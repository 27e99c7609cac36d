// Decides how a question's prompt is made: which of its parts are modules, and whether that is
// worth it. Exact reuse goes before any other: modules that are approximate are used only where
// they leave less to compute than what the store has of the very same beginning. Modules see what
// stands in front of them, until that has been another text: then they stand apart, so that they
// are found behind any.
//
// Documents stand in slots, behind documents of earlier conversations, and tools behind such as
// nobody has. Where one is missing it is encoded while nobody waits, and the prompt computed as it
// stands, if that takes no longer.
//
// Modules of a schema that prompts import together again and again are encoded together, too.
//
// Borrows the model and the idle work; the model lives until that has ended. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <promptcache/promptcache.hpp>
#include <string>
#include <vector>

#include "tools/serve/models/chat_modules.h"
#include "tools/serve/models/idle_work.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/models/sightings.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

struct Plan {
  promptcache::Prompt prompt;
  Mode mode = Mode::kPrefix;              // which was used in the end
  bool exact = true;                      // its states are those of a full prefill
  Json parts = Json::array();             // what became of each module: text, tokens, state, why
  std::vector<std::string> remarks = {};  // why not more of it is reused
};

class Planner {
 public:
  // The fewest tokens of a text that is worth a module: where a shorter one changes, a chain
  // computes no more than this anew.
  static constexpr std::size_t kDocumentTokens = 256;

  Planner(const ServedModel& model, IdleWork* idle) : model_(model), idle_(idle) {}

  // is_asked: the question is to be answered, and counts as seen; else it is only explained. Throws
  // ApiError.
  Plan plan(const Question& question, bool is_asked);
  // A plan for each of the question's prompts.
  std::vector<Plan> plans(const Question& question, bool is_asked);

 private:
  using Seen = std::map<std::string, std::uint64_t>;  // long texts, and how often they have come

  Plan exact_plan(const Question& question, promptcache::Prompt prompt) const;
  Plan schema_plan(const Question& question, bool is_asked);
  Plan chat_plan(const Question& question, bool is_asked);
  bool is_long(const std::string& text) const;
  // Of pc_chat_modules: how this conversation's modules, or those that it may have later, stand.
  std::uint32_t standing(const Question& question, const ModulesFront& front, bool is_asked);
  void encode_when_idle(const Question& question, const Seen& seen, std::uint32_t standing);
  // The exact plan where the modules are not worth it, or too large for the store; *missing: since
  // they would be encoded first.
  Plan with_modules_or(Plan exact, const promptcache::Chat& chat, std::uint32_t standing, Mode mode,
                       bool* missing) const;

  const ServedModel& model_;
  IdleWork* const idle_;
  Sightings sightings_;  // of documents
  Sightings sets_;       // of modules that a schema's prompts import together
  Sightings fronts_;     // of first modules, and of each with what stands in front of it
};

}  // namespace pc::serve
