#include "tools/serve/app/api.h"

#include "tools/serve/routes/routes.h"

namespace pc::serve {

Api::Api(const std::vector<ModelFile>& models, const ServiceOptions& options)
    : service_(models, options) {
  for (const auto add :
       {add_home_routes, add_model_routes, add_text_routes, add_answer_routes, add_embedding_routes,
        add_llama_routes, add_ollama_routes, add_responses_routes, add_pml_routes})
    add(&service_, &router_);
}

}  // namespace pc::serve
