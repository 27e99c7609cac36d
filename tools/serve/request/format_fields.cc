#include "tools/serve/request/format_fields.h"

#include <string>
#include <utility>

namespace pc::serve {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMostChoices = 1024;
constexpr const char* kNotRead =
    "is a grammar, which this server does not read: say what the answer must be as a JSON schema "
    "(response_format), as a list of texts (structured_outputs.choice) or in GBNF (grammar)";

// The one form that a request asks for.
class OneFormat {
 public:
  void add(Format format) {
    if (format.kind == Format::Kind::kText) return;
    if (format_.kind != Format::Kind::kText)
      throw ApiError::bad_request(format.where + " and " + format_.where +
                                      " both say what the answer must be; leave one out",
                                  format.where);
    format_ = std::move(format);
  }
  Format take() { return std::move(format_); }

 private:
  Format format_;
};

Format of_schema(Json schema, std::string where, bool strict = false) {
  return {Format::Kind::kSchema, std::move(schema), std::move(where), strict, {}};
}

// A schema as an object, or as JSON in a string.
Format schema_in(Fields& fields, const char* name) {
  const auto value = fields.any(name);
  if (!value) return {};
  std::string why;
  const auto schema =
      value->is_string() ? Json::read_strictly(value->string(), kMaxDepth, &why) : value;
  if (!schema || !schema->is_object())
    fields.refuse(name, "must be a JSON schema: an object" + (why.empty() ? "" : "; " + why));
  return of_schema(*schema, fields.path_of(name));
}

Format choice_in(Fields& fields, const char* name) {
  Format format{Format::Kind::kChoice, {}, fields.path_of(name), false, {}};
  const auto list = fields.array(name);
  if (!list) return {};
  format.choices = fields.strings(name, kMostChoices);
  if (format.choices.empty()) fields.refuse(name, "is empty: a list of texts");
  for (const std::string& text : format.choices)
    if (text.empty())
      fields.refuse(name, "has an empty text: each must be one that can be written");
  return format;
}

Format gbnf_in(Fields& fields, const char* name) {
  const std::string text = fields.string(name).value_or("");
  if (text.empty()) return {};
  Format format{Format::Kind::kGbnf, {}, fields.path_of(name), false, {}};
  format.gbnf = text;
  return format;
}

void refuse_grammars(Fields& fields, const std::vector<const char*>& names) {
  for (const char* const name : names)
    if (const auto value = fields.any(name); value && *value != Json(""))
      fields.refuse(name, kNotRead);
}

// {"type": "json_schema", "name", "strict", "schema"}: the schema's fields beside the type, or in
// an object of their own.
Format typed_format(Fields& fields, bool takes_schema_beside_object) {
  const std::string type = fields.required_string("type");
  if (type == "text") return {};
  if (type == "json_object") {
    Format any{Format::Kind::kJson, {}, fields.path(), false, {}};
    Format schema = takes_schema_beside_object ? schema_in(fields, "schema") : Format();
    return schema.kind == Format::Kind::kText ? any : schema;
  }
  if (type != "json_schema")
    fields.refuse("type", "must be one of: text, json_object, json_schema");
  auto own = fields.nested("json_schema");
  Fields described = own ? *own : fields;
  described.skip({"description"});
  described.string("name");
  const bool strict = described.boolean("strict").value_or(false);
  const auto schema = described.object("schema");
  if (!schema) described.refuse("schema", "is missing: an object");
  return of_schema(*schema, described.path_of("schema"), strict);
}

// Of vLLM, whose clients fill in one of these.
Format structured_outputs(Fields& fields) {
  OneFormat one;
  one.add(schema_in(fields, "json"));
  one.add(choice_in(fields, "choice"));
  if (fields.boolean("json_object").value_or(false))
    one.add({Format::Kind::kJson, {}, fields.path_of("json_object"), false, {}});
  one.add(gbnf_in(fields, "grammar"));
  refuse_grammars(fields, {"regex", "structural_tag"});
  return one.take();
}

}  // namespace

Format openai_format(Fields& body) {
  OneFormat one;
  if (auto format = body.nested("response_format")) {
    // Where its schema is missing, it is missing where OpenAI's reference has it.
    if (body.object("response_format").value()["type"] == Json("json_schema") &&
        !format->any("json_schema") && !format->any("schema"))
      throw ApiError::bad_request("response_format.json_schema.schema is missing: an object",
                                  "response_format.json_schema.schema");
    one.add(typed_format(*format, true));
  }
  one.add(schema_in(body, "json_schema"));
  one.add(schema_in(body, "guided_json"));
  one.add(choice_in(body, "guided_choice"));
  if (auto outputs = body.nested("structured_outputs")) one.add(structured_outputs(*outputs));
  for (const char* const name : {"grammar", "guided_grammar"}) one.add(gbnf_in(body, name));
  refuse_grammars(body, {"guided_regex"});
  return one.take();
}

Format responses_format(Fields& body) {
  auto text = body.nested("text");
  auto format = text ? text->nested("format") : std::nullopt;
  return format ? typed_format(*format, false) : Format();
}

Format anthropic_format(Fields& body) {
  OneFormat one;
  const auto add = [&](Fields& around, const char* name) {
    auto format = around.nested(name);
    if (!format) return;
    if (format->required_string("type") != "json_schema")
      format->refuse("type", "must be \"json_schema\"");
    one.add(typed_format(*format, false));
  };
  if (auto config = body.nested("output_config")) add(*config, "format");
  add(body, "output_format");
  return one.take();
}

}  // namespace pc::serve
