#pragma once

#include <string>

namespace c10 {
class Error;
}

namespace medley {

// Where in a plugin's own code an error of libtorch's was on its way: "\n  in Recall::Errors, recall.cc:93",
// "\n  in Recall::Errors" where the plugin was built without lines (-g), "" where no function of it called.
// Of an inlined function the innermost that is not libtorch's. Asks addr2line (binutils, as the compiler
// does); without it the place in the file is told. For the words of an error: it starts a process.
std::string AuthorFrame(const c10::Error& error, const std::string& plugin);

}  // namespace medley
