// The server's routes: which request is answered by whom, and on which thread.
//
// A request is read on one of the few threads for short work, an answer is made on one of those
// that may answer at once; where all are busy and the queue is full, the client is told when to
// come again. A request whose model is not in memory waits for it on one thread beside those,
// in the order of coming: on theirs it could wait for answers that are queued behind it.
//
// Owner of threads and models. Threads: handle() from any.
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

#include "tools/serve/answer_sink.h"
#include "tools/serve/api_keys.h"
#include "tools/serve/http.h"
#include "tools/serve/loaded_model.h"
#include "tools/serve/metrics.h"
#include "tools/serve/stored_responses.h"
#include "tools/serve/workers.h"

namespace pc::serve {

// A model that may be asked for.
struct ModelFile {
  std::string name;
  std::uint64_t weight_bytes = 0;
  std::function<promptcache::Engine()> open;  // throws promptcache::Error
};

struct ApiOptions {
  std::size_t n_parallel = 4;        // answers that are made at once
  std::size_t most_waiting = 64;     // requests beyond those
  std::chrono::seconds deadline{0};  // of an answer, from its request on; 0: none
  Mode mode = Mode::kPrefix;         // of requests that name none
  ApiKeys keys = {};
  std::uint64_t model_bytes = UINT64_MAX;  // of the weights of all models in memory
};

class Api {
 public:
  // Loads the first of the models, which answers those who name none. Throws promptcache::Error.
  Api(const std::vector<ModelFile>& models, const ApiOptions& options);
  ~Api();

  // Never blocks, throws nothing.
  void handle(HttpRequest request, std::shared_ptr<Reply> reply);

 private:
  // A request's turn on a thread for short work; throws ApiError.
  using Work = std::function<void(const HttpRequest&, const std::shared_ptr<Reply>&)>;
  // One that is about a model.
  struct Asked {
    const HttpRequest& http;
    const Json& body;  // null where there is none
    const ModelHandle& loaded;

    const ServedModel& model() const { return loaded->model; }
  };
  using ModelWork = std::function<void(const Asked&, const std::shared_ptr<Reply>&)>;
  struct Route {
    const char* method;
    std::string path;  // a route (route_path.h)
    Protocol protocol;
    Work work;
    const char* label = nullptr;  // in metrics; null: the path
    bool is_open = false;         // also for who has no key
  };

  std::vector<Models::Source> sources(const std::vector<ModelFile>& models);

  // On a thread for answers; throws ApiError where too many wait.
  void submit(Workers::Job job);
  // With the model that the request names.
  Work with_model(Protocol protocol, ModelWork work);
  void add(const char* method, const std::string& path, ModelWork work,
           Protocol protocol = Protocol::kOpenAi);
  std::string name_of_model(const HttpRequest& request, const Json& body) const;
  ModelHandle take(const std::string& name);  // blocks; throws ApiError
  ApiError no_model(const std::string& name) const;
  std::vector<ModelGauges> model_gauges();
  void add_routes();
  void add_model_routes();  // model_routes.cc
  void add_text_routes();   // text_routes.cc
  void add_openai_routes();
  void add_pml_routes();  // pml_routes.cc
  NameSpace name_space_of(const HttpRequest& request) const;
  // Whose request it is, and its mode where its body names none. Throws ApiError.
  void complete(const HttpRequest& request, Question* question) const;
  void add_responses_routes();  // responses_routes.cc
  void add_playground();
  void add_description();
  static std::string label_of(const Route* route);
  const Route* find(const HttpRequest& request) const;
  std::string methods_of(const std::string& path) const;  // with commas; "": of no route
  void answer(const ModelHandle& loaded, Question question, std::unique_ptr<AnswerSink> sink);

  const ApiOptions options_;
  Metrics metrics_;
  std::map<NameSpace, StoredResponses> responses_;
  std::map<std::string, SchemasOf> schemas_;  // of each model; its keys never change
  std::vector<Route> routes_;
  std::atomic<std::size_t> n_busy_ = 0;  // answers that are made or wait
  const std::string first_model_;
  const std::int64_t started_;  // seconds since 1970
  Models models_;
  Json store_;                          // as the first model describes it; null where there is none
  Workers answers_, loader_, readers_;  // each submits to those before it, and ends first
};

}  // namespace pc::serve
