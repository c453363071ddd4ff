#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>
#include <c10/core/DefaultDtype.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <typeinfo>

#include <medley/base/interrupt.h>
#include <medley/task/plugin_entry.h>

#include "tests/plugin/host_fixture.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;

std::string TaskName(int i) { return "t" + std::to_string(100 + i); }

// A copy of a fixture under the directory; a loaded file stays loaded, so each test needs its own.
fs::path Copy(const TempDirectory& directory, const std::string& fixture, const std::string& name) {
  fs::copy_file(Fixture(fixture), directory / (name + ".so"));
  return directory / (name + ".so");
}

TEST(PluginHost, OfThirtyPluginsOnlyTheThreeDrawnAreLoadedAndHaveConstants) {
  const TempDirectory directory;
  const std::string tiny = ReadBytes(Fixture("tiny"));
  for (int i = 0; i < 30; ++i) {
    WriteBytes(directory / (TaskName(i) + ".so"),
               Patched(tiny, "\"name\":\"tiny\"", "\"name\":\"" + TaskName(i) + "\""));
  }
  HostFixture run({directory.path()});
  ASSERT_EQ(run.registry.tasks().size(), 30u);
  EXPECT_TRUE(MappedBelow(directory.path()).empty());
  for (const int i : {3, 14, 28}) {
    LoadedTask& task = run.Get(TaskName(i));
    EXPECT_EQ(task.ConstantBytes(at::kCPU), 0);
    task.Constant("table", at::kCPU);
    EXPECT_EQ(task.ConstantBytes(at::kCPU), 2 * 4 * 8);
  }
  EXPECT_EQ(MappedBelow(directory.path()).size(), 3u);
  EXPECT_EQ(run.host.loaded(),
            (std::vector<FormId>{FormId(TaskName(3)), FormId(TaskName(14)), FormId(TaskName(28))}));
  EXPECT_EQ(run.host.Find(FormId(TaskName(4))), nullptr);
}

TEST(PluginHost, ATaskIsMadeOnceAndWorks) {
  HostFixture run({Fixture("tiny")});
  LoadedTask& task = run.Get("tiny");
  EXPECT_EQ(&task, &run.Get("tiny"));
  EXPECT_EQ(task.plugin(), "tiny");
  const Batch batch = task.Sample({1, 5, 3});
  EXPECT_TRUE(batch.Column("number").equal(at::arange(5, 8)));
  EXPECT_EQ(PluginHost::Texts(run.registry), std::vector<std::string>{"tiny"});
}

TEST(PluginHost, OneKindUnderTwoNamesIsTwoTasksThatShareEqualTables) {
  HostFixture run({Fixture("tiny")});
  run.registry.GiveNames({{"again", "tiny"}});
  LoadedTask &one = run.Get("tiny"), &two = run.Get("again");
  EXPECT_NE(&one, &two);
  EXPECT_EQ(two.info().name, "again");
  const void* table = one.Constant("table", at::kCPU).const_data_ptr();
  EXPECT_EQ(two.Constant("table", at::kCPU).const_data_ptr(), table);
  EXPECT_EQ(one.SharedTableBytes(), two.SharedTableBytes());
  CountedTables counted;
  EXPECT_EQ(one.ConstantBytes(at::kCPU, &counted), 64);
  EXPECT_EQ(two.ConstantBytes(at::kCPU, &counted), 0);
  EXPECT_EQ(two.ConstantBytes(at::kCPU), 64);
  // It goes with the last of them, and comes back.
  one.DropConstants(at::kCPU);
  EXPECT_EQ(two.Constant("table", at::kCPU).const_data_ptr(), table);
  EXPECT_EQ(one.Constant("table", at::kCPU).const_data_ptr(), table);
  one.DropConstants(at::kCPU);
  two.DropConstants(at::kCPU);
  EXPECT_EQ(one.ConstantBytes(at::kCPU) + two.ConstantBytes(at::kCPU), 0);
  two.RestoreConstants(at::kCPU);
  one.RestoreConstants(at::kCPU);
  EXPECT_EQ(one.Constant("table", at::kCPU).const_data_ptr(),
            two.Constant("table", at::kCPU).const_data_ptr());
  EXPECT_TRUE(one.Constant("table", at::kCPU).equal(at::arange(8).view({2, 4})));
}

TEST(PluginHost, UnlikeTablesOfOneKindAreNotShared) {
  const TempDirectory directory;
  HostFixture run({Copy(directory, "moves_state", "moves_state")});
  run.registry.GiveNames({{"again", "moves_state"}});
  const at::Tensor one = run.Get("moves_state").Constant("table", at::kCPU),
                   two = run.Get("again").Constant("table", at::kCPU);
  EXPECT_FALSE(one.equal(two)) << "each draws its own";
  CountedTables counted;
  EXPECT_GT(run.Get("moves_state").ConstantBytes(at::kCPU, &counted), 0);
  EXPECT_GT(run.Get("again").ConstantBytes(at::kCPU, &counted), 0);
}

TEST(PluginHost, AKindUnderOneNameSharesNothing) {
  HostFixture run({Fixture("tiny")});
  run.Get("tiny").Constant("table", at::kCPU);
  EXPECT_FALSE(run.Get("tiny").SharesTables());
  EXPECT_TRUE(run.Get("tiny").SharedTableBytes().empty());
}

TEST(PluginHost, AStrippedPluginWorks) {
  HostFixture run({Fixture("stripped")});
  EXPECT_EQ(run.Get("tiny").Constant("table", at::kCPU).numel(), 8);
}

TEST(PluginHost, APluginThatIsNotDrawnDoesNotHurtTheRunThoughItWouldAbort) {
  HostFixture run({Fixture("aborts_at_load"), Fixture("tiny")});
  EXPECT_NE(run.registry.Find("aborts_at_load"), nullptr);
  run.Get("tiny").Sample({1, 0, 2});
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run.Get("aborts_at_load"), "");
}

void SeedDefaultGenerator() {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(42);
}

TEST(PluginHost, LoadingAndMakingLeaveTheGlobalStateAlone) {
  const TempDirectory directory;
  SeedDefaultGenerator();
  at::rand({2});
  const at::Tensor without = at::rand({4});

  SeedDefaultGenerator();
  at::rand({2});
  const int threads = at::get_num_threads();
  HostFixture run({Copy(directory, "moves_state", "moves_state")});
  run.Get("moves_state").Constant("table", at::kCPU);
  PluginHost::Texts(run.registry);
  EXPECT_TRUE(at::rand({4}).equal(without));
  EXPECT_EQ(at::get_num_threads(), threads);
  EXPECT_EQ(c10::get_default_dtype(), caffe2::TypeMeta::Make<float>());
  EXPECT_TRUE(c10::GradMode::is_enabled());
}

// Loads copies of one plugin and of tiny, in an order; what the plugin drew for itself.
at::Tensor DrawnTable(bool first) {
  const TempDirectory directory;
  HostFixture run({Copy(directory, "moves_state", "moves_state"), Copy(directory, "tiny", "tiny")});
  if (!first) {
    run.Get("tiny").Constant("table", at::kCPU);
    at::rand({17});
  }
  return run.Get("moves_state").Constant("table", at::kCPU);
}

TEST(PluginHost, WhatATaskDrawsDoesNotDependOnWhenItWasLoaded) {
  const at::Tensor first = DrawnTable(true);
  EXPECT_TRUE(DrawnTable(false).equal(first));
  EXPECT_FALSE(first.eq(first[0][0]).all().item<bool>()) << "it must have drawn something";
}

TEST(PluginHost, AnUndefinedSymbolIsFoundWhenLoading) {
  HostFixture run({Fixture("undefined_symbol"), Fixture("tiny")});
  const std::string message = MessageOf([&] { run.Get("undefined_symbol"); });
  EXPECT_TRUE(Has(message, "plugin 'undefined_symbol'") && Has(message, "DefinedNowhere")) << message;
  EXPECT_NO_THROW(run.Get("tiny"));
}

TEST(PluginHost, ANoteThatLiesAboutLibtorchIsCaughtByTheLinker) {
  HostFixture run({Fixture("other_torch")});
  const std::string message = MessageOf([&] { run.Get("other_torch"); });
  EXPECT_TRUE(Has(message, "_999_") && Has(message, "built for another medley or libtorch")) << message;
}

// What loading a changed copy of a plugin says.
std::string LoadingSays(const std::string& fixture, const std::string& task, std::string_view from,
                        std::string_view to) {
  const TempDirectory directory;
  WriteBytes(directory / "changed.so", Patched(ReadBytes(Fixture(fixture)), from, to));
  HostFixture run({directory / "changed.so"});
  return MessageOf([&] { run.Get(task); });
}

// Of libtorch or of medley it would abort in static initialisers, where nobody can catch.
TEST(PluginHost, ASecondLibtorchIsRefusedBeforeItIsLoaded) {
  const std::string message = LoadingSays("tiny", "tiny", std::string_view("libtorch_cpu.so\0", 16),
                                          std::string_view("libtorch_gpu.so\0", 16));
  EXPECT_TRUE(Has(message, "it needs libtorch_gpu.so, which is not what this medley runs on. Rebuild"))
      << message;
}

TEST(PluginHost, AMissingLibraryIsNamed) {
  const std::string message = LoadingSays("tiny", "tiny", std::string_view("libgcc_s.so.1\0", 14),
                                          std::string_view("libgcc_x.so.1\0", 14));
  EXPECT_TRUE(Has(message, "plugin 'changed'") && Has(message, "libgcc_x.so.1")) << message;
}

TEST(PluginHost, AMissingEntryIsNamed) {
  const std::string message =
      LoadingSays("tiny", "tiny", std::string_view("\0" MEDLEY_WORDS(MEDLEY_PLUGIN_ENTRY) "\0", 18),
                  std::string_view("\0medley_plugout_v\0", 18));
  EXPECT_TRUE(Has(message, MEDLEY_WORDS(MEDLEY_PLUGIN_ENTRY))) << message;
}

TEST(PluginHost, AnOlderEntryIsRefusedAndANewerOneServes) {
  const std::string message = MessageOf([] { HostFixture({Fixture("older_entry")}).Get("entry"); });
  EXPECT_TRUE(Has(message, "its entry is of an older medley. Rebuild it")) << message;
  HostFixture newer({Fixture("newer_entry")});
  EXPECT_EQ(newer.Get("entry").Constant("table", at::kCPU).numel(), 8);
}

TEST(PluginHost, ANoteInMemoryThatIsNotTheFilesIsNoticed) {
  const std::string message = MessageOf([] { HostFixture({Fixture("other_note")}).Get("entry"); });
  EXPECT_TRUE(Has(message, "what was loaded differs from the file that was read")) << message;
}

TEST(PluginHost, APluginBuiltForDebuggingWorks) {
  HostFixture run({Fixture("debug_build")});
  EXPECT_EQ(run.Get("tiny").Constant("table", at::kCPU).numel(), 8);
}

TEST(PluginHost, EqualStaticsOfTwoPluginsAreTwo) {
  HostFixture run({Fixture("equal_statics_a"), Fixture("equal_statics_b")});
  for (const char* name : {"equal_statics_a", "equal_statics_b"})
    EXPECT_EQ(run.Get(name).Constant("table", at::kCPU)[0][0].item<int>(), 2) << name;
}

TEST(PluginHost, ExceptionsOfAPluginAreOfTheHostsTypes) {
  HostFixture run({Fixture("fails_to_make")});
  try {
    run.Get("throws_input");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(dynamic_cast<const InputError*>(&error), nullptr);
    EXPECT_EQ(typeid(error), typeid(InputError));
  }
}

TEST(PluginHost, WhatWasToStopWhileATaskWasMadeIsNoFailureOfIt) {
  HostFixture run({Fixture("fails_to_make")});
  RequestInterrupt();
  EXPECT_THROW(run.Get("throws_std"), Interrupted);
  ForgetInterrupt();
  EXPECT_EQ(run.host.Find(FormId("throws_std")), nullptr);
}

TEST(PluginHost, WhateverMakingThrowsNamesPluginTaskAndPhase) {
  HostFixture run({Fixture("fails_to_make")});
  const std::pair<std::string, std::string> cases[] = {{"throws_std", "no table"},
                                                       {"throws_int", "not a std::exception"},
                                                       {"throws_torch", "a tensor is wrong"},
                                                       {"throws_input", "images too small"},
                                                       {"is_null", "it made no task"}};
  for (const auto& [task, what] : cases) {
    const std::string message = MessageOf([&, &task = task] { run.Get(task); });
    EXPECT_EQ(message.find("plugin 'fails_to_make' (task " + task + ", while making the task): "), 0u)
        << message;
    EXPECT_TRUE(Has(message, what)) << message;
    EXPECT_EQ(run.host.Find(FormId(task)), nullptr);
  }
  EXPECT_THROW(run.Get("throws_input"), InputError);
  EXPECT_THROW(run.Get("runs_out"), c10::OutOfMemoryError);
}

TEST(PluginHost, AFileThatIsReplacedBetweenScanAndLoadIsNoticed) {
  for (const bool rename : {true, false}) {
    const TempDirectory directory;
    const fs::path path = Copy(directory, "tiny", "plugin");
    HostFixture run({path});
    if (rename) {
      fs::rename(Copy(directory, "fails_to_make", "other"), path);
    } else {
      WriteBytes(path, ReadBytes(Fixture("fails_to_make")));
    }
    const std::string message = MessageOf([&] { run.Get("tiny"); });
    EXPECT_TRUE(Has(message, "has changed since")) << message;
    EXPECT_TRUE(MappedBelow(directory.path()).empty());
  }
}

TEST(PluginHost, AFileThatIsReplacedWhileItIsLoadedIsNoticed) {
  const TempDirectory directory;
  HostFixture run({Copy(directory, "replaces_itself", "plugin")});
  const std::string message = MessageOf([&] { run.Get("replaces_itself"); });
  EXPECT_TRUE(Has(message, "has changed since")) << message;
}

TEST(PluginHost, AFileThatIsGoneOrOpenToStrangersByTheFirstDrawIsRefused) {
  const TempDirectory directory;
  const fs::path path = Copy(directory, "tiny", "plugin");
  HostFixture run({path});
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_TRUE(Has(MessageOf([&] { run.Get("tiny"); }), "may be written by everybody"));
  fs::remove(path);
  EXPECT_FALSE(MessageOf([&] { run.Get("tiny"); }).empty());
}

TEST(PluginHost, SettingsAreCheckedAgainstTheSpecBeforeLoading) {
  const TempDirectory directory;
  const fs::path path = Copy(directory, "fails_to_run", "plugin");
  const auto get = [&](const std::string& variant, const OptionValues& options) {
    TaskConfig settings;
    settings.variant = variant;
    settings.options = options;
    return MessageOf([&] { HostFixture({path}, {{"fails_to_run", settings}}).Get("fails_to_run"); });
  };
  EXPECT_TRUE(Has(get("othr", {}), "no variant 'othr'; did you mean 'other'?"));
  EXPECT_TRUE(Has(get("default", {{"shar", 0.1}}), "no option 'shar'; did you mean 'share'?"));
  EXPECT_TRUE(Has(get("default", {{"share", 1.5}}), "expected 0.0 to 1.0, found 1.5"));
  EXPECT_TRUE(MappedBelow(directory.path()).empty());
  EXPECT_EQ(get("other", {{"share", 0.1}}), "");
}

TEST(PluginHost, EachFormOfATaskIsATaskOfItsOwn) {
  HostFixture run({Fixture("fails_to_run")});
  LoadedTask& own = run.Get("fails_to_run");
  Form other = OwnForm("fails_to_run");
  other.settings.variant = "other";
  other.id = FormId("fails_to_run@1f3a9c");
  EXPECT_EQ(run.host.Find(other.id), nullptr);
  EXPECT_EQ(run.host.Variant(other).name, "other");
  LoadedTask& changed = run.host.Get(other);
  EXPECT_NE(&changed, &own);
  EXPECT_EQ(changed.info().name, "fails_to_run");
  EXPECT_EQ(changed.variant().name, "other");
  EXPECT_EQ(own.variant().name, "default");
  EXPECT_EQ(run.host.Find(other.id), &changed);
}

TEST(PluginHost, ATokenizerWithoutTheTasksSpecialTokensIsRefused) {
  const Registry registry = ScanOnly({Fixture("fails_to_run")});
  const FakeTokenizer tokenizer({"<eos>"});
  const std::vector<std::string> text = {"one"};
  const ModelFile model = AgentFile();
  PluginHost host({registry, model, &tokenizer, text});
  const std::string message = MessageOf([&] { host.Get(OwnForm("fails_to_run")); });
  EXPECT_TRUE(Has(message, "<pad>") && Has(message, "medley tokenizer train")) << message;
}

}  // namespace
}  // namespace medley::testing
