// What the routes of every protocol share: the models that are asked, the threads that read and
// answer, whose request it is, and what is counted.
//
// A request is read on one of the few threads for short work, an answer is made on one of those
// that may answer at once; where all are busy and the queue is full, the client is told when to
// come again. A request whose model is not in memory waits for it on one thread beside those,
// in the order of coming: on theirs it could wait for answers that are queued behind it.
//
// Owner of threads and models. Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/serve/answer/delivery.h"
#include "tools/serve/answer/gathered_answers.h"
#include "tools/serve/http/http.h"
#include "tools/serve/models/loaded_model.h"
#include "tools/serve/models/prepared_turns.h"
#include "tools/serve/service/api_keys.h"
#include "tools/serve/service/metrics.h"
#include "tools/serve/service/workers.h"

namespace pc::serve {

// A model that may be asked for.
struct ModelFile {
  std::string name;
  std::uint64_t weight_bytes = 0;
  std::function<promptcache::Engine()> open;  // throws promptcache::Error
  std::string file = {};                      // its name, without the folders
  std::vector<std::string> aliases = {};      // what else it is called
};

struct ServiceOptions {
  std::size_t n_parallel = 4;        // answers that are made at once
  std::size_t most_waiting = 64;     // requests beyond those
  std::chrono::seconds deadline{0};  // of an answer, from its request on; 0: none
  Mode mode = Mode::kPrefix;         // of requests that name none
  bool prepares = true;              // the next turns of conversations, while nobody waits
  bool slides = false;  // over oldest turns that do not fit, where requests say nothing
  std::optional<std::uint32_t> max_draft = {};  // the same; none: the library's choice
  ApiKeys keys = {};
  std::uint64_t model_bytes = UINT64_MAX;          // of the weights of all models in memory
  std::size_t body_bytes = std::size_t{16} << 20;  // of a request's body, once it is unpacked
  bool any_model = false;                          // the first answers to names of none, too
};

// A request for a model, which is in memory.
struct Asked {
  const HttpRequest& http;
  const Json& body;  // null where there is none
  const ModelHandle& loaded;

  const ServedModel& model() const { return loaded->model; }
};

// What is done with a request, on a thread for short work; throws ApiError.
using Work = std::function<void(const HttpRequest&, const std::shared_ptr<Reply>&)>;
using ModelWork = std::function<void(const Asked&, const std::shared_ptr<Reply>&)>;

class Service {
 public:
  // Loads the first of the models, which answers those who name none. Throws promptcache::Error.
  Service(const std::vector<ModelFile>& models, const ServiceOptions& options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Does the job on a thread for short work; false where too many wait. Throws nothing.
  bool read(Workers::Job job) { return readers_.submit(std::move(job)); }

  // Work that takes the model which the request names, or else the first, and does `work` with it.
  Work with_model(Protocol protocol, ModelWork work);

  // Does the job on a thread for answers; throws ApiError where too many wait.
  void submit(Workers::Job job);

  // Answers the question on a thread for answers, in the writer's protocol. Throws ApiError.
  void answer(const ModelHandle& loaded, Question question, std::unique_ptr<AnswerWriter> writer,
              bool streams, const std::shared_ptr<Reply>& reply);

  // When an answer must be over whose request comes now.
  std::chrono::steady_clock::time_point deadline() const;

  NameSpace name_space_of(const HttpRequest& request) const;
  // Sets whose question it is, and its mode where the request's body names none. Throws ApiError.
  void complete(const HttpRequest& request, Question* question) const;
  // Drops the question's oldest turns if they do not fit the window and may be dropped. Throws
  // ApiError.
  void fit(const ModelHandle& loaded, Question* question) const;

  // Unpacks a body that was sent compressed. Throws ApiError.
  void unpack(HttpRequest* request) const;

  const ApiKeys& keys() const { return options_.keys; }
  Metrics& metrics() { return metrics_; }
  std::string metrics_page();  // as Metrics::page() has it

  std::size_t n_parallel() const { return options_.n_parallel; }
  std::size_t n_running() const { return answers_.n_running(); }
  const std::string& file_of(const std::string& model) const { return files_.at(model); }

  std::vector<Models::Known> models() { return models_.all(); }
  // All names of all models, aliases included.
  std::vector<std::string> model_names() const;
  // The first name of the model that has this name or alias; "": there is none.
  std::string known_as(const std::string& name) const;
  std::vector<std::string> aliases_of(const std::string& model) const;
  ApiError no_model(const std::string& name) const;
  std::int64_t started() const { return started_; }  // seconds since 1970
  // The store, as the first model's engine describes it; null where there is none.
  const Json& store() const { return store_; }

 private:
  // Of the conversation of an answer that has ended: the next turn, once nobody waits.
  void read_ahead(LoadedModel* loaded, const Question& question) const;
  void prepare(LoadedModel* loaded, const Question& question, const GatheredAnswers& answers);
  std::vector<Models::Source> sources(const std::vector<ModelFile>& models);
  std::string name_of_model(const HttpRequest& request, const Json& body) const;
  ModelHandle take(const std::string& name);  // blocks; throws ApiError
  std::vector<ModelGauges> model_gauges();

  const ServiceOptions options_;
  Metrics metrics_;
  PreparedTurns prepared_;
  std::map<std::string, SchemasOf> schemas_;    // of each model; its keys never change
  std::map<std::string, std::string> files_;    // the names of theirs
  std::map<std::string, std::string> aliases_;  // other names, and whose they are
  std::atomic<std::size_t> n_busy_ = 0;         // answers that are made or wait
  const std::string first_model_;
  const std::int64_t started_;
  Models models_;
  Json store_;
  Workers answers_, loader_, readers_;  // each submits to those before it, and ends first
};

}  // namespace pc::serve
