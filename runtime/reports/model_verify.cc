#include "runtime/reports/model_verify.h"

#include "runtime/json/json_writer.h"
#include "runtime/model/model_digest.h"
#include "runtime/model/remembered_digest.h"  // not_finite_sentence
#include "runtime/reports/model_inspection.h"

namespace pc {
namespace {

void write_digest(JsonWriter& json, const char* key, const Digest* digest) {
  json.key(key);
  digest ? json.value(to_hex(*digest)) : json.null();
}

}  // namespace

Result<std::string> verify_model(const EngineOptions& options) {
  PC_TRY(Inspection found, inspect_model(options.model_path, options.context_tokens));
  const auto reading = [&](std::uint64_t done, std::uint64_t total) {
    return !options.progress || options.progress(OpenStep::kReadWeights, done, total);
  };
  const TensorMap& tensors = found.checkpoint().tensors;
  PC_TRY(const TensorScan scanned,
         scan_tensors(tensors, {.n_threads = options.n_threads, .progress = reading}));
  for (const std::string& name : scanned.not_finite) {
    found.problems.push_back(error(Code::kCorrupt, not_finite_sentence(name, tensors.at(name))));
  }
  std::uint64_t n_bytes = 0;
  for (const MappedFile& file : found.checkpoint().files) n_bytes += file.bytes().size();
  std::optional<Digest> weights;
  if (found.model) weights = weights_digest(found.model->desc, scanned.digest, found.model->folded);

  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("path").value(found.path).key("ok").value(found.problems.empty());
  json.key("files").value(found.checkpoint().files.size());
  json.key("bytes").value(n_bytes);
  json.key("tensors").value(tensors.size());
  write_digest(json, "weights_digest", weights ? &*weights : nullptr);
  write_digest(json, "tokenizer_digest", found.tokenizer ? &found.tokenizer->digest() : nullptr);
  json.key("problems").begin_array();
  for (const Error& problem : found.problems) {
    json.begin_object().key("status").value(code_name(problem.code));
    json.key("message").value(problem.message).end_object();
  }
  json.end_array().end_object();
  return text;
}

}  // namespace pc
