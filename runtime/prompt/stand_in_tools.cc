#include "runtime/prompt/stand_in_tools.h"

#include <algorithm>

#include "base/status.h"  // PC_EXPECT
#include "runtime/chat/whole/whole_chat.h"

namespace pc {
namespace {

// Of several kinds: with few parameters and many, of all types, nested ones, choices.
constexpr std::string_view kConversation = R"({"messages": [{"role": "user", "content": "-"}],
"tools": [
{"module": true, "type": "function", "function": {"name": "find_ferries",
 "description": "Lists the ferries that leave a harbour on a day, with their times, prices and free places for cars.",
 "parameters": {"type": "object", "properties": {
  "harbour": {"type": "string", "description": "Name of the harbour of departure, for example 'Stavanger'."},
  "date": {"type": "string", "description": "Day of departure in the form YYYY-MM-DD."},
  "with_car": {"type": "boolean", "description": "Whether a place for a car is wanted.", "default": false}},
 "required": ["harbour", "date"]}}},
{"module": true, "type": "function", "function": {"name": "convert_recipe",
 "description": "Changes the amounts of a recipe to another number of people and to another system of units.",
 "parameters": {"type": "object", "properties": {
  "ingredients": {"type": "array", "items": {"type": "string"}, "description": "The ingredients with their amounts, one text each."},
  "people": {"type": "integer", "description": "For how many people it is to be."},
  "units": {"type": "string", "enum": ["metric", "imperial"], "description": "The system of units of the result.", "default": "metric"}},
 "required": ["ingredients", "people"]}}},
{"module": true, "type": "function", "function": {"name": "library.renew_loan",
 "description": "Extends the loan of a book by some weeks, unless somebody else has reserved it.",
 "parameters": {"type": "object", "properties": {
  "card_number": {"type": "string", "description": "Number on the reader's card."},
  "isbn": {"type": "string", "description": "ISBN of the book, with 13 digits."},
  "weeks": {"type": "integer", "description": "By how many weeks; at most 4.", "default": 2}},
 "required": ["card_number", "isbn"]}}},
{"module": true, "type": "function", "function": {"name": "measure_noise",
 "description": "Returns the mean level of noise at a station of the city's network, in decibels.",
 "parameters": {"type": "object", "properties": {
  "station": {"type": "string", "description": "Identifier of the station."},
  "hours": {"type": "number", "description": "Length of the period up to now, in hours.", "default": 1.0}},
 "required": ["station"]}}},
{"module": true, "type": "function", "function": {"name": "create_invoice",
 "description": "Writes an invoice for a customer and puts it among the drafts, where it can be changed until it is sent.",
 "parameters": {"type": "object", "properties": {
  "customer": {"type": "object", "description": "To whom it is written.", "properties": {
   "name": {"type": "string", "description": "Full name or firm."},
   "email": {"type": "string", "description": "Address for the invoice."}}, "required": ["name"]},
  "lines": {"type": "array", "description": "What was sold.", "items": {"type": "object", "properties": {
   "text": {"type": "string"}, "amount": {"type": "number", "description": "Price without tax."}}}},
  "currency": {"type": "string", "description": "Three letters, for example EUR.", "default": "EUR"}},
 "required": ["customer", "lines"]}}},
{"module": true, "type": "function", "function": {"name": "greenhouse.set_climate",
 "description": "Sets temperature and humidity of a section of the greenhouse, at once or from a time of day on.",
 "parameters": {"type": "object", "properties": {
  "section": {"type": "string", "enum": ["seedlings", "herbs", "orchids"], "description": "Which section is set."},
  "temperature": {"type": "number", "description": "Degrees Celsius."},
  "humidity": {"type": "integer", "description": "Per cent."},
  "from": {"type": "string", "description": "Time of day in the form HH:MM; at once where it is absent."}},
 "required": ["section", "temperature"]}}},
{"module": true, "type": "function", "function": {"name": "translate_sign",
 "description": "Translates the short text of a sign or label, and says in which language it is written.",
 "parameters": {"type": "object", "properties": {
  "text": {"type": "string", "description": "The words of the sign."},
  "into": {"type": "string", "description": "Code of the language of the translation, for example 'fr'."}},
 "required": ["text", "into"]}}},
{"module": true, "type": "function", "function": {"name": "rank_players",
 "description": "Orders the players of a chess club by their rating, of all members or of one age group.",
 "parameters": {"type": "object", "properties": {
  "club": {"type": "string", "description": "Name of the club."},
  "age_group": {"type": "string", "description": "For example 'U16'; all where it is absent."},
  "limit": {"type": "integer", "description": "How many players are listed at most.", "default": 10}},
 "required": ["club"]}}}]})";

}  // namespace

bool has_tools_alone(const ChatRequest& chat) {
  const auto has_module = [](const ChatMessage& message) {
    return std::ranges::any_of(message.parts, &ChatPart::is_module);
  };
  return std::ranges::any_of(chat.tools, &ChatTool::is_module) &&
         std::ranges::none_of(chat.messages, has_module);
}

std::vector<std::string> stand_in_tools(const Engine& engine) {
  const auto chat = read_chat(kConversation);
  PC_EXPECT(chat.ok());
  std::vector<std::string> texts;
  if (!engine.whole_chat()) return texts;
  const auto written =
      engine.whole_chat()->write(*chat, [&](std::string_view text, std::size_t from) {
        return engine.tokenizer().find_control(text, from);
      });
  if (!written.ok()) return texts;
  std::uint32_t last = ChatSpan::kNoModule;
  for (const ChatSpan& span : written->spans) {
    if (span.module == ChatSpan::kNoModule) continue;
    if (span.module != last) texts.emplace_back();
    texts.back() += span.text;
    last = span.module;
  }
  return texts;
}

}  // namespace pc
