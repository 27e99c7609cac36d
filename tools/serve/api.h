// The server's routes: which request is answered by whom, and on which thread.
//
// A request is read on one of the few threads for short work, an answer is made on one of those
// that may answer at once; where all are busy and the queue is full, the client is told when to
// come again. Owner of both; borrows the model. Threads: handle() from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/serve/answer_sink.h"
#include "tools/serve/api_keys.h"
#include "tools/serve/http.h"
#include "tools/serve/idle_encoder.h"
#include "tools/serve/metrics.h"
#include "tools/serve/planner.h"
#include "tools/serve/served_model.h"
#include "tools/serve/stored_responses.h"
#include "tools/serve/workers.h"

namespace pc::serve {

struct ApiOptions {
  std::size_t n_parallel = 4;        // answers that are made at once
  std::size_t most_waiting = 64;     // requests beyond those
  std::chrono::seconds deadline{0};  // of an answer, from its request on; 0: none
  Mode mode = Mode::kPrefix;         // of requests that name none
  ApiKeys keys = {};
};

class Api {
 public:
  Api(const ServedModel& model, const ApiOptions& options);

  // Never blocks, throws nothing.
  void handle(HttpRequest request, std::shared_ptr<Reply> reply);

 private:
  // A request's turn on a thread for short work; throws ApiError.
  using Work = std::function<void(const HttpRequest&, const std::shared_ptr<Reply>&)>;
  struct Route {
    const char* method;
    std::string path;  // a route (route_path.h)
    Protocol protocol;
    Work work;
    const char* label = nullptr;  // in metrics; null: the path
    bool is_open = false;         // also for who has no key
  };

  // On a thread for answers; throws ApiError where too many wait.
  void submit(Workers::Job job);
  void add_routes();
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
  Json explain(const Question& question);
  void answer(Question question, std::unique_ptr<AnswerSink> sink);

  const ServedModel& model_;
  const ApiOptions options_;
  Metrics metrics_;
  std::map<NameSpace, StoredResponses> responses_;
  std::vector<Route> routes_;
  std::atomic<std::size_t> n_busy_ = 0;  // answers that are made or wait
  IdleEncoder encoder_;
  Planner planner_;
  Workers answers_, readers_;  // readers_ submit to answers_, and end first
};

}  // namespace pc::serve
