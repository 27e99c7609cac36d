// A model that the server answers with: an engine, how it is called, and the schemas that clients
// gave for it.
//
// Owner of the engine, borrows the schemas, which let go of it at the end; immutable but for them.
// Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <promptcache/promptcache.hpp>
#include <string>

#include "base/mutex.h"
#include "tools/constrain/constraint.h"
#include "tools/serve/calls/call_shape.h"
#include "tools/serve/models/schemas.h"
#include "tools/serve/request/question.h"
#include "tools/serve/request/thought_shape.h"

namespace pc::serve {

// Of every namespace that there is, the server's own among them.
using SchemasOf = std::map<NameSpace, Schemas>;

class ServedModel {
 public:
  ServedModel(promptcache::Engine engine, std::string id, SchemasOf* schemas);
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const ModelFacts& facts() const { return facts_; }
  const std::string& id() const { return facts_.id; }
  // What an answer depends on beside the question: version, weights, type of states, mode.
  std::string fingerprint(Mode mode) const;
  const promptcache::Engine& engine() const { return view({}).engine; }

  // How it writes calls of tools; nothing where its template knows none that can be read.
  const std::optional<CallShape>& call_shape() const { return call_shape_; }

  // The same for grammars: the control tokens among its words are marked as Vocabulary has it.
  // Nothing where call_shape() is nothing.
  const std::optional<CallShape>& marked_call_shape() const;

  // How it writes thoughts; nothing where its template knows none.
  const std::optional<ThoughtShape>& thought_shape() const { return thought_shape_; }
  // Has the question's prompt opened a thought, which the answer begins in?
  bool opens_thought(const Question& question) const;

  // With no part of it a module. number: of its prompts. Throws ApiError where that is no prompt
  // for this model.
  promptcache::Prompt prompt_of(const Question& question, std::size_t number = 0) const;

  // The question's conversation as chat_modules.h has it. Throws ApiError.
  promptcache::Chat written(const Question& question, const Json& chat) const;

  // What this namespace's modules and conversations are made with, and its schemas; none: the
  // server's own. All throw ApiError. param: the field of the request that named the schema.
  const promptcache::Engine& engine_of(const NameSpace& name) const { return view(name).engine; }
  Schemas& schemas_of(const NameSpace& name) const { return *view(name).schemas; }
  Schemas::Handle schema(const NameSpace& space, const std::string& name,
                         const std::string& param = {}) const;
  std::vector<std::pair<std::string, Schemas::Handle>> schemas(const NameSpace& space) const;

  // The beginning of an answer that is held to this. Throws constrain::SchemaError.
  constrain::Constraint constrained(const constrain::Grammar& grammar) const;

  // The text of such a prompt, as the model's template writes it. Throws ApiError.
  std::string text_of(const Question& question) const;

  // The tokens of a raw prompt, and whether the first is a BOS that it does not have itself.
  struct RawTokens {
    std::vector<std::int32_t> tokens;
    bool has_bos_apart = false;
  };
  // Throws promptcache::Error.
  RawTokens tokens_of(const RawPrompt& prompt) const;
  // Without such a BOS. Throws promptcache::Error.
  std::string text_of(const RawPrompt& prompt) const;

 private:
  // Of one namespace.
  struct View {
    promptcache::Engine engine;
    promptcache::Schema plain;
    Schemas* schemas;
  };
  std::optional<std::string> rendered(const Json& conversation) const;
  static View view_of(promptcache::Engine engine, Schemas* schemas);
  const View& view(const NameSpace& name) const;
  promptcache::Prompt prompt_of(const SchemaPrompt& asked, const NameSpace& space) const;

  std::map<NameSpace, View> views_;
  mutable std::once_flag reads_vocabulary_;
  // Of the first who asked.
  constrain::Constrainer& constrainer() const;
  mutable std::optional<constrain::Constrainer> constrainer_;
  mutable std::optional<CallShape> marked_call_shape_;
  ModelFacts facts_;
  std::optional<CallShape> call_shape_;
  std::optional<ThoughtShape> thought_shape_;
  mutable Mutex mutex_;
  // By what a template is told besides, written as JSON.
  mutable std::map<std::string, bool> opens_thought_ PC_GUARDED_BY(mutex_);
  std::string fingerprint_;
};

}  // namespace pc::serve
