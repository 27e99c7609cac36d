// The arguments of one call, as JSON, while the model writes them in the way of its template.
//
// Borrows shape and types. Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/calls/shape/call_cursor.h"
#include "runtime/calls/shape/call_shape.h"
#include "runtime/calls/shape/tool_types.h"
#include "runtime/json/json_value.h"

namespace pc::calls {

class CallArguments {
 public:
  CallArguments(const CallShape& shape, const ToolTypes& types, std::string tool);

  // Does a text begin as arguments do, behind what stands between name and arguments?
  enum class Fit { kMore /* of it is needed */, kNo, kYes };
  Fit fit(std::string_view text) const;

  // Takes off the text's beginning what is understood, and adds it to `json`; the next text begins
  // with the rest. True: the arguments are over, and the text begins with what stands behind them.
  bool go_on(std::string_view* text, std::string* json);

  // No more of the text will come: go_on() waits for nothing any more.
  void end_text() { is_last_ = true; }

  // The text is over, and the arguments are not: adds what can still be said of them.
  void cut(std::string_view text, std::string* json) const;

 private:
  enum class State { kJson, kMember, kText, kValue, kPython };

  Fit begins_as(std::string_view text) const;
  // Each goes on as far as the text tells; false: more of it is needed, or all is over.
  bool take_json(std::string_view* text, std::string* json);
  bool take_member(std::string_view* text, std::string* json);
  bool take_text(std::string_view* text, std::string* json);
  bool take_value(std::string_view* text, std::string* json);
  bool take_python(std::string_view* text, std::string* json);
  void open_member(const std::string& key, std::string* json);
  bool end_members(std::string* json);  // false
  bool is_worth_reading(std::string_view text);

  const CallShape& shape_;
  const ToolTypes& types_;
  const std::string tool_;
  // The words around a value, and what of their white space is the template's.
  const std::string_view close_word_, before_value_, behind_value_;
  State state_;
  std::string key_;
  bool has_members_ = false, is_over_ = false, begins_value_ = false, is_last_ = false;
  std::size_t n_scanned_ = 0;  // of a value: no end of it is in there
  std::size_t n_read_ = 0;     // kPython: of a value that was read, and is not whole
  JsonEnd json_end_;           // kValue
  Brackets brackets_;          // kJson
};

}  // namespace pc::calls
