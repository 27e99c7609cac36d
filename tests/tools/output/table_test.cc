#include "tools/output/table.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

TEST_CASE("columns are as wide as their widest cell and nothing follows the last character") {
  Table table({{"name"}, {"tokens", Table::Align::kRight}, {"why"}});
  table.add_row({"a", "7", ""});
  table.add_row({"longer name", "1234567", "damaged"});
  CHECK(table.text() ==
        "name          tokens  why\n"
        "a                  7\n"
        "longer name  1234567  damaged\n");
}

TEST_CASE("a table without titles has no title line, and missing cells are empty") {
  Table table({{}, {}});
  table.add_row({"one"});
  table.add_row({"three", "3"});
  CHECK(table.text() == "one\nthree  3\n");
}

TEST_CASE("UTF-8 counts in characters") {
  Table table({{}, {}});
  table.add_row({"Zürich", "1"});
  table.add_row({"Kyoto", "2"});
  CHECK(table.text() == "Zürich  1\nKyoto   2\n");
}

TEST_CASE("a table of titles alone is its title line") {
  CHECK(Table({{"a"}, {"b"}}).text() == "a  b\n");
}
