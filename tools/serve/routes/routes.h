// The server's routes, by what they are about: each function adds its own to the router.
//
// All borrow the service, and outlive nothing of it.
#pragma once

#include "tools/serve/service/router.h"

namespace pc::serve {

void add_home_routes(Service* service, Router* router);    // health, metrics, the store, the page
void add_model_routes(Service* service, Router* router);   // which models there are
void add_text_routes(Service* service, Router* router);    // what computes nothing
void add_answer_routes(Service* service, Router* router);  // completions, messages, prewarm
void add_embedding_routes(Service* service, Router* router);  // vectors of texts, and rankings
void add_llama_routes(Service* service, Router* router);      // llama.cpp's native protocol
void add_ollama_routes(Service* service, Router* router);     // Ollama's protocol
void add_responses_routes(Service* service, Router* router);  // OpenAI's Responses
void add_pml_routes(Service* service, Router* router);        // schemas, and prompts of them

}  // namespace pc::serve
