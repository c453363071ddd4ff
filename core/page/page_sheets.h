#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace medley {

// The sheets of a run by task: of its last scoring (medley eval), which was of the weights of step `scored`
// (null: nobody knows), and of the evaluations while it was trained, which TensorBoard's file has. As many
// evaluations, the last of them and others evenly between, as one page has room for.
nlohmann::ordered_json SheetsOf(const std::filesystem::path& run, const nlohmann::json& scored);

}  // namespace medley
