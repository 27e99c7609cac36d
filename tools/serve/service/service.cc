#include "tools/serve/service/service.h"

#include <ctime>
#include <utility>

#include "tools/serve/answer/answering.h"
#include "tools/serve/answer/next_turn.h"
#include "tools/serve/http/body_coding.h"
#include "tools/serve/http/request_log.h"
#include "tools/serve/models/preparation.h"
#include "tools/serve/models/window_slide.h"
#include "tools/serve/request/failure_of.h"
#include "tools/serve/request/fields.h"
#include "tools/serve/request/route_path.h"

namespace pc::serve {
namespace {

// Reading a request takes milliseconds, of a long text some hundred.
constexpr std::size_t kReaders = 2, kMostUnread = 256;

// For a model's room: as long as the answers of a full queue may take that have it now.
constexpr std::chrono::minutes kPatience{5};

}  // namespace

Service::Service(const std::vector<ModelFile>& models, const ServiceOptions& options)
    : options_(options),
      first_model_(models.front().name),
      started_(std::time(nullptr)),
      models_(sources(models), options.model_bytes, kPatience),
      answers_(options.n_parallel, options.most_waiting),
      loader_(1, options.most_waiting),
      readers_(kReaders, kMostUnread) {
  const ModelHandle first = models_.take(first_model_);
  const promptcache::Engine& engine = first->model.engine();
  if (first->model.facts().engine.store_in_use)
    store_ = cli::parse_report(engine.describe())["cache"];
}

Service::~Service() {
  models_.stop();
}

std::vector<Models::Source> Service::sources(const std::vector<ModelFile>& models) {
  std::vector<Models::Source> sources;
  for (const ModelFile& file : models) {
    SchemasOf& schemas = schemas_[file.name];
    files_[file.name] = file.file;
    for (const std::string& alias : file.aliases) aliases_.emplace(alias, file.name);
    schemas.try_emplace(std::nullopt);
    for (const std::string& name : options_.keys.name_spaces()) schemas.try_emplace(name);
    const auto load = [this, file, &schemas] {
      auto loaded = std::make_unique<LoadedModel>(file.open(), file.name, &schemas,
                                                  [this] { return n_busy_ == 0; });
      loaded->on_end = [this](const LoadedModel& ending) {
        metrics_.count_ended(ending.model.engine().cache_counts());
      };
      return loaded;
    };
    sources.push_back({file.name, file.weight_bytes, load});
  }
  return sources;
}

void Service::submit(Workers::Job job) {
  ++n_busy_;
  const bool taken = answers_.submit([this, job = std::move(job)] {
    job();
    --n_busy_;
  });
  if (taken) return;
  --n_busy_;
  throw ApiError::too_busy();
}

std::string Service::name_of_model(const HttpRequest& request, const Json& body) const {
  const std::string name =
      body.is_null() ? value_in(request.query, "model") : Fields(body).string("model").value_or("");
  return name.empty() ? first_model_ : name;
}

std::string Service::known_as(const std::string& asked) const {
  constexpr std::string_view kTag = ":latest";  // Ollama's clients put it behind each name
  const bool is_tagged = !schemas_.contains(asked) && asked.ends_with(kTag);
  const std::string name = is_tagged ? asked.substr(0, asked.size() - kTag.size()) : asked;
  if (schemas_.contains(name)) return name;
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) return alias->second;
  return options_.any_model ? first_model_ : "";
}

std::vector<std::string> Service::aliases_of(const std::string& model) const {
  std::vector<std::string> names;
  for (const auto& [alias, name] : aliases_)
    if (name == model) names.push_back(alias);
  return names;
}

ApiError Service::no_model(const std::string& name) const {
  std::string names;
  for (const auto& [known, schemas] : schemas_)
    names += (names.empty() ? "\"" : ", \"") + known + "\"";
  return {404, "invalid_request_error",
          "the model \"" + name + "\" does not exist here; this server answers with " + names,
          "model", "model_not_found"};
}

ModelHandle Service::take(const std::string& name) try {
  if (ModelHandle loaded = models_.take(name)) return loaded;
  throw ApiError::too_busy();
} catch (const promptcache::Error& error) {
  throw ApiError(503, "server_error",
                 "the model \"" + name + "\" cannot be loaded: " + error.what(), "model");
}

void Service::unpack(HttpRequest* request) const {
  if (const auto problem = unpack_body(request, options_.body_bytes))
    throw ApiError(problem->status, "invalid_request_error", problem->sentence);
}

// Where it is not in memory, the rest of the request's turn is the loader's.
Work Service::with_model(Protocol protocol, ModelWork work) {
  return [this, protocol, work = std::move(work)](const HttpRequest& request, const auto& reply) {
    const Json body = request.method == "POST" ? read_body(request.body) : Json();
    const std::string asked = name_of_model(request, body), name = known_as(asked);
    if (name.empty()) throw no_model(asked);
    if (request.notes) request.notes->set_model(name);
    if (const ModelHandle loaded = models_.take_loaded(name))
      return work({request, body, loaded}, reply);
    const bool taken = loader_.submit([this, protocol, work, request, body, name, reply] {
      guard(protocol, reply, [&] { work({request, body, take(name)}, reply); });
    });
    if (!taken) throw ApiError::too_busy();
  };
}

std::vector<ModelGauges> Service::model_gauges() {
  std::vector<ModelGauges> all;
  for (const Models::Known& known : models_.all()) {
    ModelGauges gauges{.name = known.name, .n_loads = known.n_loads};
    if (known.handle) {
      gauges.is_loaded = true;
      gauges.n_modules_waiting = known.handle->idle.n_waiting();
      gauges.cache = known.handle->model.engine().cache_counts();
    }
    all.push_back(gauges);
  }
  return all;
}

std::string Service::metrics_page() {
  return metrics_.page({answers_.n_running(), answers_.n_waiting()}, model_gauges());
}

std::vector<std::string> Service::model_names() const {
  std::vector<std::string> names;
  for (const auto& [name, schemas] : schemas_) names.push_back(name);
  for (const auto& [alias, name] : aliases_) names.push_back(alias);
  return names;
}

NameSpace Service::name_space_of(const HttpRequest& request) const {
  return options_.keys.name_space_of(request).value_or(NameSpace());
}

void Service::complete(const HttpRequest& request, Question* question) const {
  question->name_space = name_space_of(request);
  question->notes = request.notes;
  const std::string* const header = request.header("x-prompt-cache");
  const auto mode = header ? mode_of(*header) : std::optional(options_.mode);
  if (!mode)
    throw ApiError::bad_request("the header x-prompt-cache must be one of: " + mode_names(),
                                "x-prompt-cache");
  if (!question->says_mode) question->mode = *mode;
  if (!question->sampling.max_draft) question->sampling.max_draft = options_.max_draft;
}

void Service::fit(const ModelHandle& loaded, Question* question) const {
  if (question->slides.value_or(options_.slides)) slide_window(loaded->model, question);
}

std::chrono::steady_clock::time_point Service::deadline() const {
  using Clock = std::chrono::steady_clock;
  return options_.deadline.count() ? Clock::now() + options_.deadline : Clock::time_point::max();
}

void Service::answer(const ModelHandle& loaded, Question question,
                     std::unique_ptr<AnswerWriter> writer, bool streams,
                     const std::shared_ptr<Reply>& reply) {
  fit(loaded, &question);
  if (const auto n_tokens = prepared_.take(question)) metrics_.count_prepared_used(*n_tokens);
  const auto asked = std::make_shared<const Question>(std::move(question));
  const auto gathered = std::make_shared<GatheredAnswers>(asked->n_choices());
  const auto delivery =
      std::make_shared<Delivery>(reply, std::move(writer), streams, asked->n_choices());
  delivery->set_deadline(deadline());
  delivery->watch([this, self = delivery.get(), model = loaded.get(), asked,
                   gathered](const Event& event) {
    gathered->add(event);
    const auto* const ended = std::get_if<Ended>(&event);
    if (!ended) return;
    const Usage& usage = ended->usage;
    metrics_.count_answer(usage);
    if (asked->notes)
      asked->notes->set_tokens({usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens});
    if (!self->is_wanted())
      metrics_.count_abandoned();
    else
      prepare(model, *asked, *gathered);
  });
  submit([loaded, asked, delivery] {
    if (!delivery->is_late()) serve::answer(loaded->model, loaded->planner, *asked, delivery.get());
    delivery->tell_if_late();
  });
}

// What a prompt of the same schema may choose next, from the disk into memory.
void Service::read_ahead(LoadedModel* loaded, const Question& question) const {
  loaded->idle.add([&model = loaded->model, question](const IdleWork::MayGoOn&) {
    model.prompt_of(question).prefetch();
    return true;
  });
}

void Service::prepare(LoadedModel* loaded, const Question& question,
                      const GatheredAnswers& answers) {
  if (question.of_schema && question.mode != Mode::kOff) read_ahead(loaded, question);
  if (!options_.prepares || !loaded->model.facts().engine.store_in_use) return;
  if (answers.usage.reuse.mode != Mode::kPrefix) return;  // the next turn has modules, too
  if (auto next = next_turn(question, answers.choices.front()))
    loaded->idle.add(
        preparation(loaded->model, *next, [this, next = *next](std::uint64_t n_tokens) {
          metrics_.count_prepared(n_tokens);
          prepared_.add(next, n_tokens);
        }));
}

}  // namespace pc::serve
