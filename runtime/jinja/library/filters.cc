#include "runtime/jinja/library/filters.h"

#include "runtime/jinja/values/print.h"
#include "runtime/jinja/values/unicode.h"

namespace pc::jinja {

Function find_filter(std::string_view name) {
  for (const auto table :
       {text_filters(), sequence_filters(), selection_filters(), number_filters()})
    for (const Method& filter : table)
      if (filter.name == name) return filter.function;
  return nullptr;
}

Result<Value> soft_string(Runtime& runtime, const Value& value) {
  if (value.is(Kind::kString)) return value;
  PC_TRY(std::string text, to_str(&runtime.budget, value));
  return make_string(&runtime.budget, std::move(text));
}

Result<Value> without_case(Runtime& runtime, const Value& value) {
  if (!value.is(Kind::kString)) return value;
  return make_string(&runtime.budget, to_lower(value.text()), value.is_markup());
}

}  // namespace pc::jinja
