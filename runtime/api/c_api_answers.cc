// The C API's call that measures what reuse does to answers.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_support.h"
#include "runtime/checks/answer_check.h"
#include "runtime/checks/answer_probes.h"
#include "runtime/reports/answers.h"

namespace {

using namespace pc::capi;

constexpr std::uint32_t kPrompts = 24;  // made where none are given

using Prompts = std::vector<std::shared_ptr<const pc::LoadedPrompt>>;

pc::Result<Prompts> prompts_of(const pc_schema& schema, const pc_prompt* const* prompts,
                               std::size_t n, const pc_answers_options& options) {
  if (n > 0 && options.prompts > 0)
    return pc::error(pc::Code::kInvalidArgument,
                     "prompts are given, and prompts are to be made: one or the other");
  if (n == 0) return pc::make_probes(schema.schema, options.prompts ? options.prompts : kPrompts);
  Prompts given;
  for (std::size_t i = 0; i < n; ++i) {
    if (!prompts[i]) return null_argument("a prompt");
    if (prompts[i]->prompt->schema != schema.schema)
      return pc::error(pc::Code::kInvalidArgument, "a prompt belongs to another schema");
    given.push_back(prompts[i]->prompt);
  }
  return given;
}

pc::AnswerCheckOptions check_options(const pc_answers_options& options) {
  pc::AnswerCheckOptions check;
  if (options.answer_tokens) check.answer_tokens = options.answer_tokens;
  if (options.progress) {
    check.progress = [progress = options.progress, user = options.progress_user](
                         std::uint32_t done, std::uint32_t total) {
      return progress(user, done, total) == 0;
    };
  }
  return check;
}

}  // namespace

extern "C" {

void pc_answers_options_init(pc_answers_options* options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof *options;
}

pc_status pc_schema_check_answers(const pc_schema* schema, const pc_prompt* const* prompts,
                                  std::size_t n, const pc_answers_options* options, char** json,
                                  pc_error* error) {
  return guarded(error, [&]() -> pc::Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(prompts || n == 0);
    PC_REQUIRE(json);
    PC_TRY(const pc_answers_options read, read_options(options));
    PC_TRY(const Prompts asked, prompts_of(*schema, prompts, n, read));
    const std::shared_ptr<pc::LoadedSchema> in_slots = schema->schema->in_slots();
    PC_TRY(const pc::AnswerCheck check, pc::check_answers(asked, in_slots, check_options(read)));
    const bool kept = check.says_something() && schema->schema->set_verdict(check.chosen);
    if (check.chosen_in_slots) in_slots->set_verdict(*check.chosen_in_slots);
    return give(pc::report_answers(*schema->schema, check, kept), json);
  });
}

}  // extern "C"
