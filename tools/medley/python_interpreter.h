#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace medley {

// Python, where a process of the command becomes it.

// The interpreter is the first of these that exists: MEDLEY_PYTHON; that in whose site-packages this medley
// lies; VIRTUAL_ENV's; that in whose site-packages the libtorch lies which medley was built with; python3. ""
// where there is none. An InputError where MEDLEY_PYTHON names none.
std::filesystem::path FindInterpreter();

// A file of this medley's Python package: of a wheel around its libraries, else beside them. "" where it is
// not there, as medley was built without its Python face.
std::filesystem::path FindInPackage(const std::filesystem::path& file);

// The process is replaced (exec: the same pid, signals and exit codes) by the interpreter's, which runs the
// script with these arguments; what is there by then is lost. Signals wait until the script has handlers of
// its own and unblocks them. An Error where others may write to the interpreter (`what` says what it would
// run), or it cannot be started.
[[noreturn]] void BecomePython(const std::filesystem::path& interpreter, const std::filesystem::path& script,
                               const std::vector<std::string>& arguments, const std::string& what);

}  // namespace medley
