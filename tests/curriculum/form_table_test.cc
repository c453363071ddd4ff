#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <unordered_set>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/curriculum/form_table.h>

#include "tests/curriculum/conditions.h"

namespace medley {
namespace {

// What must not compile is in must_not_compile_form_id.cc; what must not be possible in other ways:
static_assert(!std::is_convertible_v<std::string, FormId> && !std::is_convertible_v<const char*, FormId>);
static_assert(!std::is_convertible_v<FormId, std::string> && !std::is_constructible_v<std::string, FormId>);

Stage StageOf(const std::string& name, Weights weights) {
  Stage stage;
  stage.name = name;
  stage.weights = std::move(weights);
  stage.until = conditions::Steps(5);
  return stage;
}

// The second stage gives "one" four rows; the third does so too, and draws it no more.
Curriculum ThreeStages() {
  Curriculum curriculum;
  curriculum.stages = {StageOf("a", {{"one", 1}, {"two", 1}}), StageOf("b", {{"one", 1}, {"three", 0}}),
                       StageOf("c", {{"two", 1}})};
  for (const std::size_t stage : {std::size_t{1}, std::size_t{2}})
    curriculum.stages[stage].set.tasks["one"].rows = 4;
  return curriculum;
}

std::vector<FormId> NamedBy(const FormTable& forms, const Curriculum& curriculum) {
  std::vector<FormId> ids;
  for (const Form& form : forms.Named(curriculum)) ids.push_back(form.id);
  return ids;
}

TEST(FormTable, FormsAreTheConfigsOwnWhereNothingChanges) {
  RunConfig config;
  config.tasks["one"].rows = 4;
  const Curriculum curriculum = ThreeStages();
  const FormTable forms(config, curriculum);
  EXPECT_EQ(NamedBy(forms, curriculum), (std::vector<FormId>{FormId("one"), FormId("two")}));
  for (const Form& form : forms.Named(curriculum)) {
    EXPECT_TRUE(form.IsOwn());
    EXPECT_EQ(form.id.text(), form.task);
    EXPECT_EQ(form.KeyPrefix(), "tasks." + form.task + ".");
  }
}

TEST(FormTable, EqualSettingsAreOneFormAndOthersAreOthers) {
  const RunConfig config;
  const Curriculum curriculum = ThreeStages();
  const FormTable forms(config, curriculum);
  const std::vector<Form> named = forms.Named(curriculum);
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(named[0].id, FormId("one"));
  EXPECT_EQ(named[1].id, FormId("two"));
  EXPECT_EQ(named[2].task, "one");
  EXPECT_FALSE(named[2].IsOwn());
  EXPECT_EQ(named[2].KeyPrefix(), "stage set tasks.one.");
  EXPECT_EQ(&forms.Of(curriculum.stages[1], "one"), &forms.Of(curriculum.stages[2], "one"));
  EXPECT_EQ(forms.Of(curriculum.stages[0], "one").id, FormId("one"));
  EXPECT_EQ(forms.Of(curriculum.stages[1], "two").id, FormId("two"));

  // Said in other words: the option has the config's value already.
  RunConfig richer;
  richer.tasks["one"].options["moves"] = 2.0;
  Curriculum reworded = curriculum;
  reworded.stages[2].set.tasks["one"].options["moves"] = 2.0;
  const FormTable rich(richer, reworded);
  EXPECT_EQ(&rich.Of(reworded.stages[1], "one"), &rich.Of(reworded.stages[2], "one"));
  EXPECT_NE(rich.Of(reworded.stages[1], "one").id, named[2].id) << "it has the config's options too";
  EXPECT_EQ(FormTable(config, reworded).Named(reworded).size(), 3u) << "and here the third's is never drawn";
  EXPECT_NE(FormTable(config, reworded).Of(reworded.stages[2], "one").id, named[2].id);
}

// Runs of older medleys go by it: plan.json, profile.json, receipts and checkpoints.
TEST(FormTable, TheTextOfAnIdIsWhatOlderMedleysWrote) {
  const Curriculum curriculum = ThreeStages();
  EXPECT_EQ(FormTable(RunConfig(), curriculum).Of(curriculum.stages[1], "one").id.text(), "one@8ac8d3");
}

// Two numbers of rows whose settings have hashes that begin alike.
std::pair<std::int64_t, std::int64_t> RowsThatCollide() {
  std::map<std::string, std::int64_t> seen;
  for (TaskConfig settings;; ++settings.rows) {
    const auto [found, is_new] =
        seen.try_emplace(HashText(ToJson(settings).dump()).substr(0, 6), settings.rows);
    if (!is_new) return {found->second, settings.rows};
  }
}

TEST(FormTable, AHashThatTwoSettingsShareDoesNotMergeThem) {
  const auto [first, second] = RowsThatCollide();
  Curriculum curriculum = ThreeStages();
  curriculum.stages[1].set.tasks["one"].rows = first;
  curriculum.stages[2].set.tasks["one"].rows = second;
  curriculum.stages[2].weights = {{"one", 1}};
  const RunConfig config;
  const FormTable forms(config, curriculum);
  const Form &one = forms.Of(curriculum.stages[1], "one"), &other = forms.Of(curriculum.stages[2], "one");
  EXPECT_NE(one.id, other.id);
  EXPECT_EQ(one.settings.rows, first);
  EXPECT_EQ(other.settings.rows, second);
  EXPECT_EQ(forms.At(one.id).settings.rows, first);
  EXPECT_EQ(forms.At(other.id).settings.rows, second);
  EXPECT_EQ(forms.Named(curriculum).size(), 4u);
  FormTable again = forms;
  again.Add(curriculum);
  EXPECT_EQ(NamedBy(again, curriculum), NamedBy(forms, curriculum)) << "what is known gets no other id";
}

TEST(FormTable, GrowsByAnEditAndKeepsWhatItHas) {
  const Curriculum before = ThreeStages();
  FormTable forms(RunConfig(), before);
  const Form* const known = &forms.Of(before.stages[1], "one");
  const FormId id = known->id;
  Curriculum after = before;
  after.stages[1].set.tasks["one"].rows = 8;
  after.stages[2].weights = {{"four", 1}};
  EXPECT_THROW(forms.Of(after.stages[1], "one"), Error) << "the table does not know this curriculum yet";
  forms.Add(after);
  EXPECT_EQ(forms.Of(after.stages[1], "one").settings.rows, 8);
  EXPECT_EQ(forms.Of(after.stages[2], "four").id, FormId("four"));
  EXPECT_EQ(&forms.At(id), known);
  EXPECT_EQ(&forms.Of(before.stages[1], "one"), known);
  EXPECT_EQ(known->settings.rows, 4);
}

TEST(FormTable, FormsGoOnInARampFromStagesBefore) {
  const RunConfig config;
  Curriculum curriculum = ThreeStages();
  curriculum.stages[2].set.tasks["one"].rows = 8;
  EXPECT_EQ(FormTable(config, curriculum).Named(curriculum).size(), 3u);
  curriculum.stages[2].ramp.draws = 9;
  EXPECT_EQ(FormTable(config, curriculum).Named(curriculum).size(), 4u)
      << "one with 8 rows is drawn while its share falls";
}

TEST(FormTable, WhatAStageWaitsForIsNamedToo) {
  Curriculum curriculum = ThreeStages();
  curriculum.stages[2].until = conditions::ScoreOf("five", 1, 0.5);
  const FormTable forms(RunConfig(), curriculum);
  EXPECT_EQ(NamedBy(forms, curriculum).back(), FormId("five"));
}

TEST(FormTable, FormsHaveTheirSettingsOnTopOfTheConfigs) {
  RunConfig config;
  config.tasks["one"].rows = 16;
  config.tasks["one"].micro_rows = 2;
  config.tasks["one"].mode = "joint";
  config.tasks["one"].variant = "fused";
  config.tasks["one"].options = {{"moves", 2.0}, {"walls", 1.0}};
  Curriculum curriculum = ThreeStages();
  curriculum.stages[1].set.tasks["one"].options["moves"] = 3.0;
  const FormTable forms(config, curriculum);
  const TaskConfig& changed = forms.Of(curriculum.stages[1], "one").settings;
  EXPECT_EQ(changed.rows, 4);
  EXPECT_EQ(changed.micro_rows, 2);
  EXPECT_EQ(changed.mode, "joint");
  EXPECT_EQ(changed.variant, "fused");
  EXPECT_EQ(changed.options.at("moves"), OptionValue(3.0));
  EXPECT_EQ(changed.options.at("walls"), OptionValue(1.0));
  EXPECT_EQ(forms.Own("one").settings, config.tasks.at("one"));
}

// Both say which layers are computed again.
TEST(FormTable, RecomputationOfAStageTakesTheConfigsPlaceWhicheverNameItHas) {
  TaskConfig config;
  config.recompute_every = 2;
  TaskChange change;
  change.recompute_layers = "2/3";
  const TaskConfig changed = Changed(config, change);
  EXPECT_EQ(PinnedLayers(changed), RecomputedLayers(2, 3));
  EXPECT_EQ(CheckTaskConfig(changed, /*plan=*/true), std::nullopt);
  change = {};
  change.recompute_every = 0;
  EXPECT_EQ(PinnedLayers(Changed(changed, change)), RecomputedLayers(0));
  EXPECT_EQ(PinnedLayers(Changed(changed, {})), RecomputedLayers(2, 3));
  change.recompute_layers = "1/2";
  EXPECT_EQ(CheckTaskConfig(Changed(config, change), /*plan=*/true)->key, "recompute_every");
}

TEST(FormTable, WhatNobodyNamesHasTheDefaultsAndWhatNobodyGaveIsAnError) {
  const FormTable forms(RunConfig(), ThreeStages());
  EXPECT_EQ(forms.Own("nobody").settings, TaskConfig());
  EXPECT_EQ(forms.Own("nobody").id, FormId("nobody"));
  for (const char* id : {"nobody", "one@000000", ""}) {
    try {
      forms.At(FormId(id));
      ADD_FAILURE() << id;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'" + std::string(id) + "'"), std::string::npos)
          << error.what();
    }
  }
}

TEST(FormId, IsOrderedAndHashedByItsText) {
  EXPECT_LT(FormId("one"), FormId("one@1f3a9c"));
  EXPECT_LT(FormId("one@1f3a9c"), FormId("two"));
  const std::unordered_set<FormId> ids{FormId("one"), FormId("one@1f3a9c"), FormId("one")};
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids.count(FormId("one")), 1u);
}

}  // namespace
}  // namespace medley
