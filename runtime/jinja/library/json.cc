#include "runtime/jinja/library/json.h"

#include <cmath>
#include <cstdio>
#include <optional>

#include "base/utf8.h"
#include "runtime/jinja/library/filters.h"  // sorted_places
#include "runtime/jinja/values/print.h"
#include "runtime/json/json.h"

namespace pc::jinja {
namespace {

std::string json_float(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return float_repr(number);
}

void append_code_unit(unsigned unit, std::string* out) {
  char code[16];
  std::snprintf(code, sizeof code, "\\u%04x", unit);
  *out += code;
}

void append_escaped(char32_t c, bool ensures_ascii, std::string* out) {
  static constexpr std::string_view kShort = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
  if (const std::size_t at = kShort.find(static_cast<char>(c)); c < 0x80 && at != kShort.npos) {
    out->append(1, '\\').append(1, kLetters[at]);
  } else if (c < 0x20 || (c >= 0x7F && ensures_ascii && c < 0x10000)) {
    append_code_unit(c, out);
  } else if (c >= 0x10000 && ensures_ascii) {
    append_code_unit(0xD800 + ((c - 0x10000) >> 10), out);
    append_code_unit(0xDC00 + ((c - 0x10000) & 0x3FF), out);
  } else {
    utf8_append(c, out);
  }
}

class JsonPrinter {
 public:
  JsonPrinter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}
  Status add(const Value& value);
  std::string text() && { return std::move(out_); }

 private:
  void add_string(std::string_view text);
  void begin_item(bool is_first);
  void end(char bracket, bool is_empty);
  Status add_list(const std::vector<Value>& items);
  Status add_dict(const Dict& dict);
  Result<std::vector<std::size_t>> order(const Dict& dict) const;
  static Result<std::string> key_of(const Value& key);

  Budget& budget_;
  const JsonStyle& style_;
  std::string out_;
  std::size_t depth_ = 0;
};

void JsonPrinter::add_string(std::string_view text) {
  out_ += '"';
  for (std::size_t at = 0; at < text.size();)
    append_escaped(utf8_next(text, &at), style_.ensures_ascii, &out_);
  out_ += '"';
}

void JsonPrinter::begin_item(bool is_first) {
  if (!is_first) out_ += style_.item_separator;
  if (!style_.has_indent) return;
  out_ += '\n';
  for (std::size_t i = 0; i < depth_; ++i) out_ += style_.indent;
}

void JsonPrinter::end(char bracket, bool is_empty) {
  --depth_;
  if (!is_empty && style_.has_indent) begin_item(true);
  out_ += bracket;
}

Status JsonPrinter::add_list(const std::vector<Value>& items) {
  out_ += '[';
  ++depth_;
  for (std::size_t i = 0; i < items.size(); ++i) {
    begin_item(i == 0);
    PC_CHECK_OK(add(items[i]));
  }
  end(']', items.empty());
  return ok();
}

Result<std::string> JsonPrinter::key_of(const Value& key) {
  switch (key.kind) {
    case Kind::kString:
      return key.text();
    case Kind::kNone:
      return std::string("null");
    case Kind::kBool:
      return std::string(key.integer ? "true" : "false");
    case Kind::kInt:
      return std::to_string(key.integer);
    case Kind::kFloat:
      return json_float(key.real);
    default:
      return error(Code::kInvalidArgument,
                   "keys must be str, int, float, bool or None, not " + type_name(key));
  }
}

Result<std::vector<std::size_t>> JsonPrinter::order(const Dict& dict) const {
  std::vector<std::size_t> places(dict.entries.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  if (!style_.sorts_keys) return places;
  std::vector<Value> keys;
  for (const auto& entry : dict.entries) keys.push_back(entry.first);
  return sorted_places(budget_, keys, false);
}

Status JsonPrinter::add_dict(const Dict& dict) {
  PC_TRY(const std::vector<std::size_t> places, order(dict));
  out_ += '{';
  ++depth_;
  for (std::size_t i = 0; i < places.size(); ++i) {
    begin_item(i == 0);
    const auto& [key, value] = dict.entries[places[i]];
    PC_TRY(const std::string name, key_of(key));
    add_string(name);
    out_ += style_.key_separator;
    PC_CHECK_OK(add(value));
  }
  end('}', places.empty());
  return ok();
}

Status JsonPrinter::add(const Value& value) {
  PC_CHECK_OK(budget_.spend(1));
  if (out_.size() > budget_.limits().live_bytes)
    return error(Code::kUnsupported, "JSON beyond the limit of memory");
  switch (value.kind) {
    case Kind::kNone:
      out_ += "null";
      return ok();
    case Kind::kBool:
      out_ += value.integer ? "true" : "false";
      return ok();
    case Kind::kInt:
      out_ += std::to_string(value.integer);
      return ok();
    case Kind::kFloat:
      out_ += json_float(value.real);
      return ok();
    case Kind::kString:
      add_string(value.text());
      return ok();
    case Kind::kList:
    case Kind::kTuple:
      return add_list(value.items());
    case Kind::kDict:
      return add_dict(value.dict());
    default:
      return error(Code::kInvalidArgument,
                   "Object of type " + type_name(value) + " is not JSON serializable");
  }
}

// ---- reading

class Builder final : public JsonEvents {
 public:
  Status null() override { return put(none()); }
  Status boolean(bool b) override { return put(jinja::boolean(b)); }
  Status integer(std::int64_t i) override { return put(jinja::integer(i)); }
  Status number(double d) override { return put(real(d)); }
  Status string(std::string_view text) override {
    PC_TRY(Value value, make_string(nullptr, std::string(text)));
    return put(std::move(value));
  }
  Status key(std::string_view name) override {
    PC_TRY(open_.back().key, make_string(nullptr, std::string(name)));
    return ok();
  }
  Status begin_object() override { return begin(true); }
  Status begin_array() override { return begin(false); }
  Status end() override {
    Open done = std::move(open_.back());
    open_.pop_back();
    PC_TRY(Value value, done.is_object ? make_dict(nullptr, std::move(done.entries))
                                       : make_list(nullptr, std::move(done.items)));
    return put(std::move(value));
  }
  Value take() { return std::move(whole_); }

 private:
  struct Open {
    bool is_object = false;
    Value key = {};
    std::vector<std::pair<Value, Value>> entries = {};
    std::vector<Value> items = {};
  };
  Status begin(bool is_object) {
    open_.push_back({is_object});
    return ok();
  }
  Status put(Value value) {
    if (open_.empty())
      whole_ = std::move(value);
    else if (open_.back().is_object)
      open_.back().entries.emplace_back(std::move(open_.back().key), std::move(value));
    else
      open_.back().items.push_back(std::move(value));
    return ok();
  }

  Value whole_;
  std::vector<Open> open_;
};

}  // namespace

Result<std::string> json_of(Budget& budget, const Value& value, const JsonStyle& style) {
  PC_CHECK_OK(budget.spend(value.weight()));
  JsonPrinter printer(budget, style);
  PC_CHECK_OK(printer.add(value));
  return std::move(printer).text();
}

Result<Value> value_from_json(std::string_view text, const std::string& name) {
  Builder builder;
  PC_CHECK_OK(read_json(text, name, {}, &builder));
  return builder.take();
}

}  // namespace pc::jinja
