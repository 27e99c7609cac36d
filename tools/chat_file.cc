#include "tools/chat_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tools/failure.h"
#include "tools/json.h"
#include "tools/open.h"

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
  const std::string role = json["role"].string();
  if (role != "system" && role != "user" && role != "assistant")
    throw Failure(kFailure,
                  "no message of a conversation; every line is one, such as "
                  "{\"role\":\"user\",\"content\":\"...\"}",
                  place);
  promptcache::Message message{role, json["content"].string()};
  for (const Json& part : json["parts"].items()) message.parts.push_back(part_of(part));
  return message;
}

}  // namespace

std::vector<promptcache::Message> read_chat(const std::string& path) {
  std::vector<promptcache::Message> messages;
  if (!std::filesystem::exists(path)) return messages;
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

void write_chat(const std::string& path, const std::vector<promptcache::Message>& messages) {
  std::string text;
  for (const promptcache::Message& message : messages) text += to_json(message).dump() + "\n";
  const std::string beside = path + ".new";
  std::FILE* const file = std::fopen(beside.c_str(), "wb");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) written = std::fclose(file) == 0 && written;
  if (written && std::rename(beside.c_str(), path.c_str()) == 0) return;
  throw Failure(kFailure, path + " cannot be written: " + std::strerror(errno));
}

}  // namespace pc::cli
