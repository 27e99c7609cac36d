#include "tools/serve/models/served_model.h"

#include "runtime/calls/reading/call_reader.h"
#include "runtime/calls/writing/call_grammar.h"
#include "runtime/calls/writing/call_learning.h"
#include "runtime/calls/writing/called_answer.h"
#include "tools/serve/models/chat_modules.h"
#include "tools/serve/models/chat_views.h"
#include "tools/serve/models/model_vocabulary.h"
#include "tools/serve/models/thought_learning.h"
#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

constexpr std::size_t kDigestDigits = 12;

// Of the weights and of how their states are kept.
std::string fingerprint_of(const promptcache::Engine& engine) {
  const Json report = cli::parse_report(engine.describe());
  return std::string("pc-") + pc_version() + "-" +
         report["weights_digest"].string().substr(0, kDigestDigits) + "-" +
         report["kv_type"].string();
}

Json adapted_chat(const Json& chat, const std::optional<CallShape>& shape) {
  if (!shape || (!shape->wants_text && !shape->wants_null && !shape->is_told)) return chat;
  Json messages = Json::array(), out = chat;
  for (const Json& message : chat["messages"].items())
    messages.push(calls::called_answer(message, *shape));
  return out.set("messages", messages);
}

// Thoughts of earlier answers in the field in which this template looks for them.
Json with_thoughts(const Json& chat, const std::optional<ThoughtShape>& shape) {
  constexpr const char* kOurs = "reasoning_content";
  if (!shape || shape->key == kOurs) return chat;
  Json messages = Json::array(), out = chat;
  for (Json message : chat["messages"].items()) {
    if (!message[kOurs].is_null()) message.set(shape->key, message[kOurs]);
    messages.push(message);
  }
  return out.set("messages", messages);
}

// An answer that has begun is gone on with.
bool is_begun(const Json& chat) {
  const std::vector<Json> messages = chat["messages"].items();
  if (messages.empty()) return false;
  const Json& last = messages.back();
  return last["role"] == Json("assistant") && last["tool_calls"].is_null();
}

// Do calls begin with a word that no other text needs? One character may stand anywhere.
bool holds_calls(const CallShape& shape) {
  const std::string_view word = calls::call_trigger(shape);
  return word.size() > 1 && shape.written_begin.starts_with(word);
}

}  // namespace

ServedModel::ServedModel(promptcache::Engine engine, std::string id, SchemasOf* schemas)
    : facts_{std::move(id), engine.facts()}, fingerprint_(fingerprint_of(engine)) {
  for (auto& [name, kept] : *schemas)
    if (name) views_.emplace(name, view_of(engine.in_namespace(*name), &kept));
  views_.emplace(std::nullopt, view_of(std::move(engine), &schemas->at(std::nullopt)));
  call_shape_ = calls::learn_call_shape([this](const Json& chat) {
    Json ended = chat;
    return rendered(ended.set("add_generation_prompt", false));
  });
  facts_.holds_calls = call_shape_ && holds_calls(*call_shape_);
  thought_shape_ = learn_thought_shape([this](const Json& chat) { return rendered(chat); });
}

std::optional<std::string> ServedModel::rendered(const Json& conversation) const try {
  return engine().render_chat(conversation.dump());
} catch (const promptcache::Error&) {
  return std::nullopt;
}

bool ServedModel::opens_thought(const Question& question) const {
  // Bounded: what clients tell templates is one of few things.
  constexpr std::size_t kMostRemembered = 64;
  if (!thought_shape_ || question.chat.is_null() || is_begun(question.chat)) return false;
  const Json variables = question.chat["variables"];
  const std::string key = variables.dump();
  MutexLock lock(mutex_);
  if (const auto found = opens_thought_.find(key); found != opens_thought_.end())
    return found->second;
  if (opens_thought_.size() == kMostRemembered) opens_thought_.clear();
  const bool opens = serve::opens_thought(*thought_shape_, variables,
                                          [this](const Json& chat) { return rendered(chat); });
  return opens_thought_[key] = opens;
}

ServedModel::~ServedModel() {
  for (const auto& [name, view] : views_) view.schemas->let_go();
}

ServedModel::View ServedModel::view_of(promptcache::Engine engine, Schemas* schemas) {
  promptcache::Schema plain = promptcache::Schema::plain(engine);
  return {std::move(engine), std::move(plain), schemas};
}

const ServedModel::View& ServedModel::view(const NameSpace& name) const {
  const auto found = views_.find(name);
  if (found == views_.end()) throw ApiError(403, "permission_error", "there is no such namespace");
  return found->second;
}

Schemas::Handle ServedModel::schema(const NameSpace& space, const std::string& name,
                                    const std::string& param) const {
  const auto make = [&](const std::string& pml) { return parsed_schema(engine_of(space), pml); };
  return schemas_of(space).find(name, make, param);
}

std::vector<std::pair<std::string, Schemas::Handle>> ServedModel::schemas(
    const NameSpace& space) const {
  return schemas_of(space).all(
      [&](const std::string& pml) { return parsed_schema(engine_of(space), pml); });
}

std::string ServedModel::fingerprint(Mode mode) const {
  return fingerprint_ + "-" + name_of(mode);
}

ServedModel::RawTokens ServedModel::tokens_of(const RawPrompt& prompt) const {
  RawTokens made;
  const std::int32_t bos = facts_.engine.bos;
  for (const RawPiece& piece : prompt.pieces) {
    const bool is_first = &piece == &prompt.pieces.front() && piece.tokens.empty();
    std::uint32_t flags = piece.takes_controls ? PC_TEXT_CONTROLS : 0;
    if (is_first) flags |= PC_TEXT_BOS;
    const std::vector<std::int32_t> tokens =
        piece.tokens.empty() ? engine().tokenize(piece.text, flags) : piece.tokens;
    made.tokens.insert(made.tokens.end(), tokens.begin(), tokens.end());
    if (is_first && bos >= 0 && !tokens.empty() && tokens.front() == bos)
      made.has_bos_apart =
          !piece.takes_controls || !piece.text.starts_with(engine().detokenize(&bos, 1));
  }
  return made;
}

std::string ServedModel::text_of(const RawPrompt& prompt) const {
  std::string text;
  for (const RawPiece& piece : prompt.pieces)
    text += piece.tokens.empty() ? piece.text
                                 : engine().detokenize(piece.tokens.data(), piece.tokens.size());
  return text;
}

Result<constrain::Constraint> ServedModel::constrained(const constrain::Grammar& grammar) const {
  return constrainer().start(grammar);
}

const std::optional<CallShape>& ServedModel::marked_call_shape() const {
  constrainer();
  return marked_call_shape_;
}

constrain::Constrainer& ServedModel::constrainer() const {
  std::call_once(reads_vocabulary_, [this] {
    constrainer_.emplace(vocabulary_of(engine()));
    if (call_shape_) marked_call_shape_ = calls::marked(*call_shape_, constrainer_->vocabulary());
  });
  return *constrainer_;
}

promptcache::Chat ServedModel::written(const Question& question, const Json& chat) const try {
  const bool has_modules = question.mode == Mode::kDocuments || question.mode == Mode::kTools ||
                           question.mode == Mode::kMarked;
  const bool is_gated = has_modules && question.repair.empty();
  const ChatViews views(with_thoughts(adapted_chat(chat, call_shape_), thought_shape_));
  return views.write(engine_of(question.name_space), is_gated ? "auto" : question.repair,
                     is_begun(chat));
} catch (const promptcache::Error& error) {
  throw ApiError::of(error, question.prompt_field());
}

// PML that names no schema is read, too: the library says what is wrong with it, and where.
promptcache::Prompt ServedModel::prompt_of(const SchemaPrompt& asked,
                                           const NameSpace& space) const {
  if (asked.schema.empty()) return promptcache::Prompt(view(space).plain, asked.pml);
  const Schemas::Handle named =
      schema(space, asked.schema, asked.pml.empty() ? "schema" : "prompt");
  if (!asked.pml.empty()) return promptcache::Prompt(*named, asked.pml);
  return promptcache::Prompt(*named, asked.turns);
}

std::string ServedModel::text_of(const Question& question) const try {
  if (question.of_schema)
    throw ApiError::bad_request("no template writes the prompt of a schema; explain shows its text",
                                "schema");
  if (question.chat.is_null()) return text_of(question.raw.front());
  return written(question, with_modules(question.chat, Mode::kPrefix, nullptr)).text();
} catch (const promptcache::Error& error) {
  throw ApiError::of(error, question.prompt_field());
}

promptcache::Prompt ServedModel::prompt_of(const Question& question, std::size_t number) const try {
  if (question.of_schema) return prompt_of(*question.of_schema, question.name_space);
  if (question.chat.is_null())
    return promptcache::Prompt::from_tokens(view(question.name_space).plain,
                                            tokens_of(question.raw[number]).tokens);
  const Json chat = with_modules(question.chat, Mode::kPrefix, nullptr);
  return promptcache::Prompt(written(question, chat), PC_CHAT_NO_MODULES);
} catch (const promptcache::Error& error) {
  throw ApiError::of(error, question.prompt_field());
}

}  // namespace pc::serve
