#pragma once

#include <string>

namespace medley {

// Words about a task, with the names of C++'s contract, in those of the author's language: for a task in
// Python "rows.Random(row)" is "rows.uniform, rows.below or rows.generator(i)", `.keeps` is `"keeps"`, Sample
// is sample.
std::string InAuthorsWords(std::string words, bool in_python);

}  // namespace medley
