#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/base/error.h>
#include <medley/base/files.h>

namespace medley {

// tests/text/cases, which make_cases.py made with the tokenizers package.
inline std::filesystem::path CaseFile(const std::string& name) {
  return std::filesystem::path(MEDLEY_TOKENIZER_CASES) / name;
}
inline std::string CaseText(const std::string& name) { return ReadFile(CaseFile(name + ".json")); }
inline nlohmann::ordered_json CaseJson(const std::string& name) {
  return nlohmann::ordered_json::parse(CaseText(name));
}

// The message of the InputError, "" where there is none.
template <typename Fn>
std::string InputErrorOf(const Fn& fn) {
  try {
    fn();
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace medley
