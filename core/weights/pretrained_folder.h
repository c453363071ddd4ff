#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace medley {

// What lies in a Hugging Face folder beside config.json and the weights, and makes them mean something else
// to other software: adapters and notes of quantization. One line each, with what to do; none where there is
// nothing. `adapters`: the folder whose adapters are applied, "" for none.
std::vector<std::string> FolderProblems(const std::filesystem::path& directory,
                                        const std::filesystem::path& adapters = {});

}  // namespace medley
