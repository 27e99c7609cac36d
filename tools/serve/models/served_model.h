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
#include "base/status.h"
#include "runtime/calls/shape/call_shape.h"
#include "runtime/constrain/grammar/constraint.h"
#include "tools/serve/models/schemas.h"
#include "tools/serve/request/question.h"
#include "tools/serve/request/thought_shape.h"

namespace pc::serve {

using calls::CallShape;

// The schemas of every namespace, the server's own included.
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

  // How the model writes calls of tools; nothing where its template has no calls that can be read.
  const std::optional<CallShape>& call_shape() const { return call_shape_; }

  // call_shape() for grammars: control tokens in its words are marked as constrain::Vocabulary
  // marks them. Nothing where call_shape() is nothing.
  const std::optional<CallShape>& marked_call_shape() const;

  // How the model writes thoughts; nothing where its template has none.
  const std::optional<ThoughtShape>& thought_shape() const { return thought_shape_; }
  // Does the question's prompt open a thought, so that the answer begins inside of it?
  bool opens_thought(const Question& question) const;

  // The question's prompt `number`, with none of its parts a module. Throws ApiError where this
  // model cannot be given it.
  promptcache::Prompt prompt_of(const Question& question, std::size_t number = 0) const;

  // The question's conversation `chat`, as with_modules() made it, written by the template. Throws
  // ApiError.
  promptcache::Chat written(const Question& question, const Json& chat) const;

  // The engine and the schemas of a namespace; no name: those of the server itself. All throw
  // ApiError. param: the field of the request that named the schema.
  const promptcache::Engine& engine_of(const NameSpace& name) const { return view(name).engine; }
  Schemas& schemas_of(const NameSpace& name) const { return *view(name).schemas; }
  Schemas::Handle schema(const NameSpace& space, const std::string& name,
                         const std::string& param = {}) const;
  std::vector<std::pair<std::string, Schemas::Handle>> schemas(const NameSpace& space) const;

  // The state, at its beginning, of an answer that is held to this grammar.
  Result<constrain::Constraint> constrained(const constrain::Grammar& grammar) const;

  // The text of prompt_of(question), as the model's template writes it. Throws ApiError.
  std::string text_of(const Question& question) const;

  // The tokens of a raw prompt. has_bos_apart: the first is a BOS that was put in front of it.
  struct RawTokens {
    std::vector<std::int32_t> tokens;
    bool has_bos_apart = false;
  };
  // Throws promptcache::Error.
  RawTokens tokens_of(const RawPrompt& prompt) const;
  // The text of a raw prompt, without a BOS that was put in front. Throws promptcache::Error.
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
