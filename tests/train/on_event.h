#pragma once

// A program of on_event that keeps what it is told, a line each.

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"

namespace medley::test {

// Another state directory for this user while it lives: nothing was confirmed there.
class FreshState {
 public:
  explicit FreshState(const std::filesystem::path& directory) {
    if (const char* state = getenv("XDG_STATE_HOME")) before_ = state;
    setenv("XDG_STATE_HOME", directory.c_str(), 1);
  }
  ~FreshState() {
    if (before_.empty())
      unsetenv("XDG_STATE_HOME");
    else
      setenv("XDG_STATE_HOME", before_.c_str(), 1);
  }
  FreshState(const FreshState&) = delete;
  FreshState& operator=(const FreshState&) = delete;

 private:
  std::string before_;
};

inline std::filesystem::path WriteScript(const std::filesystem::path& path, const std::string& text) {
  WriteText(path, "#!/bin/sh\n" + text + "\n");
  ::chmod(path.c_str(), 0755);
  return path;
}

class Listener {
 public:
  // `then`: what else it does.
  explicit Listener(const std::filesystem::path& directory, const std::string& then = "")
      : heard_(directory / "heard"),
        path_(WriteScript(directory / "listen", "cat >> \"" + heard_.string() + "\"; " + then)) {}

  const std::filesystem::path& path() const { return path_; }
  std::string override() const { return "on_event=[\"" + path_.string() + "\"]"; }
  std::vector<nlohmann::json> Heard() const {
    std::vector<nlohmann::json> events;
    std::istringstream lines(ReadText(heard_));
    for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
    return events;
  }
  // "stage a 0, checkpoint 4, end 12"
  std::string Words() const {
    std::string words;
    for (const nlohmann::json& event : Heard())
      words += (words.empty() ? "" : ", ") + event.at("event").get<std::string>() + " " +
               (event.contains("stage") ? event.at("stage").get<std::string>() + " " : "") +
               std::to_string(event.at("step").get<std::int64_t>());
    return words;
  }

 private:
  std::filesystem::path heard_, path_;
};

}  // namespace medley::test
