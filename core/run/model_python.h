#pragma once

#include <string_view>

namespace medley {

extern const std::string_view kAgentPython;  // core/model/agent/model.py
extern const std::string_view kMlpPython;    // core/model/mlp_model.py

}  // namespace medley
