#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/plan/receipt.h>
#include <medley/report/metrics.h>
#include <medley/report/phase_report.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

Receipt ReadReceipt(const std::filesystem::path& run) {
  const std::filesystem::path file = run / kReceiptFile;
  if (!std::filesystem::exists(file)) {
    throw InputError(run.string() + " has no " + kReceiptFile +
                     "; a run writes it when it saves, a directory of medley train is expected");
  }
  const auto json = ReadJson(ReadFile(file), DisplayPath(file));
  try {
    return Receipt::FromJson(json);
  } catch (const Error& error) {
    throw InputError(DisplayPath(file) + ": " + error.what());
  }
}

}  // namespace

int RunReport(int argc, char** argv) {
  CLI::App app("Prints what a run's tasks asked for and got, and what they took, against what was planned.",
               "medley report");
  std::filesystem::path directory;
  app.add_option("DIR", directory, "the run's directory")->required();
  if (!ParseArguments(app, argc, argv)) return 0;
  if (const std::string problem = DirectoryProblem(directory); !problem.empty())
    throw InputError(problem + "; a run directory is expected");
  const Receipt receipt = ReadReceipt(directory);
  std::cout << StagesTable(receipt.stages()) << ReceiptTable(receipt) << PhasesTable(directory / kTimingLog);
  return 0;
}

}  // namespace medley
