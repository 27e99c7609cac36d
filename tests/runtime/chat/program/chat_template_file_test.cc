#include "runtime/chat/program/chat_template_file.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/temp_folder.h"

using namespace pc;

namespace {

const std::string kTurns =
    R"("system":{"prefix":"<s>","suffix":"</s>"},"user":{"prefix":"<u>","suffix":"</u>"},)"
    R"("assistant":{"prefix":"<a>","suffix":"</a>"})";

void refused(const std::string& json, Code code, const std::string& part) {
  INFO(json);
  const auto chat = parse_chat_template(json, "my.json");
  REQUIRE_FALSE(chat.ok());
  CHECK(chat.error().code == code);
  CHECK_THAT(chat.error().message,
             Catch::Matchers::StartsWith("my.json") && Catch::Matchers::Contains(part));
}

}  // namespace

TEST_CASE("a format's strings out of a JSON file") {
  const auto plain =
      parse_chat_template("{" + kTurns + R"(,"generation_prefix":"<a>"})", "my.json");
  REQUIRE(plain.ok());
  CHECK(plain->name == "my.json");
  CHECK(plain->system.prefix == "<s>");
  CHECK(plain->user.suffix == "</u>");
  CHECK(plain->assistant.prefix == "<a>");
  CHECK(plain->generation_prefix == "<a>");
  CHECK_FALSE(plain->user_prefix_after_system);
  CHECK_FALSE(plain->user_prefix_after_assistant);
  CHECK_FALSE(plain->bos);

  const auto full =
      parse_chat_template("{" + kTurns +
                              R"(,"generation_prefix":"","user_prefix_after_system":"",)"
                              R"("user_prefix_after_assistant":"\n<u>","bos":true})",
                          "my.json");
  REQUIRE(full.ok());
  CHECK(full->user_prefix_after_system == "");
  CHECK(full->user_prefix_after_assistant == "\n<u>");
  CHECK(full->bos);
}

TEST_CASE("what is missing, unknown or of a wrong type is named") {
  refused("", Code::kCorrupt, "");
  refused("[]", Code::kCorrupt, "$");
  refused("{" + kTurns + "}", Code::kCorrupt, "generation_prefix");
  refused(R"({"generation_prefix":""})", Code::kCorrupt, "system");
  refused("{" + kTurns + R"(,"generation_prefix":null})", Code::kCorrupt, "generation_prefix");
  refused("{" + kTurns + R"(,"generation_prefix":1})", Code::kCorrupt, "$.generation_prefix");
  refused("{" + kTurns + R"(,"generation_prefix":"","prefix":""})", Code::kCorrupt,
          "no field \"prefix\" here; there are system, user, assistant, generation_prefix, ");
  refused(R"({"system":{"prefix":"","sufix":""}})", Code::kCorrupt,
          "$.system: no field \"sufix\" here; there are prefix, suffix");
  refused(R"({"system":{"prefix":""}})", Code::kCorrupt, "suffix");
  refused(R"({"system":"You are kind."})", Code::kCorrupt, "$.system");
  refused("{" + kTurns + R"(,"generation_prefix":"","bos":"yes"})", Code::kCorrupt, "$.bos");
  refused("{" + kTurns + R"(,"generation_prefix":"","user_prefix_after_system":null})",
          Code::kCorrupt, "$.user_prefix_after_system");
  refused("{" + kTurns + R"(,"generation_prefix":"","generation_prefix":""})", Code::kCorrupt, "");
}

TEST_CASE("limits") {
  const auto with = [](std::size_t bytes) {
    return "{" + kTurns + ",\"generation_prefix\":\"" + std::string(bytes, 'x') + "\"}";
  };
  CHECK(parse_chat_template(with(kMaxRoleStringBytes), "my.json").ok());
  refused(with(kMaxRoleStringBytes + 1), Code::kUnsupported, "4097 bytes");
  refused(with(kMaxChatFileBytes), Code::kUnsupported, "");
  refused("{\"system\":" + std::string(100, '[') + std::string(100, ']') + "}", Code::kUnsupported,
          "");
}

TEST_CASE("a path or a name") {
  CHECK(is_chat_template_file("my.json"));
  CHECK(is_chat_template_file("./chat"));
  CHECK_FALSE(is_chat_template_file("chatml"));
  CHECK(choose_chat_template("chatml")->name == "chatml");
  CHECK(choose_chat_template("mistral")->name == "mistral-v1");

  const auto unknown = choose_chat_template("chat-ml");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == Code::kInvalidArgument);
  CHECK_THAT(unknown.error().message,
             Catch::Matchers::Contains("unknown chat template \"chat-ml\"; "
                                       "known are chatml, "));
  CHECK(read_chat_template_file("no/such.json").error().code == Code::kNotFound);
  CHECK(choose_chat_template("no/such.json").error().code == Code::kInvalidArgument);

  const test::TempFolder folder;
  folder.write("my.json", "{" + kTurns + R"(,"generation_prefix":"<a>"})");
  const auto chat = choose_chat_template(folder.path() + "/my.json");
  REQUIRE(chat.ok());
  CHECK(chat->name == folder.path() + "/my.json");
}
