#include "modules/tiers/manifest.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/modules/support.h"
#include "tests/support/expect.h"
#include "tests/support/signing_keys.h"

namespace pc::test {
namespace {

Manifest three_files() {
  return Manifest({{digest(7), 4096, digest(70)}, {digest(1), 0, digest(10)}, {digest(3), 1, {}}});
}

TEST_CASE("a manifest reads what it writes, sorted, each key once") {
  Manifest manifest({{digest(7), 4096, digest(70)}, {digest(1), 0, {}}, {digest(7), 1, {}}});
  REQUIRE(manifest.entries().size() == 2);
  CHECK(manifest.entries()[0].key == digest(1));
  CHECK(manifest.find(digest(7))->n_bytes == 4096);
  CHECK_FALSE(manifest.find(digest(2)));
  const Manifest read = must(Manifest::parse(manifest.text()));
  CHECK(std::ranges::equal(read.entries(), manifest.entries()));
  CHECK(read.text() == manifest.text());
}

TEST_CASE("only a signature of a trusted key makes a list one to be believed") {
  const SigningKeys keys;
  const std::array ann{must(PublicKey::read(keys.path("ann.pub")))};
  const std::array bob{must(PublicKey::read(keys.path("bob.pub")))};
  Manifest manifest = three_files();
  CHECK_FALSE(manifest.is_signed_by(ann));
  must(manifest.sign_with(keys.path("ann.key")));
  CHECK(manifest.is_signed_by(ann));
  CHECK_FALSE(manifest.is_signed_by(bob));
  must(manifest.sign_with(keys.path("bob.key")));
  must(manifest.sign_with(keys.path("bob.key")));  // once more is no other
  const Manifest read = must(Manifest::parse(manifest.text()));
  CHECK(read.text() == manifest.text());
  CHECK(read.is_signed_by(ann));
  CHECK(read.is_signed_by(bob));
  CHECK_FALSE(read.is_signed_by({}));
}

TEST_CASE("each changed byte of a signed list is damage, or loses the signature") {
  const SigningKeys keys;
  const std::array trusted{must(PublicKey::read(keys.path("ann.pub")))};
  Manifest manifest = three_files();
  must(manifest.sign_with(keys.path("ann.key")));
  const std::string text = manifest.text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '0' ? '1' : '0';
    const auto read = Manifest::parse(changed);
    INFO("byte " << at);
    CHECK_FALSE((read.ok() && read->is_signed_by(trusted)));
  }
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto read = Manifest::parse(text.substr(0, n));
    CHECK_FALSE((read.ok() && read->is_signed_by(trusted)));
  }
}

TEST_CASE("a bad list names its line, another version itself") {
  const std::string title = "promptcache manifest 1\n", key(64, 'a');
  const std::string line = key + " 12 " + key + "\n";
  must(Manifest::parse(title + line));
  expect_error(Manifest::parse(""), Code::kCorrupt, 0, 0, "first line");
  expect_error(Manifest::parse("promptcache manifest 2\n"), Code::kUnsupported, 0, 0, "version 2");
  for (const std::string& bad :
       {line + line, line.substr(1), key + " 012 " + key + "\n", key + " -1 " + key + "\n",
        key + " 99999999999999999999 " + key + "\n", key + " 12  " + key + "\n", std::string("\n"),
        "signed " + key + " " + key + "\n", std::string("signed\n"), key + " 12 " + key})
    expect_error(Manifest::parse(title + bad), Code::kCorrupt, 0, 0,
                 bad == line + line ? "line 3" : "line 2");
  const std::string signature = "signed " + key + " " + key + key + "\n";
  must(Manifest::parse(title + line + signature));
  expect_error(Manifest::parse(title + signature + line), Code::kCorrupt, 0, 0, "line 3");
  expect_error(Manifest::parse(title + signature + signature), Code::kCorrupt, 0, 0, "line 3");
}

TEST_CASE("a manifest is read from its file, which may not be there") {
  const TempFolder folder;
  folder.write("manifest", three_files().text());
  CHECK(must(Manifest::read(folder.path() + "/manifest")).text() == three_files().text());
  expect_error(Manifest::read(folder.path() + "/none"), Code::kNotFound, 0, 0, "none");
  folder.write("bad", "no list");
  expect_error(Manifest::read(folder.path() + "/bad"), Code::kCorrupt, 0, 0, "/bad");
}

}  // namespace
}  // namespace pc::test
