#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace medley {

// The sheets of a run by task: of its last scoring (medley eval), which was of the weights of step `scored`
// (null: nobody knows), and of the evaluations while it was trained, which TensorBoard's file has: the last
// of them, and as many evenly from those before it as a page has room for; these in half the size. Colours
// are in 16 levels. An InputError where a picture of medley eval's is none.
nlohmann::ordered_json SheetsOf(const std::filesystem::path& run, const nlohmann::json& scored);

}  // namespace medley
