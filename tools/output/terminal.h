// What may be written to a terminal: colour only where it shows, and no control
// characters from documents, file names or a model's answer.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace pc::cli {

bool is_terminal(std::FILE* file);

// Of a line there; 0 where it is no terminal, or one that does not say.
std::size_t terminal_columns(std::FILE* file);

enum class Colour { kRed, kGreen, kYellow };
// The text in colour when `file` is a terminal and NO_COLOR is unset or empty.
std::string paint(std::string_view text, Colour colour, std::FILE* file);

// Line breaks and tabs as \n and \t, other control characters as \xNN.
std::string printable(std::string_view text);

// The same for running text: line breaks and tabs stay.
std::string printable_lines(std::string_view text);

// Columns that UTF-8 text takes, at one a character.
std::size_t display_width(std::string_view text);

// At most `columns` characters; a cut is marked with "...".
std::string elide(std::string_view text, std::size_t columns);

}  // namespace pc::cli
