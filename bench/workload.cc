#include "bench/workload.h"

#include "runtime/json/json.h"

namespace pc::bench {
namespace {

Result<std::vector<std::string>> names_of(JsonView array) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < array.size(); ++i) {
    PC_TRY(const std::string_view name, array.at(i).string());
    names.emplace_back(name);
  }
  return names;
}

Result<Workload::Request> request_of(JsonView view) {
  Workload::Request request;
  PC_TRY(const JsonView at, view.member("at"));
  PC_TRY(request.at_s, at.number());
  PC_TRY(const JsonView modules, view.member("modules"));
  PC_TRY(request.modules, names_of(modules));
  PC_TRY(request.text, view.string_or("text", ""));
  PC_TRY(const JsonView answer, view.member("answer"));
  PC_TRY(const std::int64_t tokens, answer.integer_in(1, 1 << 20));
  request.answer = static_cast<std::uint32_t>(tokens);
  return request;
}

}  // namespace

Result<Workload> Workload::read(const std::string& path) {
  Workload load;
  PC_TRY(const JsonDocument document, JsonDocument::read_file(path));
  PC_TRY(const JsonView modules, document.root().member("modules"));
  PC_CHECK_OK(modules.for_each_member([&](std::string_view name, JsonView view) -> Status {
    PC_TRY(const std::string_view text, view.string());
    load.modules.push_back({std::string(name), std::string(text)});
    return ok();
  }));
  PC_TRY(const JsonView warm, document.root().member("warm"));
  for (std::size_t i = 0; i < warm.size(); ++i) {
    PC_TRY(std::vector<std::string> names, names_of(warm.at(i)));
    load.warm.push_back(std::move(names));
  }
  PC_TRY(const JsonView requests, document.root().member("requests"));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    PC_TRY(Request request, request_of(requests.at(i)));
    load.requests.push_back(std::move(request));
  }
  return load;
}

std::string Workload::schema() const {
  std::string pml = "<schema name='s'>";
  for (const Module& module : modules)
    pml += "<module name='" + module.name + "'>" + module.text + "</module>";
  return pml + "</schema>";
}

std::string prompt_of(const std::vector<std::string>& modules, const std::string& text) {
  std::string pml = "<prompt schema='s'>";
  for (const std::string& name : modules) pml += "<" + name + "/>";
  return pml + text + "</prompt>";
}

}  // namespace pc::bench
