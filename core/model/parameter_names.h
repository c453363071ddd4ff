#pragma once

#include <string>

#include <medley/model/model.h>

namespace medley {

// Whether its name, or its former one, is as the pattern says (shell-style, * and ?).
bool Matches(const Parameter& parameter, const std::string& pattern);

}  // namespace medley
