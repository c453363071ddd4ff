// Files of a run that somebody else wrote, as a user meets them: words and exit code 2, never a crash.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Medley;
using test::Shell;

// Each was a stack overflow (signal 11).
TEST(HostileFiles, ADeeplyNestedFileIsRefusedInWordsByEveryVerbThatReadsIt) {
  const ScratchDirectory scratch;
  const std::string deep(300'000, '[');
  const std::string run = (scratch / "run").string(),
                    config = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json";
  fs::create_directories(run);
  WriteText(scratch / "deep.json", deep);
  WriteText(run + "/config.resolved.json", "{}");
  WriteText(run + "/receipt.json", deep);
  for (const std::string& verb :
       {"report " + run, "validate " + (scratch / "deep.json").string(),
        "plan " + config + " threads=1 --profile " + (scratch / "deep.json").string()}) {
    const CommandResult result = Shell(Medley() + verb + " 2>&1");
    EXPECT_EQ(result.code, 2) << verb << "\n" << result.out;
    EXPECT_NE(result.out.find("nested more than 64 levels deep"), std::string::npos) << verb << "\n"
                                                                                     << result.out;
  }
}

}  // namespace
}  // namespace medley
