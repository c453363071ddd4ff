#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include <medley/base/cpu.h>
#include <medley/base/version.h>
#include <medley/task/abi.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunVersion(int argc, char** argv) {
  CLI::App app("What this medley was built from, and the CPU that it runs on.", "medley version");
  bool json = false;
  app.add_flag("--json", json, "as a JSON object");
  if (!ParseArguments(app, argc, argv)) return 0;

  const TorchBuild& torch = Torch();
  const Cpu cpu = ThisCpu();
  if (json) {
    std::cout << nlohmann::ordered_json{{"version", Version()},
                                        {"git_revision", GitRevision()},
                                        {"compiler", Compiler()},
                                        {"build_type", BuildType()},
                                        {"plugin_api", kPluginApi},
                                        {"libtorch",
                                         {{"version", torch.version},
                                          {"build", torch.build},
                                          {"root", torch.root},
                                          {"source", torch.source},
                                          {"abi", torch.abi},
                                          {"blas", torch.blas},
                                          {"cuda", torch.cuda}}},
                                        {"cpu",
                                         {{"model", cpu.model},
                                          {"instructions", cpu.instructions},
                                          {"limits", cpu.limits}}}}
                     .dump(2)
              << '\n';
    return 0;
  }
  std::cout << "medley " << Version() << " (" << GitRevision() << ", " << Compiler() << ", " << BuildType()
            << "), plugin API " << kPluginApi << '\n'
            << "libtorch " << torch.build << " (" << torch.source << ")\n"
            << "  " << torch.root << "\n"
            << "  C++ ABI " << torch.abi << ", BLAS " << torch.blas << ", "
            << (torch.cuda ? "built with CUDA" : "built without CUDA") << '\n'
            << "CPU " << Describe(cpu) << '\n';
  return 0;
}

}  // namespace medley
