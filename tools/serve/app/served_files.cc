#include "tools/serve/app/served_files.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "tools/opening/memory_limit.h"
#include "tools/opening/open.h"
#include "tools/output/json.h"
#include "tools/output/sizes.h"

namespace pc::serve {
namespace {

using cli::Options;

// "models/city-guide/" and "city-guide.gguf" are both called city-guide.
std::string name_of_file(std::filesystem::path path) {
  if (!path.has_filename()) path = path.parent_path();
  return (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
}

// Of a file, or a folder that may be written with a slash behind it.
std::string base_name(const std::string& text) {
  const std::filesystem::path path(text);
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

struct Named {
  std::string name, path;
};

// "PATH" or "NAME=PATH"; a name has no slash, so that "./a=b" is a path. Or "NAME=TEMPLATE".
Named named(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || text.substr(0, equals).find('/') != text.npos)
    return {name_of_file(text), text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// --chat-template is for the first, which is opened before the server minds Ctrl-C.
ModelFile file_of(const Options& all, const Named& model, bool is_first) {
  Options options = all;
  options.model = model.path;
  if (!is_first) options.chat_template.clear();
  for (const std::string& text : all.serve.templates)
    if (const Named given = named(text); given.name == model.name)
      options.chat_template = given.path;
  const Json facts = cli::parse_report(promptcache::model_inspect(cli::engine_options(options)));
  return {model.name, facts["weight_bytes"].number().value_or(0),
          [options, shows = std::make_shared<bool>(is_first)] {
            const pc_cache_mode mode = cli::cache_mode(options);
            return std::exchange(*shows, false) ? cli::open_engine(options, mode)
                                                : cli::open_engine_quietly(options, mode);
          },
          base_name(model.path)};
}

// "ALIAS" of the first, or "NAME=ALIAS".
void add_alias(const std::string& text, std::vector<ModelFile>* files) {
  const std::size_t equals = text.find('=');
  const bool is_first = equals == text.npos;
  const std::string alias = is_first ? text : text.substr(equals + 1);
  const auto model = is_first ? files->begin()
                              : std::ranges::find(*files, text.substr(0, equals), &ModelFile::name);
  if (model == files->end() || alias.empty())
    throw cli::Failure(cli::kUsage, "--alias " + text + " names no model that is served");
  for (const ModelFile& file : *files)
    if (file.name == alias || std::ranges::find(file.aliases, alias) != file.aliases.end())
      throw cli::Failure(cli::kUsage, "--alias " + text + ": " + file.name + " is called so");
  model->aliases.push_back(alias);
}

}  // namespace

std::vector<ModelFile> served_files(const Options& options) {
  const std::string& name = options.serve.name;
  std::vector<Named> all = {{name.empty() ? name_of_file(options.model) : name, options.model}};
  for (const std::string& text : options.serve.more_models) all.push_back(named(text));
  std::vector<ModelFile> files;
  for (const Named& model : all) {
    const auto is_it = [&](const ModelFile& file) { return file.name == model.name; };
    if (std::ranges::any_of(files, is_it))
      throw cli::Failure(cli::kUsage,
                         "two models are called " + model.name +
                             ": give one another name, --add-model NAME=" + model.path);
    files.push_back(file_of(options, model, files.empty()));
  }
  for (const std::string& text : options.serve.aliases) add_alias(text, &files);
  for (const std::string& text : options.serve.templates) {
    const auto is_it = [&](const ModelFile& file) { return file.name == named(text).name; };
    if (std::ranges::none_of(files, is_it))
      throw cli::Failure(cli::kUsage,
                         "--model-template " + text + " names no model that is served");
  }
  return files;
}

std::uint64_t model_bytes(const Options& options, const std::vector<ModelFile>& files) {
  const ModelFile& largest = *std::ranges::max_element(files, {}, &ModelFile::weight_bytes);
  const auto& asked = options.serve.model_memory;
  if (!asked) return std::max(cli::usable_memory_bytes() / 4 * 3, largest.weight_bytes);
  if (*asked >= largest.weight_bytes) return *asked;
  throw cli::Failure(cli::kUsage, largest.name + " has " + cli::format_size(largest.weight_bytes) +
                                      " of weights, more than --model-memory " +
                                      cli::format_size(*asked));
}

}  // namespace pc::serve
