#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/plugin/confirmed_paths.h>

namespace medley {

// Parses a verb's arguments. False where only help was asked for (and is printed, as CommandLineJson beside
// --json): the verb then returns 0.
// An InputError names the verb and what is wrong: also a value that is empty, or that is not UTF-8, as a run
// writes what it was given into JSON, or the folder of one process of a run, where the run is meant.
bool ParseArguments(CLI::App& app, int argc, char** argv);

// A check of an option: an integer of low .. high.
CLI::Validator WholeNumber(std::int64_t low, std::int64_t high);

// Stands for the override budget=VALUE.
CLI::Option* AddBudget(CLI::App& app, std::string& budget);
// Whether the verb prints its result as JSON, by configs/schema/VERB-output.schema.json, rather than as
// words.
CLI::Option* AddJson(CLI::App& app, bool& as_json);
// Of a verb that uses a run's weights: "" for the device that it was trained on.
CLI::Option* AddDevice(CLI::App& app, std::string& device);
// Of the same: whether to take the weights rather than their average.
CLI::Option* AddRawWeights(CLI::App& app, bool& raw);
// Makes the paths absolute. Repeated rather than a list: a list would swallow the arguments behind it.
CLI::Option* AddPluginPath(CLI::App& app, std::vector<std::filesystem::path>& paths);
// Of a verb that may run what a config names: also --allow-config-plugins.
CLI::Option* AddPlugins(CLI::App& app, NamedPlugins& plugins);
// Of a verb that trains: whether a config's on_event is allowed.
CLI::Option* AddOnEvent(CLI::App& app, bool& allowed);

// Of a verb that prints tables: show all their columns, wider than the screen.
CLI::Option* AddWide(CLI::App& app);

}  // namespace medley
