#pragma once

#include <string>

namespace medley {

// Thrown while a candidate file is read: why it is not a plugin of this medley. Ends up in
// Registry::rejected().
struct Rejection {
  std::string state;
  std::string reason;
  bool claims = true;  // to be a plugin; false: a library of another kind, whole
};

}  // namespace medley
