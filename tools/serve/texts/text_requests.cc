#include "tools/serve/texts/text_requests.h"

#include <string>
#include <utility>

#include "tools/serve/raw/raw_fields.h"

namespace pc::serve {
namespace {

constexpr std::size_t kMostDocuments = 1024;

// What Qwen3-Reranker is told where nobody says what relevance is.
constexpr const char* kInstruction =
    "Given a web search query, retrieve relevant passages that answer the query";

void read_dimensions(Fields& fields, const ModelFacts& model, EmbedRequest* request) {
  const auto n = fields.integer("dimensions", 1, model.engine.n_dimensions);
  request->n_dimensions = static_cast<std::uint32_t>(n.value_or(0));
}

void read_texts(Fields& fields, const ModelFacts& model, const char* name, EmbedRequest* request) {
  request->field = name;
  request->texts = read_prompts(fields, model, Mixture::kNone, name);
}

void finish(Fields& fields, EmbedRequest* request) {
  fields.string("model");  // who answers: Service
  request->ignored = fields.unread();
}

// A document is a text, or an object that has one.
std::string document_of(const Fields& fields, const Json& item, const std::string& path) {
  if (item.is_string()) return item.string();
  if (!item.is_object()) fields.refuse(path, "must be a string, or an object with a \"text\"");
  return fields.inside(item, path).required_string("text");
}

}  // namespace

EmbedRequest read_openai_embeddings(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  EmbedRequest request;
  read_texts(fields, model, "input", &request);
  read_dimensions(fields, model, &request);
  request.as_base64 = fields.word("encoding_format", {"float", "base64"}) == "base64";
  fields.skip({"user"});
  finish(fields, &request);
  return request;
}

EmbedRequest read_llama_embedding(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  EmbedRequest request;
  const bool has_content = !body["content"].is_null();
  read_texts(fields, model, has_content ? "content" : "input", &request);
  fields.only("embd_normalize", {Json(2)}, "must be 2, the length of each vector made 1");
  finish(fields, &request);
  return request;
}

EmbedRequest read_ollama_embed(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  EmbedRequest request;
  read_texts(fields, model, "input", &request);
  read_dimensions(fields, model, &request);
  request.is_cut = fields.boolean("truncate").value_or(true);
  fields.skip({"keep_alive"});  // models go by --model-memory
  finish(fields, &request);
  return request;
}

EmbedRequest read_ollama_embeddings(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  EmbedRequest request;
  read_texts(fields, model, "prompt", &request);
  if (request.texts.size() != 1) fields.refuse("prompt", "must be one text; /api/embed takes many");
  request.is_cut = true;
  fields.skip({"keep_alive"});
  finish(fields, &request);
  return request;
}

RankRequest read_rerank(const Json& body) {
  Fields fields(body);
  RankRequest request;
  request.query = fields.required_string("query");
  request.instruction = fields.string("instruction").value_or(kInstruction);
  const auto documents = fields.array("documents");
  if (!documents) fields.refuse("documents", "is missing: a list of texts");
  if (documents->items().size() > kMostDocuments)
    fields.refuse("documents", "has more than " + std::to_string(kMostDocuments));
  for_each_item(*documents, "documents", [&](const Json& item, const std::string& path) {
    request.documents.push_back(document_of(fields, item, path));
  });
  if (const auto n = fields.integer("top_n", 1, INT32_MAX))
    request.n_best = static_cast<std::size_t>(*n);
  request.returns_documents = fields.boolean("return_documents").value_or(false);
  fields.string("model");
  request.ignored = fields.unread();
  return request;
}

}  // namespace pc::serve
