#include <medley/base/terminal.h>

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace medley {

bool IsTerminal(std::FILE* out) {
  if (::isatty(::fileno(out)) != 1) return false;
  const char* kind = std::getenv("TERM");
  return kind == nullptr || std::string_view(kind) != "dumb";
}

}  // namespace medley
