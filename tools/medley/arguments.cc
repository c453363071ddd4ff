#include "tools/medley/arguments.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string_view>

#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/report/screen.h>

#include "tools/medley/command_line.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Refuse(const CLI::App& app, const std::string& what) {
  throw InputError(app.get_name() + ": " + what + " (" + app.get_name() + " --help says what is possible)");
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

// The first flag is what was mistyped; what stands behind it may have been meant as its value.
std::string UnexpectedWords(const CLI::App& app, const std::vector<std::string>& left_over) {
  std::vector<std::string> flags = FlagsOf(app);
  for (const CLI::App* verb : app.get_subcommands()) {
    for (std::string& flag : FlagsOf(*verb)) flags.push_back(std::move(flag));
  }
  for (const std::string& argument : left_over) {
    if (!argument.starts_with("-")) continue;
    const std::string name = argument.substr(0, argument.find('='));
    return "no such flag: '" + Printable(name) + "'" + DidYouMean(name, flags);
  }
  return "not expected: " + JoinNames(left_over);
}

void CheckValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) Refuse(app, option->get_name() + " is empty; give a value, or leave it out");
      if (ValidUtf8(value) != value)
        Refuse(app, option->get_name() + " is not UTF-8, which a run cannot write down; rename it");
      RefuseDirectoryOfRank(value);
    }
  }
  for (const CLI::App* verb : app.get_subcommands()) CheckValues(*verb);
}

}  // namespace

bool ParseArguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const bool as_json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
    std::cout << (as_json ? JsonText(CommandLineJson(app), 2) + "\n" : Prose(app.help()));
    return false;
  } catch (const CLI::ExtrasError&) {
    Refuse(app, UnexpectedWords(app, app.remaining(/*recurse=*/true)));
  } catch (const CLI::ParseError& error) {
    Refuse(app, Printable(error.what()));
  }
  CheckValues(app);
  return true;
}

CLI::Validator WholeNumber(std::int64_t low, std::int64_t high) {
  const std::string words = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  return {[=](const std::string& text) -> std::string {
            std::int64_t number = 0;
            const char* end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, number);
            if (error == std::errc() && stop == end && number >= low && number <= high) return "";
            return "expected " + words + ", found '" + Printable(text) + "'";
          },
          std::to_string(low) + ".." + std::to_string(high)};
}

CLI::Option* AddBudget(CLI::App& app, std::string& budget) {
  return app.add_option(
      "--budget", budget,
      "memory that may be used on the device: 6GiB, 50% of what it has, or free: all that is "
      "free (the default)");
}

CLI::Option* AddJson(CLI::App& app, bool& as_json) {
  return app.add_flag("--json", as_json, "as a JSON object on stdout; bytes are numbers");
}

CLI::Option* AddDevice(CLI::App& app, std::string& device) {
  return app
      .add_option("--device", device, "cpu or cuda, rather than the device that the run was trained on")
      ->check(CLI::IsMember({"cpu", "cuda"}));
}

CLI::Option* AddRawWeights(CLI::App& app, bool& raw) {
  return app.add_flag(
      "--raw-weights", raw,
      "the parameters that training goes on with, of a run that keeps their average (optimizer.average)");
}

CLI::Option* AddWide(CLI::App& app) {
  return app.add_flag_callback("--wide", ShowWide, "show all columns of tables, however wide the screen is");
}

CLI::Option* AddPluginPath(CLI::App& app, std::vector<fs::path>& paths) {
  const auto absolute = [](const std::string& path) {
    if (path.empty()) throw CLI::ValidationError("it is empty; give a directory or a plugin");
    return fs::absolute(path).string();
  };
  return app
      .add_option("--plugin-path", paths,
                  "a directory with plugins, or a plugin, searched first; may be repeated")
      ->allow_extra_args(false)
      ->transform(absolute);
}

CLI::Option* AddPlugins(CLI::App& app, NamedPlugins& plugins) {
  app.add_flag("--allow-config-plugins", plugins.allow_config,
               "run the plugins that the config's plugin_path names, and remember them as confirmed");
  return AddPluginPath(app, plugins.paths);
}

CLI::Option* AddOnEvent(CLI::App& app, bool& allowed) {
  return app.add_flag("--allow-on-event", allowed,
                      "run the program that the config's on_event names, and remember it as confirmed");
}

}  // namespace medley
