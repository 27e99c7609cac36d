#include "tools/serve/routes/schema_keeping.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "tools/serve/http/json_reply.h"
#include "tools/serve/http/sse.h"
#include "tools/serve/request/failure_of.h"

namespace pc::serve {
namespace {

// How the client is told: whole, or in events.
class UploadReply {
 public:
  UploadReply(std::shared_ptr<Reply> reply, bool streams)
      : reply_(std::move(reply)),
        streams_(streams),
        gone_(std::make_shared<std::atomic<bool>>(false)) {
    reply_->on_gone([gone = gone_] { *gone = true; });
  }

  bool is_wanted() const { return !*gone_; }

  void begin() {
    if (!streams_) return;
    HttpResponse head;
    head.content_type = "text/event-stream";
    head.headers.push_back({"cache-control", "no-cache"});
    reply_->begin(std::move(head));
    has_begun_ = true;
  }
  // The library calls more often than there is news.
  void progress(std::uint32_t done, std::uint32_t total, const std::string& module) {
    if (!streams_ || (done == done_ && module == module_)) return;
    done_ = done;
    module_ = module;
    const Json data = Json::object().set("done", done).set("total", total).set("module", module);
    reply_->write(named_event("progress", data));
  }
  void end(const Json& schema) {
    if (!streams_) return send(reply_, schema);
    reply_->write(named_event("schema", schema));
    reply_->end();
  }
  void fail(const ApiError& error) {
    if (!has_begun_) return reply_->send(to_response(error, Protocol::kOpenAi));
    reply_->write(named_event("error", error.openai()));
    reply_->end();
  }

 private:
  const std::shared_ptr<Reply> reply_;
  const bool streams_;
  const std::shared_ptr<std::atomic<bool>> gone_;
  bool has_begun_ = false;
  std::uint32_t done_ = UINT32_MAX;
  std::string module_;
};

Json encoded(const promptcache::Schema& schema, UploadReply* reply) {
  const pc_encode_stats stats =
      schema.encode([reply](std::uint32_t done, std::uint32_t total, const char* module) {
        reply->progress(done, total, module);
        return reply->is_wanted();
      });
  return Json::object()
      .set("modules", stats.modules)
      .set("modules_encoded", stats.modules_encoded)
      .set("tokens_computed", stats.tokens_computed)
      .set("bytes_stored", stats.bytes_stored)
      .set("ms", static_cast<double>(stats.microseconds) / 1000);
}

}  // namespace

Json schema_json(const promptcache::Schema& schema) {
  const Json description = cli::parse_report(schema.describe());
  return Json::object()
      .set("object", "pml.schema")
      .set("name", description["name"])
      .set("description", description);
}

void keep_schema(const promptcache::Engine& engine, const SchemaUpload& upload, Schemas* schemas,
                 const std::shared_ptr<Reply>& to) {
  UploadReply reply(to, upload.streams);
  const auto failure = failure_of([&] {
    if (!reply.is_wanted()) throw Unwanted();
    const Schemas::Handle schema = parsed_schema(engine, upload.pml);
    Json body = schema_json(*schema);
    schemas->keep(body["name"].string(), schema, upload.pml);
    reply.begin();
    if (upload.encodes) body.set("encoded", encoded(*schema, &reply));
    Json ignored = Json::array();
    for (const std::string& field : upload.ignored) ignored.push(field);
    reply.end(body.set("ignored_fields", ignored));
  });
  if (failure) reply.fail(*failure);
}

}  // namespace pc::serve
