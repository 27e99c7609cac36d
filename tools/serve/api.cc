#include "tools/serve/api.h"

#include <ctime>
#include <set>
#include <utility>

#include "tools/serve/answering.h"
#include "tools/serve/anthropic.h"
#include "tools/serve/call_sink.h"
#include "tools/serve/counted.h"
#include "tools/serve/failure_of.h"
#include "tools/serve/fields.h"
#include "tools/serve/json_reply.h"
#include "tools/serve/openai_chat.h"
#include "tools/serve/openai_text.h"
#include "tools/serve/playground.h"
#include "tools/serve/report.h"
#include "tools/serve/route_path.h"
#include "tools/serve/store_report.h"
#include "tools/serve/timed_sink.h"

namespace pc::serve {
namespace {

// Reading a request takes milliseconds, of a long text some hundred.
constexpr std::size_t kReaders = 2, kMostUnread = 256;

// For a model's room: as long as the answers of a full queue may take that have it now.
constexpr std::chrono::minutes kPatience{5};

// methods: that the path has.
HttpResponse no_route(const HttpRequest& request, const std::string& methods) {
  const std::string what = request.method + " " + request.path;
  if (methods.empty())
    return to_response(ApiError(404, "invalid_request_error", what + " is no route of this server"),
                       Protocol::kOpenAi);
  HttpResponse response =
      to_response(ApiError(405, "invalid_request_error", what + " is no way to call this route"),
                  Protocol::kOpenAi);
  response.headers.push_back({"allow", methods});
  return response;
}

}  // namespace

Api::Api(const std::vector<ModelFile>& models, const ApiOptions& options)
    : options_(options),
      first_model_(models.front().name),
      started_(std::time(nullptr)),
      models_(sources(models), options.model_bytes, kPatience),
      answers_(options.n_parallel, options.most_waiting),
      loader_(1, options.most_waiting),
      readers_(kReaders, kMostUnread) {
  responses_.try_emplace(std::nullopt);
  for (const std::string& name : options.keys.name_spaces()) responses_.try_emplace(name);
  const ModelHandle first = models_.take(first_model_);
  const promptcache::Engine& engine = first->model.engine();
  if (first->model.facts().engine.store_in_use) store_ = Json::parse(engine.describe())["cache"];
  add_routes();
  add_model_routes();
  add_text_routes();
  add_openai_routes();
  add_pml_routes();
  add_responses_routes();
  add_playground();
  add_description();
}

Api::~Api() {
  models_.stop();
}

std::vector<Models::Source> Api::sources(const std::vector<ModelFile>& models) {
  std::vector<Models::Source> sources;
  for (const ModelFile& file : models) {
    SchemasOf& schemas = schemas_[file.name];
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

void Api::submit(Workers::Job job) {
  ++n_busy_;
  const bool taken = answers_.submit([this, job = std::move(job)] {
    job();
    --n_busy_;
  });
  if (taken) return;
  --n_busy_;
  throw ApiError::too_busy();
}

std::string Api::name_of_model(const HttpRequest& request, const Json& body) const {
  const std::string name =
      body.is_null() ? value_in(request.query, "model") : Fields(body).string("model").value_or("");
  return name.empty() ? first_model_ : name;
}

ApiError Api::no_model(const std::string& name) const {
  std::string names;
  for (const auto& [known, schemas] : schemas_)
    names += (names.empty() ? "\"" : ", \"") + known + "\"";
  return {404, "invalid_request_error",
          "the model \"" + name + "\" does not exist here; this server answers with " + names,
          "model", "model_not_found"};
}

ModelHandle Api::take(const std::string& name) try {
  if (ModelHandle loaded = models_.take(name)) return loaded;
  throw ApiError::too_busy();
} catch (const promptcache::Error& error) {
  throw ApiError(503, "server_error",
                 "the model \"" + name + "\" cannot be loaded: " + error.what(), "model");
}

// Where it is not in memory, the rest of the request's turn is the loader's.
Api::Work Api::with_model(Protocol protocol, ModelWork work) {
  return [this, protocol, work = std::move(work)](const HttpRequest& request, const auto& reply) {
    const Json body = request.method == "POST" ? read_body(request.body) : Json();
    const std::string name = name_of_model(request, body);
    if (!schemas_.contains(name)) throw no_model(name);
    if (const ModelHandle loaded = models_.take_loaded(name))
      return work({request, body, loaded}, reply);
    const bool taken = loader_.submit([this, protocol, work, request, body, name, reply] {
      guard(protocol, reply, [&] { work({request, body, take(name)}, reply); });
    });
    if (!taken) throw ApiError::too_busy();
  };
}

void Api::add(const char* method, const std::string& path, ModelWork work, Protocol protocol) {
  routes_.push_back({method, path, protocol, with_model(protocol, std::move(work))});
}

void Api::add_routes() {
  const auto get = [this](const char* path, std::function<HttpResponse()> make) {
    routes_.push_back({"GET", path, Protocol::kOpenAi,
                       [make](const HttpRequest&, const auto& reply) { reply->send(make()); }});
  };
  get("/health", [] { return json_response(Json::object().set("status", "ok")); });
  routes_.back().is_open = true;
  get("/v1/prompt_cache/store", [this] {
    if (options_.keys.are_needed())
      throw ApiError(403, "permission_error", "the store has files of other keys' owners, too");
    return json_response(store_report(store_));
  });
  get("/metrics", [this] {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics_.page({answers_.n_running(), answers_.n_waiting()}, model_gauges());
    return response;
  });
}

std::vector<ModelGauges> Api::model_gauges() {
  std::vector<ModelGauges> all;
  for (const Models::Known& known : models_.all()) {
    ModelGauges gauges{.name = known.name, .n_loads = known.n_loads};
    if (known.handle) {
      gauges.is_loaded = true;
      gauges.n_modules_waiting = known.handle->encoder.n_waiting();
      gauges.cache = known.handle->model.engine().cache_counts();
    }
    all.push_back(gauges);
  }
  return all;
}

void Api::add_openai_routes() {
  using ReadQuestion = OpenAiRequest (*)(const Json&, const ModelFacts&);
  using MakeSink = std::unique_ptr<AnswerSink> (*)(const OpenAiRequest&, const ServedModel&,
                                                   std::shared_ptr<Reply>);
  const auto add_answer = [this](const char* path, ReadQuestion read, MakeSink make) {
    add("POST", path, [this, read, make](const Asked& asked, const auto& reply) {
      OpenAiRequest request = read(asked.body, asked.model().facts());
      complete(asked.http, &request.question);
      auto sink = make(request, asked.model(), reply);
      answer(asked.loaded, std::move(request.question), std::move(sink));
    });
  };
  for (const char* const path : {"/v1/chat/completions", "/chat/completions"})
    add_answer(path, read_openai_chat, openai_chat_sink);
  for (const char* const path : {"/v1/completions", "/completions"})
    add_answer(path, read_openai_text, openai_text_sink);
  add(
      "POST", "/v1/messages",
      [this](const Asked& asked, const auto& reply) {
        AnthropicRequest request = read_anthropic(asked.body, asked.model().facts(), false);
        complete(asked.http, &request.question);
        auto sink = anthropic_sink(request, asked.model(), reply);
        answer(asked.loaded, std::move(request.question), std::move(sink));
      },
      Protocol::kAnthropic);
  add("POST", "/v1/prompt_cache/prewarm", [this](const Asked& asked, const auto& reply) {
    Question question = question_of(asked.body, asked.model().facts());
    complete(asked.http, &question);
    submit([loaded = asked.loaded, question = std::move(question), reply] {
      guard(Protocol::kOpenAi, reply, [&] {
        const Usage usage = prewarm(loaded->model, loaded->planner, question);
        send(reply, Json::object()
                        .set("object", "prompt_cache.prewarm")
                        .set("usage", openai_usage(usage))
                        .set("prompt_cache", prompt_cache(usage, question)));
      });
    });
  });
}

NameSpace Api::name_space_of(const HttpRequest& request) const {
  return options_.keys.name_space_of(request).value_or(NameSpace());
}

void Api::complete(const HttpRequest& request, Question* question) const {
  question->name_space = name_space_of(request);
  const std::string* const header = request.header("x-prompt-cache");
  const auto mode = header ? mode_of(*header) : std::optional(options_.mode);
  if (!mode)
    throw ApiError::bad_request("the header x-prompt-cache must be one of: " + mode_names(),
                                "x-prompt-cache");
  if (!question->says_mode) question->mode = *mode;
}

void Api::add_playground() {
  for (const EmbeddedFile& file : playground_files())
    routes_.push_back(
        {"GET", playground_path(file), Protocol::kOpenAi,
         [file](const HttpRequest&, const auto& reply) { reply->send(playground_response(file)); },
         "playground", true});
}

void Api::add_description() {
  for (const EmbeddedFile& file : description_files())
    routes_.push_back({"GET", file.name, Protocol::kOpenAi,
                       [file](const HttpRequest&, const auto& reply) {
                         HttpResponse response;
                         response.body.assign(reinterpret_cast<const char*>(file.bytes),
                                              file.n_bytes);
                         reply->send(std::move(response));
                       },
                       nullptr, true});
}

// As metrics call it.
std::string Api::label_of(const Route* route) {
  if (!route) return "other";
  return route->label ? route->label : route->path;
}

const Api::Route* Api::find(const HttpRequest& request) const {
  for (const Route& route : routes_)
    if (request.method == route.method && leads_to(request.path, route.path)) return &route;
  return nullptr;
}

std::string Api::methods_of(const std::string& path) const {
  std::set<std::string> methods;
  for (const Route& route : routes_)
    if (leads_to(path, route.path)) methods.insert(route.method);
  std::string list;
  for (const std::string& method : methods) list += (list.empty() ? "" : ", ") + method;
  return list;
}

void Api::handle(HttpRequest request, std::shared_ptr<Reply> reply) {
  const Route* const route = find(request);
  auto counted = std::make_shared<CountedReply>(std::move(reply), label_of(route), &metrics_);
  if (!route) return counted->send(no_route(request, methods_of(request.path)));
  if (!route->is_open && !options_.keys.name_space_of(request)) {
    const ApiError refused(401, "invalid_request_error",
                           "a key is needed: authorization: Bearer KEY, or x-api-key: KEY", "",
                           "invalid_api_key");
    return counted->send(to_response(refused, route->protocol));
  }
  const auto asked = std::make_shared<HttpRequest>(std::move(request));
  const bool taken = readers_.submit([route, asked, counted] {
    guard(route->protocol, counted, [&] { route->work(*asked, counted); });
  });
  if (!taken) counted->send(to_response(ApiError::too_busy(), route->protocol));
}

void Api::answer(const ModelHandle& loaded, Question question, std::unique_ptr<AnswerSink> sink) {
  const Json tools = question.chat["tools"];
  if (!tools.is_null()) {
    const auto& shape = loaded->model.call_shape();
    if (!shape)
      throw ApiError::bad_request(
          "this model's chat template writes no calls of tools that could be "
          "read back; leave \"tools\" out",
          "tools");
    sink = std::make_unique<CallSink>(std::move(sink), *shape, tools, question.n);
  }
  using Clock = TimedSink::Clock;
  const auto end =
      options_.deadline.count() ? Clock::now() + options_.deadline : Clock::time_point::max();
  const auto timed =
      std::make_shared<TimedSink>(std::make_unique<CountedSink>(std::move(sink), &metrics_), end);
  submit([loaded, asked = std::move(question), timed] {
    if (!timed->is_late()) serve::answer(loaded->model, loaded->planner, asked, *timed);
    timed->tell_if_late();
  });
}

}  // namespace pc::serve
