#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

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

}  // namespace medley
