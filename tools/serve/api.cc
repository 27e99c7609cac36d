#include "tools/serve/api.h"

#include <set>
#include <utility>

#include "tools/serve/answering.h"
#include "tools/serve/anthropic.h"
#include "tools/serve/call_sink.h"
#include "tools/serve/failure_of.h"
#include "tools/serve/fields.h"
#include "tools/serve/json_reply.h"
#include "tools/serve/openai_chat.h"
#include "tools/serve/openai_text.h"
#include "tools/serve/playground.h"
#include "tools/serve/report.h"
#include "tools/serve/route_path.h"
#include "tools/serve/sampling_fields.h"
#include "tools/serve/store_report.h"
#include "tools/serve/timed_sink.h"

namespace pc::serve {
namespace {

// Reading a request takes milliseconds, of a long text some hundred.
constexpr std::size_t kReaders = 2, kMostUnread = 256;

// Forwards to a sink and counts what comes.
class CountedSink : public AnswerSink {
 public:
  CountedSink(std::unique_ptr<AnswerSink> sink, Metrics* metrics)
      : sink_(std::move(sink)), metrics_(metrics) {}

  void begin(const Usage& usage) override { sink_->begin(usage); }
  void piece(const Piece& piece) override { sink_->piece(piece); }
  void finish(std::uint32_t choice, const Finish& finish) override {
    sink_->finish(choice, finish);
  }
  void end(const Usage& usage) override {
    metrics_->count_answer(usage);
    if (!sink_->is_wanted()) metrics_->count_abandoned();
    sink_->end(usage);
  }
  void fail(const ApiError& error) override { sink_->fail(error); }
  bool is_wanted() const override { return sink_->is_wanted(); }

 private:
  const std::unique_ptr<AnswerSink> sink_;
  Metrics* const metrics_;
};

// Counts the status of what is answered; on whichever thread that is.
class CountedReply : public Reply {
 public:
  CountedReply(std::shared_ptr<Reply> reply, std::string route, Metrics* metrics)
      : reply_(std::move(reply)), route_(std::move(route)), metrics_(metrics) {}

  void send(HttpResponse response) override {
    metrics_->count_response(route_, response.status);
    reply_->send(std::move(response));
  }
  void begin(HttpResponse head) override {
    metrics_->count_response(route_, head.status);
    reply_->begin(std::move(head));
  }
  void write(std::string bytes) override { reply_->write(std::move(bytes)); }
  void end() override { reply_->end(); }
  std::size_t queued_bytes() const override { return reply_->queued_bytes(); }
  void on_gone(std::function<void()> gone) override { reply_->on_gone(std::move(gone)); }

 private:
  const std::shared_ptr<Reply> reply_;
  const std::string route_;
  Metrics* const metrics_;
};

Json model_json(const ServedModel& model) {
  return Json::object()
      .set("id", model.id())
      .set("object", "model")
      .set("created", model.created())
      .set("owned_by", "promptcache")
      .set("max_model_len", model.facts().engine.context_tokens);
}

Json models_json(const ServedModel& model) {
  return Json::object().set("object", "list").set("data", Json::array().push(model_json(model)));
}

Json tokens_json(const std::vector<std::int32_t>& tokens) {
  Json list = Json::array();
  for (const std::int32_t token : tokens) list.push(token);
  return Json::object().set("tokens", list);
}

Json tokenize(const Json& body, const ServedModel& model) {
  Fields fields(body);
  return tokens_json(model.engine().tokenize(fields.required_string("content")));
}

Json detokenize(const Json& body, const ServedModel& model) {
  Fields fields(body);
  const auto list = fields.array("tokens");
  if (!list) fields.refuse("tokens", "is missing: a list");
  std::vector<std::int32_t> tokens;
  for_each_item(*list, "tokens", [&](const Json& item, const std::string& path) {
    const auto token = item.integer();
    if (!token || *token < 0 || *token >= model.facts().engine.vocab_size)
      throw ApiError::bad_request(path + " is no token of this model", path);
    tokens.push_back(static_cast<std::int32_t>(*token));
  });
  return Json::object().set("content", model.engine().detokenize(tokens.data(), tokens.size()));
}

Json count_tokens(const Json& body, const ServedModel& model) {
  const AnthropicRequest request = read_anthropic(body, model.facts(), true);
  return Json::object().set("input_tokens", model.prompt_of(request.question).counts().tokens);
}

Question question_of(const Json& body, const ServedModel& model) {
  return (body["prompt"].is_null() ? read_openai_chat(body, model.facts())
                                   : read_openai_text(body, model.facts()))
      .question;
}

Json apply_template(const Json& body, const ServedModel& model) {
  return Json::object().set("prompt", model.written(question_of(body, model)));
}

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

// Does the work, and answers with what it throws.
template <class F>
void guard(Protocol protocol, const std::shared_ptr<Reply>& reply, F work) {
  if (const auto failure = failure_of(work)) reply->send(to_response(*failure, protocol));
}

}  // namespace

Api::Api(const ServedModel& model, const ApiOptions& options)
    : model_(model),
      options_(options),
      encoder_([this] { return n_busy_ == 0; }),
      planner_(model, &encoder_),
      answers_(options.n_parallel, options.most_waiting),
      readers_(kReaders, kMostUnread) {
  add_routes();
  add_openai_routes();
  add_pml_routes();
  responses_.try_emplace(std::nullopt);
  for (const std::string& name : options.keys.name_spaces()) responses_.try_emplace(name);
  add_responses_routes();
  add_playground();
  add_description();
}

// What a request's prompt would be made of; computes nothing.
Json Api::explain(const Question& question) {
  const Plan plan = planner_.plan(question, false);
  Json remarks = Json::array();
  for (const std::string& remark : plan.remarks) remarks.push(remark);
  return Json::parse(plan.prompt.explain())
      .set("mode", name_of(question.mode))
      .set("used", name_of(plan.mode))
      .set("exact", plan.exact)
      .set("remarks", remarks);
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

void Api::add_routes() {
  const auto get = [this](const std::string& path, std::function<HttpResponse()> make) {
    routes_.push_back({"GET", path, Protocol::kOpenAi,
                       [make](const HttpRequest&, const auto& reply) { reply->send(make()); }});
  };
  const auto json = [](const Json& body) {
    HttpResponse response;
    response.body = body.dump();
    return response;
  };
  get("/health", [json] { return json(Json::object().set("status", "ok")); });
  routes_.back().is_open = true;
  get("/v1/models", [this, json] { return json(models_json(model_)); });
  get("/models", [this, json] { return json(models_json(model_)); });
  get("/v1/models/" + model_.id(), [this, json] { return json(model_json(model_)); });
  routes_.push_back({"GET", "/v1/models/*", Protocol::kOpenAi,
                     [this](const HttpRequest& request, const auto& reply) {
                       check_model(name_in(request.path), model_.id());
                       send(reply, model_json(model_));
                     }});
  get("/v1/prompt_cache/store", [this, json] {
    if (options_.keys.are_needed())
      throw ApiError(403, "permission_error", "the store has files of other keys' owners, too");
    return json(store_report(model_));
  });
  get("/metrics", [this] {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body =
        metrics_.page({answers_.n_running(), answers_.n_waiting(), encoder_.n_waiting()},
                      model_.engine().cache_counts());
    return response;
  });
  const auto post = [this](const char* path, Protocol protocol,
                           Json (*make)(const Json&, const ServedModel&)) {
    routes_.push_back(
        {"POST", path, protocol, [this, make](const HttpRequest& request, const auto& reply) {
           send(reply, make(read_body(request.body), model_));
         }});
  };
  post("/tokenize", Protocol::kOpenAi, tokenize);
  post("/detokenize", Protocol::kOpenAi, detokenize);
  post("/apply-template", Protocol::kOpenAi, apply_template);
  routes_.push_back({"POST", "/v1/prompt_cache/explain", Protocol::kOpenAi,
                     [this](const HttpRequest& request, const auto& reply) {
                       Question question = question_of(read_body(request.body), model_);
                       complete(request, &question);
                       send(reply, explain(question));
                     }});
  post("/v1/messages/count_tokens", Protocol::kAnthropic, count_tokens);
}

void Api::add_openai_routes() {
  using ReadQuestion = OpenAiRequest (*)(const Json&, const ModelFacts&);
  using MakeSink = std::unique_ptr<AnswerSink> (*)(const OpenAiRequest&, const ServedModel&,
                                                   std::shared_ptr<Reply>);
  const auto add = [this](const char* path, ReadQuestion read, MakeSink make) {
    routes_.push_back({"POST", path, Protocol::kOpenAi,
                       [this, read, make](const HttpRequest& request, const auto& reply) {
                         OpenAiRequest asked = read(read_body(request.body), model_.facts());
                         complete(request, &asked.question);
                         auto sink = make(asked, model_, reply);
                         answer(std::move(asked.question), std::move(sink));
                       }});
  };
  for (const char* const path : {"/v1/chat/completions", "/chat/completions"})
    add(path, read_openai_chat, openai_chat_sink);
  for (const char* const path : {"/v1/completions", "/completions"})
    add(path, read_openai_text, openai_text_sink);
  routes_.push_back({"POST", "/v1/messages", Protocol::kAnthropic,
                     [this](const HttpRequest& request, const auto& reply) {
                       AnthropicRequest asked =
                           read_anthropic(read_body(request.body), model_.facts(), false);
                       complete(request, &asked.question);
                       auto sink = anthropic_sink(asked, model_, reply);
                       answer(std::move(asked.question), std::move(sink));
                     }});
  routes_.push_back({"POST", "/v1/prompt_cache/prewarm", Protocol::kOpenAi,
                     [this](const HttpRequest& request, const auto& reply) {
                       Question question = question_of(read_body(request.body), model_);
                       complete(request, &question);
                       submit([this, question, reply] {
                         guard(Protocol::kOpenAi, reply, [&] {
                           const Usage usage = prewarm(model_, planner_, question);
                           send(reply, Json::object()
                                           .set("object", "prompt_cache.prewarm")
                                           .set("usage", openai_usage(usage))
                                           .set("prompt_cache", prompt_cache(usage, question)));
                         });
                       });
                     }});
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

void Api::answer(Question question, std::unique_ptr<AnswerSink> sink) {
  const Json tools = question.chat["tools"];
  if (!tools.is_null()) {
    const auto& shape = model_.call_shape();
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
  submit([this, asked = std::move(question), timed] {
    if (!timed->is_late()) serve::answer(model_, planner_, asked, *timed);
    timed->tell_if_late();
  });
}

}  // namespace pc::serve
