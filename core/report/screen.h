#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace medley {

// Of a line that is no terminal's: what goes into a pipe or a file.
inline constexpr std::size_t kPageColumns = 100;

// The columns of what is printed there: the terminal's, 80 where it does not tell; kPageColumns of anything
// else. COLUMNS in the environment replaces both.
std::size_t ColumnsOf(std::FILE* out);
// Those of the process's output; as many as there are after ShowWide. For one thread.
std::size_t ScreenColumns();
void ShowWide();
bool IsWide();

// Code points, near enough the columns of names and numbers.
std::size_t TextWidth(const std::string& text);
// As many of them as fit.
std::string CutText(const std::string& text, std::size_t columns);
// Every line that is longer is broken at spaces, and goes on under its own beginning, further in by `hang`;
// behind a term and two spaces or more, under the first word behind it. A word stays whole, however long.
// A line with several gaps of two spaces or more is a table's, and stays.
std::string Wrapped(const std::string& text, std::size_t columns, std::size_t hang = 2);
// That, for the process's output: --wide widens tables only.
std::string Prose(const std::string& text, std::size_t hang = 2);

}  // namespace medley
