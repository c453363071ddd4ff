#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <string_view>

namespace medley {

// A stranger's text (a key, a name of a tensor, a path) as a message quotes it: nothing of it moves a cursor,
// ends a line or turns the order of the words around it. Control characters are written as \x1b, other ones
// that nothing shows (C1, line separators, what turns the direction of writing) as \u202e, bytes that are not
// UTF-8 as \xff; all else stays as it is.
std::string Printable(std::string_view text);
std::string Printable(const std::same_as<std::filesystem::path> auto& path) {
  return Printable(std::string_view(path.native()));
}
// The same of a message or a table, whose line ends and tabs stay: for what prints it, whoever made it.
std::string PrintableLines(std::string_view text);

}  // namespace medley
