#include "runtime/reports/answers.h"

#include "runtime/json/json_writer.h"

namespace pc {
namespace {

void write_way(JsonWriter& json, const AnswerWay& way) {
  json.begin_object().key("repair").value(pml::to_string(way.way.repair));
  json.key("slots").value(way.way.in_slots);
  json.key("anew").value(way.anew);
  json.key("kept").value(way.kept);
  json.key("same_tokens").value(way.same_tokens);
  json.key("same_first").value(way.same_first);
  json.key("same_answers").value(way.same_answers);
  json.key("divergence").value(way.divergence);
  json.key("first_divergence").value(way.first_divergence);
  json.key("ttft_us").value(way.ttft_us).key("faster").value(way.faster);
  json.key("passes").value(way.passes).end_object();
}

}  // namespace

std::string report_answers(const LoadedSchema& schema, const AnswerCheck& check, bool kept) {
  std::string text;
  JsonWriter json(&text);
  json.begin_object().key("schema").value(schema.layout().schema);
  json.key("prompts").value(check.n_prompts).key("exact_prompts").value(check.n_exact);
  json.key("compared_tokens").value(check.n_tokens);
  json.key("least_kept").value(kLeastKept);
  json.key("full_ttft_us").value(check.full_ttft_us);
  json.key("ways").begin_array();
  for (const AnswerWay& way : check.ways) write_way(json, way);
  json.end_array().key("verdict");
  if (check.says_something())
    json.value(pml::to_string(check.chosen));
  else
    json.null();
  json.key("slots_verdict");
  if (check.chosen_in_slots)
    json.value(pml::to_string(*check.chosen_in_slots));
  else
    json.null();
  json.key("slots_are_best").value(check.slots_are_best);
  json.key("kept").value(kept).end_object();
  return text;
}

}  // namespace pc
