#include "tools/chat/chat_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "tools/opening/open.h"
#include "tools/output/failure.h"
#include "tools/output/json.h"

namespace pc::cli {
namespace {

Json to_json(const promptcache::Part& part) {
  Json json = Json::object();
  if (part.module.empty()) return json.set("text", part.text);
  json.set("module", part.module);
  if (part.arguments.empty()) return json;
  Json arguments = Json::array();
  for (const promptcache::Argument& a : part.arguments)
    arguments.push(Json::object().set("name", a.name).set("value", a.value));
  return json.set("arguments", arguments);
}

Json to_json(const promptcache::Message& message) {
  Json json = Json::object();
  json.set("role", message.role);
  if (message.parts.empty()) return json.set("content", message.content);
  Json parts = Json::array();
  for (const promptcache::Part& part : message.parts) parts.push(to_json(part));
  return json.set("parts", parts);
}

promptcache::Part part_of(const Json& json) {
  promptcache::Part part;
  if (!json["text"].is_null()) part.text = json["text"].string();
  if (!json["module"].is_null()) part.module = json["module"].string();
  for (const Json& a : json["arguments"].items())
    part.arguments.push_back({a["name"].string(), a["value"].string()});
  return part;
}

promptcache::Message message_of(const std::string& line, const std::string& place) {
  const Json json = Json::read(line);
  promptcache::Message message{json["role"].string(), json["content"].string()};
  for (const Json& part : json["parts"].items()) message.parts.push_back(part_of(part));
  const bool known_role =
      message.role == "system" || message.role == "user" || message.role == "assistant";
  if (known_role && to_json(message) == json) return message;
  throw Failure(kFailure,
                "no message as this command writes them; every line is one, such as "
                "{\"role\":\"user\",\"content\":\"...\"}",
                place);
}

// A device such as /dev/null would be replaced by a file, since that is how a chat is written.
bool exists(const std::string& path) {
  std::error_code failure;
  const std::filesystem::file_status found = std::filesystem::status(path, failure);
  if (found.type() == std::filesystem::file_type::not_found) return false;
  if (failure) throw Failure(kFailure, path + " cannot be read: " + failure.message());
  if (!std::filesystem::is_regular_file(found))
    throw Failure(kUsage,
                  path + " is no file that a chat can be kept in; without --history none is");
  return true;
}

// Where a link leads, so that it stays one.
std::string target_of(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path target = std::filesystem::canonical(path, failure);
  return failure ? path : target.string();
}

}  // namespace

std::vector<promptcache::Message> read_chat(const std::string& path) {
  std::vector<promptcache::Message> messages;
  if (!exists(path)) return messages;
  const std::string text = read_document(path).text;
  std::size_t n_lines = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++n_lines;
    if (line.find_first_not_of(" \t\r") != line.npos)
      messages.push_back(message_of(line, path + ":" + std::to_string(n_lines)));
  }
  return messages;
}

std::string set_chat_aside(const std::string& path) {
  if (!exists(path)) return "";
  std::string aside;
  for (int n = 1; aside.empty() || exists(aside); ++n) aside = path + "." + std::to_string(n);
  if (std::rename(path.c_str(), aside.c_str()) == 0) return aside;
  throw Failure(kFailure, path + " cannot be moved to " + aside + ": " +
                              std::generic_category().message(errno));
}

void write_chat(const std::string& path, const std::vector<promptcache::Message>& messages) {
  std::string text;
  for (const promptcache::Message& message : messages) text += to_json(message).dump() + "\n";
  const std::string target = exists(path) ? target_of(path) : path, beside = target + ".new";
  std::FILE* const file = std::fopen(beside.c_str(), "wb");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                 std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  if (file) written = std::fclose(file) == 0 && written;
  if (written && std::rename(beside.c_str(), target.c_str()) == 0) return;
  throw Failure(kFailure, path + " cannot be written: " + std::generic_category().message(errno));
}

}  // namespace pc::cli
