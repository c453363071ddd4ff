#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/error.h>

namespace medley {

// Parses a verb's arguments. False where only help was asked for (and is printed): the verb then returns 0.
// An InputError names the verb and what is wrong.
inline bool ParseArguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& error) {
    throw InputError(app.get_name() + ": " + error.what() + " (" + app.get_name() +
                     " --help says what is possible)");
  }
}

// Stands for the override budget=VALUE.
inline CLI::Option* AddBudget(CLI::App& app, std::string& budget) {
  return app.add_option(
      "--budget", budget,
      "memory that may be used on the device: 6GiB, 50% of what it has, or free: all that is "
      "free (the default)");
}

// Of a verb that uses a run's weights: "" for the device that it was trained on.
inline CLI::Option* AddDevice(CLI::App& app, std::string& device) {
  return app
      .add_option("--device", device, "cpu or cuda, rather than the device that the run was trained on")
      ->check(CLI::IsMember({"cpu", "cuda"}));
}

// Makes the paths absolute. Repeated rather than a list: a list would swallow the arguments behind it.
inline CLI::Option* AddPluginPath(CLI::App& app, std::vector<std::filesystem::path>& paths) {
  const auto absolute = [](const std::string& path) {
    if (path.empty()) throw CLI::ValidationError("it is empty; give a directory or a plugin");
    return std::filesystem::absolute(path).string();
  };
  return app
      .add_option("--plugin-path", paths,
                  "a directory with plugins, or a plugin, searched first; may be repeated")
      ->allow_extra_args(false)
      ->transform(absolute);
}

}  // namespace medley
