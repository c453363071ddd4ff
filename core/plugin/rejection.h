#pragma once

#include <string>
#include <string_view>

namespace medley {

// Thrown while a candidate file is read: why it is not a plugin of this medley. Ends up in
// Registry::rejected().
struct Rejection {
  std::string state;
  std::string reason;
  bool claims = true;  // to be a plugin; false: a library of another kind, whole
};

// Text of a stranger, safe to print: control characters as \xNN.
std::string Printable(std::string_view text);
// The same of several lines, which stay lines.
std::string PrintableLines(std::string_view text);

}  // namespace medley
