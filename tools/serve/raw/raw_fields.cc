#include "tools/serve/raw/raw_fields.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pc::serve {
namespace {

constexpr std::size_t kMostPrompts = 2048;  // OpenAI's

struct PromptReader {
  const Fields& fields;
  const ModelFacts& model;
  Mixture mixture;

  std::string shapes() const {
    return mixture == Mixture::kNone
               ? "must be a string, a list of tokens, or a list of those"
               : "must be a string, a list of tokens and strings, or a list of those";
  }

  std::int32_t token(const Json& item, const std::string& path) const {
    const auto id = item.integer();
    if (!id || *id < 0 || *id >= model.engine.vocab_size)
      fields.refuse(path, "is no token of this model, which has tokens 0 to " +
                              std::to_string(model.engine.vocab_size - 1));
    return static_cast<std::int32_t>(*id);
  }

  RawPrompt of_list(const Json& list, const std::string& path) const {
    RawPrompt prompt;
    for_each_item(list, path, [&](const Json& item, const std::string& at) {
      if (item.is_string() && mixture == Mixture::kLlama) {
        prompt.pieces.push_back({.text = item.string()});
        return;
      }
      if (!item.is_number()) fields.refuse(path, shapes());
      if (prompt.pieces.empty() || prompt.pieces.back().tokens.empty()) prompt.pieces.push_back({});
      prompt.pieces.back().tokens.push_back(token(item, at));
    });
    if (prompt.pieces.empty()) fields.refuse(path, "is empty");
    return prompt;
  }

  RawPrompt of_object(const Json& object, const std::string& path) const {
    Fields described = fields.inside(object, path);
    const auto media = described.array("multimodal_data");
    if (media && !media->items().empty())
      described.refuse("multimodal_data", "is nothing that this server reads: texts alone");
    return {{{.text = described.required_string("prompt_string")}}};
  }

  RawPrompt one(const Json& prompt, const std::string& path) const {
    if (prompt.is_string()) return {{{.text = prompt.string()}}};
    if (prompt.is_object() && mixture == Mixture::kLlama) return of_object(prompt, path);
    if (!prompt.is_array()) fields.refuse(path, shapes());
    return of_list(prompt, path);
  }
};

}  // namespace

std::vector<RawPrompt> read_prompts(Fields& fields, const ModelFacts& model, Mixture mixture,
                                    const char* name) {
  const PromptReader reader{fields, model, mixture};
  const auto prompt = fields.any(name);
  if (!prompt) fields.refuse(name, "is missing: " + reader.shapes().substr(8));
  const std::vector<Json> items = prompt->items();
  const bool is_one = !prompt->is_array() || std::ranges::any_of(items, &Json::is_number);
  if (is_one) return {reader.one(*prompt, name)};
  if (items.empty()) fields.refuse(name, "is empty");
  if (items.size() > kMostPrompts)
    fields.refuse(name, "has more than " + std::to_string(kMostPrompts) + " prompts");
  std::vector<RawPrompt> prompts;
  for_each_item(*prompt, name, [&](const Json& item, const std::string& path) {
    prompts.push_back(reader.one(item, path));
  });
  return prompts;
}

FimTokens fim_tokens(const Fields& fields, const ModelFacts& model, const char* name) {
  const pc_engine_facts& facts = model.engine;
  const FimTokens tokens{facts.fim_prefix, facts.fim_suffix, facts.fim_middle, facts.fim_repo,
                         facts.fim_file};
  if (!tokens.are_there())
    fields.refuse(name,
                  "needs a model with tokens for filling in the middle, which this one "
                  "lacks; leave it out, or ask one that has them");
  return tokens;
}

}  // namespace pc::serve
