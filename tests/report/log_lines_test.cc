#include <medley/report/log_lines.h>

#include <gtest/gtest.h>

#include <vector>

#include <medley/base/error.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

using Steps = std::vector<std::int64_t>;

Steps StepsIn(const std::filesystem::path& log, DamagedLine damaged, std::string_view having = {}) {
  Steps steps;
  ForEachLine(
      log, damaged, [&](const nlohmann::json& line) { steps.push_back(line["step"].get<std::int64_t>()); },
      having);
  return steps;
}

TEST(LogLines, AreThoseWithAStepUpToTheOneThatIsStillWritten) {
  const ScratchDirectory scratch;
  const auto log = scratch / "log.jsonl";
  EXPECT_EQ(StepsIn(log, DamagedLine::kRefused), Steps()) << "there is none";
  WriteText(log, "{\"step\":1}\n{\"cause\":\"start\"}\n{\"step\":2,\"eval\":{}}\n{\"step\":3}");
  EXPECT_EQ(StepsIn(log, DamagedLine::kRefused), Steps({1, 2}));
  EXPECT_EQ(StepsIn(log, DamagedLine::kRefused, "\"eval\""), Steps({2}));
}

TEST(LogLines, ADamagedOneIsRefusedWithItsNumberOrPassedOver) {
  const ScratchDirectory scratch;
  const auto log = scratch / "log.jsonl";
  WriteText(log, "{\"step\":1}\n{\"st\n{\"step\":3}\n");
  EXPECT_EQ(StepsIn(log, DamagedLine::kPassedOver), Steps({1, 3}));
  try {
    StepsIn(log, DamagedLine::kRefused);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("log.jsonl:2: "), std::string::npos) << error.what();
  }
}

TEST(LogLines, ATaskHasALossWhereAllOfItsTermsHadItems) {
  const auto line = nlohmann::json::parse(R"({"step":1,"terms":{
      "both":{"a":{"weighted":0.5},"b":{"weighted":0.25}},"half":{"a":{"weighted":1},"b":{"weighted":null}},"odd":5}})");
  EXPECT_EQ(LossesIn(line), (std::map<std::string, double>{{"both", 0.75}}));
  EXPECT_EQ(LossesIn(nlohmann::json::object()), (std::map<std::string, double>()));
}

}  // namespace
}  // namespace medley
