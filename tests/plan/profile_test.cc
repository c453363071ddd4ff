#include <medley/plan/profile.h>

#include <fstream>

#include "tests/plan/plan_fixture.h"
#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

using namespace plan_fixture;

TEST(Profile, ReadsWhatItWrote) {
  Profile profile = TwoTasks();
  profile.tasks[FormId("qa")].modes[1].more_than = 77;
  profile.tasks[FormId("qa")].modes[0].saved_by_pass = {{"q0", 1200}, {"q1", 300}};
  profile.tasks[FormId("qa")].modes[0].gradients_whole = 5;
  profile.tasks[FormId("qa")].modes[0].gradients_pieces = 1000;
  profile.tasks[FormId("qa")].modes[0].work = WorkOf(90, 5);
  profile.tasks[FormId("qa")].shared = {{"qa/words/1", 30}};
  const auto json = ToJson(profile);
  EXPECT_EQ(ToJson(ProfileFromJson(json, "profile.json")), json);
}

TEST(Profile, FiguresThatDecideNothingMayBeMissing) {
  auto json = ToJson(TwoTasks());
  auto& mode = json["tasks"]["qa"]["modes"][0];
  const auto before = json;
  mode.erase("saved_by_pass");
  mode.erase("gradients_at_peak");
  mode.erase("work");
  EXPECT_EQ(ToJson(ProfileFromJson(json, "profile.json")), before);
}

TEST(Profile, DamageIsRefusedWithTheFileAndTheReason) {
  const auto good = ToJson(TwoTasks());
  const auto refuses = [](const nlohmann::ordered_json& json, const std::string& reason) {
    try {
      ProfileFromJson(json, "some/profile.json");
      ADD_FAILURE() << "was read: " << reason;
    } catch (const InputError& error) {
      const std::string words = error.what();
      EXPECT_NE(words.find("some/profile.json"), std::string::npos) << words;
      EXPECT_NE(words.find(reason), std::string::npos) << words;
    }
  };
  refuses(nullptr, "no profile");
  refuses(nlohmann::ordered_json::array(), "no profile");
  auto bad = good;
  bad["format"] = 7;
  refuses(bad,
          "is of a newer medley (format 7, this one reads 1). Use that medley, or make one: medley plan");
  bad["format"] = 0;
  refuses(bad, "format is 0");
  bad = good;
  bad["tasks"]["qa"]["modes"][0]["mode"] = "sideways";
  refuses(bad, "sideways");
  bad = good;
  bad["tasks"]["qa"]["modes"][0]["whole"][0]["rows"] = 0;
  refuses(bad, "rows is 0");
  bad = good;
  bad["floor"]["weights"] = -1;
  refuses(bad, "weights is -1");
  bad = good;
  bad["floor"].erase("weights");
  refuses(bad, "weights");
  bad = good;
  bad["gradients"] = "many";
  refuses(bad, "gradients is \"many\"");
}

TEST(Profile, NumbersThatNothingCanBePlannedFromAreRefused) {
  const auto good = ToJson(TwoTasks());
  const auto refuses = [&](const std::string& path, const nlohmann::ordered_json& value,
                           const std::string& reason) {
    auto bad = good;
    bad[nlohmann::ordered_json::json_pointer("/tasks/qa/modes/" + path)] = value;
    try {
      ProfileFromJson(bad, "profile.json");
      ADD_FAILURE() << "was read: " << path << " " << value;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  refuses("0/recompute_every", 99999999999, "recompute_every is 99999999999");
  refuses("0/times/1/ms", -1e300, "ms is -1e+300");
  refuses("0/times/1/ms", 1e300, "ms is 1e+300");
  refuses("0/times/1/rows", 1, "times has 1 rows after 1");
  refuses("0/times/2/rows", 4, "times has 4 rows after 4");
  refuses("0/work", nlohmann::ordered_json::array({{{"rows", 1}, {"operations", -1}}}), "operations is -1");
  refuses("0/work", nlohmann::ordered_json::array({{{"rows", 1}, {"operations", 1e30}}}),
          "operations is 1e+30");
  refuses("0/whole/2/rows", 3, "whole has 3 rows after 4");
  refuses("0/pieces/1/rows", 1e300, "rows is 1e+300");
  refuses("0/pieces/1/bytes", 18446744073709551615U, "bytes is 18446744073709551615");
  refuses("0/whole", nlohmann::ordered_json::array(), "joint has 0 sizes whole, 3 in pieces");
  refuses("0/forwards", 0, "0 forwards");
  refuses("2/recompute_every", 0, "sequential stands there twice");
  auto overflowed = good;  // was tried, and did not fit
  auto& mode = overflowed["tasks"]["qa"]["modes"][0];
  mode["whole"] = mode["pieces"] = mode["times"] = nlohmann::ordered_json::array();
  mode["more_than"] = 5000;
  EXPECT_NO_THROW(ProfileFromJson(overflowed, "profile.json"));
  mode["more_than"] = 0;
  EXPECT_THROW(ProfileFromJson(overflowed, "profile.json"), InputError);
}

TEST(Profile, TheLargestNumbersThatAreReadOverflowNothing) {
  auto json = ToJson(TwoTasks());
  const std::int64_t most = std::int64_t{1} << 50, most_of_a_row = std::int64_t{1} << 40;
  for (auto& mode : json["tasks"]["qa"]["modes"]) {
    mode["saved_per_row"] = most_of_a_row;
    mode["work"] = {{{"rows", 1}, {"operations", 0}}, {{"rows", 2}, {"operations", std::int64_t{1} << 62}}};
    for (const char* name : {"whole", "pieces"}) mode[name][2]["bytes"] = most;
  }
  json["tasks"]["qa"]["batch_per_row"] = most_of_a_row;
  const Profile profile = ProfileFromJson(json, "profile.json");
  for (const std::int64_t rows : {0, 1 << 20}) {
    const PlanSetting setting{.budget = most, .waiting_draws = 1 << 17};
    EXPECT_NO_THROW(try { MakePlan(profile, {Ask("qa", rows)}, setting); } catch (const DoesNotFit&){});
  }
}

TEST(Profile, AFileThatIsNoJsonIsRefused) {
  const ScratchDirectory scratch;
  std::ofstream(scratch.path() / "profile.json") << "{ not json";
  try {
    ReadProfile(scratch.path() / "profile.json");
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("not valid JSON"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ReadProfile(scratch.path() / "nothing.json"), InputError);
}

TEST(Profile, WhatDiffersBetweenKeysIsSaid) {
  const nlohmann::ordered_json before = {{"model", "a.json (1)"}, {"threads", 2}, {"device", "cpu"}};
  nlohmann::ordered_json now = before;
  EXPECT_EQ(KeyDifferences(before, now), "");
  now["model"] = "b.json (2)";
  now["threads"] = 4;
  EXPECT_EQ(KeyDifferences(before, now), "model a.json (1) -> b.json (2); threads 2 -> 4");
  now.erase("device");
  EXPECT_EQ(KeyDifferences(before, now),
            "model a.json (1) -> b.json (2); threads 2 -> 4; device cpu -> nothing");
}

TEST(Profile, WorkIsInterpolated) {
  ModeProfile mode = ModeOf(Mode::kJoint, 100, 10);
  EXPECT_EQ(mode.Operations(8), 0) << "nobody counted";
  mode.work = WorkOf(90, 5);
  for (const std::int64_t rows : {1, 3, 4, 100}) EXPECT_EQ(mode.Operations(rows), 90.0 * rows + 5) << rows;
  mode.work = {{1, 90}};
  EXPECT_EQ(mode.Operations(7), 7 * 90);
}

TEST(Profile, TimesAreInterpolated) {
  const ModeProfile mode = ModeOf(Mode::kJoint, 100, 10, 0, /*ms_per_row=*/3);
  EXPECT_DOUBLE_EQ(mode.Milliseconds(1), 5);
  EXPECT_DOUBLE_EQ(mode.Milliseconds(8), 26);
  EXPECT_DOUBLE_EQ(mode.Milliseconds(100), 302);
  EXPECT_EQ(ModeProfile().Milliseconds(8), 0);
}

}  // namespace
}  // namespace medley
