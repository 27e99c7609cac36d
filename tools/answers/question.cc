#include "tools/answers/question.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/opening/open.h"
#include "tools/output/failure.h"
#include "tools/output/interrupt.h"
#include "tools/output/json.h"

namespace pc::cli {
namespace {

constexpr char kStandardInput[] = "-";

std::string question_of(const Options& options) {
  const std::string& text = options.prompts.front();
  if (text == kStandardInput) return read_document(text).text;
  const bool is_name = text.ends_with(".pml") && text.find_first_of(" \t\n") == text.npos;
  std::error_code ignored;
  if (is_name && !std::filesystem::exists(text, ignored))
    throw Failure(
        kUsage, "there is no file " + text + "; a question that is such a name alone is not asked");
  if (text.ends_with(".pml") && std::filesystem::exists(text, ignored))
    throw Failure(kUsage, text + " is a prompt in PML: name its schema with --schema");
  return text;
}

// What the question is about, and then the question.
std::vector<std::string> texts_of(const Options& options) {
  const auto read = std::count(options.files.begin(), options.files.end(), kStandardInput) +
                    std::count(options.prompts.begin(), options.prompts.end(), kStandardInput);
  if (read > 1) throw Failure(kUsage, "the standard input can be read once: give one - alone");
  std::vector<std::string> texts;
  for (const std::string& path : options.files) {
    Document document = read_document(path);
    document.text.erase(document.text.find_last_not_of("\r\n") + 1);
    if (document.text.empty()) throw Failure(kFailure, document.name + " is empty");
    texts.push_back(document.text + "\n\n");
  }
  texts.push_back(question_of(options));
  return texts;
}

// In the place of modules: text that begins alike is found, too.
void keep(const promptcache::Prompt& texts, const Options& options) {
  promptcache::Session session(texts, promptcache::SessionOptions());
  const Interruptible interruptible(session.get());
  session.prefill();
  try {
    session.keep();
  } catch (const promptcache::Error&) {
    // The answer does not need it; why the store is not in use, the engine has said.
    if (options.require_cache) throw;
  }
}

promptcache::Prompt continued(const promptcache::Engine& engine, const Options& options,
                              const std::vector<std::string>& texts) {
  if (!options.quiet)
    print_remark(options.model,
                 "brings no chat template: the text is continued as it stands "
                 "(--chat-template names a format)");
  const promptcache::Schema schema = promptcache::Schema::plain(engine);
  std::string whole;
  for (const std::string& text : texts) {
    if (&text == &texts.back() && !whole.empty() && cache_mode(options) == PC_CACHE_READ_WRITE)
      keep(promptcache::Prompt::from_text(schema, whole), options);
    whole += text;
  }
  return promptcache::Prompt::from_text(schema, whole);
}

// Of texts that have not seen each other, where no check of answers has said anything else
// (docs/ANSWERS.md, "By task").
constexpr char kRepair[] = "attended:15%", kChecked[] = "auto";

promptcache::Prompt asked(const promptcache::Engine& engine, const pc_chat_message& message,
                          const char* repair) {
  promptcache::ChatOptions options;
  options.repair = repair;
  return promptcache::Prompt(promptcache::Chat(engine, {message}, options),
                             PC_CHAT_MODULES | PC_CHAT_IN_SLOTS);
}

bool is_settled(const promptcache::Prompt& prompt) {
  const std::vector<pc_module_run> runs = prompt.look().second;
  return std::none_of(runs.begin(), runs.end(), [](const pc_module_run& run) {
    return run.exact == 0 && run.repair == std::string_view(kChecked);
  });
}

}  // namespace

promptcache::Prompt ask_question(const promptcache::Engine& engine, const Options& options) {
  const std::vector<std::string> texts = texts_of(options);
  if (parse_report(engine.describe())["chat_template"].text() == "-")
    return continued(engine, options, texts);
  std::vector<pc_chat_part> parts;
  for (const std::string& text : texts)
    parts.push_back(
        {text.data(), text.size(), &text == &texts.back() ? 0u : std::uint32_t{PC_CHAT_MODULE}});
  const pc_chat_message message = {"user", PC_CONTENT_TEXT, parts.data(), parts.size(), nullptr, 0};
  promptcache::Prompt checked = asked(engine, message, kChecked);
  return is_settled(checked) ? std::move(checked) : asked(engine, message, kRepair);
}

}  // namespace pc::cli
