#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/data/jsonl_file.h>
#include <medley/plugin/plugin_call.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/plugin/host_fixture.h"

namespace medley::testing {
namespace {

class FailingTask : public ::testing::Test {
 protected:
  HostFixture run_{{Fixture("fails_to_run"), Fixture("tiny")}};
  LoadedTask& task_ = run_.Get("fails_to_run");
  std::string Prefix(const std::string& phase) const {
    return "plugin 'fails_to_run' (task fails_to_run, while " + phase + "): ";
  }
};

// A pass that nobody will look into.
struct NoContext final : PassContext {
  const Batch& batch() const override { throw Error("unused"); }
  at::Tensor Constant(std::string_view) override { throw Error("unused"); }
  at::Tensor Pixels(std::string_view) override { throw Error("unused"); }
  ModelInput Image(std::string_view) override { throw Error("unused"); }
  ModelOutputs Forward(const ModelInputs&, const WantedOutputs&) override { throw Error("unused"); }
  void Carry(std::string_view, at::Tensor) override { throw Error("unused"); }
  at::Tensor Carried(std::string_view) override { throw Error("unused"); }
};

struct NoEval final : EvalContext {
  void ForEachPiece(const RowRange&, const std::function<void(EvalPass&)>&) override {}
};

TEST_F(FailingTask, AnExceptionNamesPluginTaskAndPhase) {
  NoContext context;
  EXPECT_EQ(MessageOf([&] { task_.Sample({1, 100, 8}); }), Prefix("sampling rows 100..108") + "row 100");
  EXPECT_EQ(MessageOf([&] { task_.Run("throws_int", context); }),
            Prefix("running pass throws_int") + "threw something that is not a std::exception");
  EXPECT_THROW(task_.Run("throws_input", context), InputError);
}

// A plugin's functions are hidden, so libtorch's own trace names none of them.
TEST_F(FailingTask, AnErrorOfLibtorchsNamesTheFunctionOfThePluginAndTheTensors) {
  NoContext context;
  const std::string words =
      MessageOf([&] { task_.Run("misfits", context, [] { return std::string("\n  columns: none"); }); });
  EXPECT_TRUE(words.starts_with(Prefix("running pass misfits") + "mat1 and mat2 shapes cannot be multiplied"))
      << words;
  EXPECT_TRUE(Has(words, "\n  in medley::testing::FailsToRun::Run")) << words;
  EXPECT_TRUE(words.ends_with("\n  columns: none")) << words;
  EXPECT_FALSE(Has(MessageOf([&] { task_.Run("throws_input", context); }), "\n"));
}

// An evaluation runs passes.
TEST(CallPlugin, ACallInsideACallNamesPluginAndTaskOnce) {
  const auto inner = [] {
    CallPlugin("words", "count", "running pass look", [] { throw std::runtime_error("no"); });
  };
  try {
    CallPlugin("words", "count", "evaluating rows 0..2", inner);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "plugin 'words' (task count, while evaluating rows 0..2, while running pass look): no");
  }
}

// Takes its lines apart by itself.
class ReadsByItself final : public Task {
 public:
  explicit ReadsByItself(const std::filesystem::path& file) : file_(file) {}
  Batch Sample(const RowRange& rows) const override {
    if (rows.begin < file_.size()) {
      const nlohmann::json line = file_.Read(rows.begin).json();
      number_ = std::stod(line.at("iso").get<std::string>());
    }
    throw std::runtime_error("no line");
  }
  Sums Run(std::string_view, PassContext&) const override { return {}; }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }

 private:
  JsonlFile file_;
  mutable double number_ = 0;
};

TEST(LoadedTask, WhatOthersThrowOverALineHasTheLinesPlace) {
  const TempDirectory folder;
  const std::filesystem::path file = folder / "dates.jsonl";
  WriteBytes(file, "\n{\"iso\": 5}\n{\"iso\": \"five\"}\n");
  TaskInfo info;
  info.name = "dates";
  const VariantInfo variant;
  const LoadedTask task(info, variant, "words", std::make_unique<ReadsByItself>(file));
  const auto sampling = [&](std::int64_t row) { return MessageOf([&] { task.Sample({1, row, 1}); }); };
  EXPECT_THROW(task.Sample({1, 0, 1}), InputError);
  EXPECT_TRUE(Has(sampling(0), "(task dates, while sampling rows 0..1): ")) << sampling(0);
  EXPECT_TRUE(Has(sampling(0), "dates.jsonl:2: [json.exception.type_error.302]")) << sampling(0);
  EXPECT_TRUE(Has(sampling(1), "stod (the record that was read last: ")) << sampling(1);
  EXPECT_TRUE(Has(sampling(1), "dates.jsonl:3)")) << sampling(1);
  EXPECT_TRUE(sampling(2).ends_with(": no line")) << sampling(2) << ": read before, by another call";
}

// Fails over what its lines ask for.
class FailsOverLines final : public Task {
 public:
  explicit FailsOverLines(const std::filesystem::path& file) : file_(file) {}
  Batch Sample(const RowRange& rows) const override {
    std::vector<std::string> asked;  // all are drawn before the first is looked at
    for (std::int64_t row = 0; row < rows.count; ++row)
      asked.push_back(file_.Read((rows.begin + row) % file_.size()).Text("fail"));
    for (const std::string& how : asked) {
      if (how == "error") throw Error("its label is 7", ExitCode::kDoesNotFit);
      if (how == "input") throw InputError("an empty reply");
      if (how == "torch") TORCH_CHECK(false, "no such shape");
      if (how == "full") C10_THROW_ERROR(OutOfMemoryError, "the device is full");
      if (how == "batch" && rows.count > 1) throw Error("too many");
    }
    return Batch(rows);
  }
  Sums Run(std::string_view, PassContext&) const override { return {}; }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }

 private:
  JsonlFile file_;
};

// A driver or an author checks a row by its number, when others were drawn since.
TEST(LoadedTask, AnErrorOverOneOfManyRowsHasThePlaceOfThatRowsLine) {
  const TempDirectory folder;
  const std::filesystem::path file = folder / "lines.jsonl";
  const auto sampling = [&](const std::string& how, ExitCode code) {
    WriteBytes(file, "{\"fail\": \"\"}\n\n{\"fail\": \"\"}\n{\"fail\": \"" + how + "\"}\n{\"fail\": \"\"}\n");
    TaskInfo info;
    info.name = "lines";
    const VariantInfo variant;
    const LoadedTask task(info, variant, "words", std::make_unique<FailsOverLines>(file));
    EXPECT_EQ(task.NameRow({1, 4, 4}, 5), "row 5 (" + file.string() + ":3)");
    try {
      task.Sample({1, 0, 4});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << how;
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string who = "plugin 'words' (task lines, while sampling rows 0..4): ",
                    place = file.string() + ":4: ";
  EXPECT_EQ(sampling("error", ExitCode::kDoesNotFit), who + place + "its label is 7");
  EXPECT_EQ(sampling("input", ExitCode::kBadInput), who + place + "an empty reply");
  EXPECT_EQ(sampling("torch", ExitCode::kFailed), who + place + "no such shape");
  EXPECT_EQ(sampling("batch", ExitCode::kFailed), who + "too many") << "no row alone is to blame";
  EXPECT_THROW(sampling("full", ExitCode::kFailed), c10::OutOfMemoryError);
}

TEST_F(FailingTask, OutOfMemoryPassesUnchanged) {
  NoContext context;
  try {
    task_.Run("runs_out", context);
    FAIL();
  } catch (const c10::OutOfMemoryError& e) {
    EXPECT_EQ(std::string(e.what_without_backtrace()), "the device is full");
  }
}

TEST_F(FailingTask, WrongRowsAndOutcomesAreErrors) {
  NoEval context;
  EXPECT_TRUE(Has(MessageOf([&] { task_.Sample({1, 200, 8}); }), "rows 200..209"));
  EXPECT_NO_THROW(task_.Sample({1, 0, 8}));
  EXPECT_TRUE(Has(MessageOf([&] {
                    task_.Evaluate(context, {1, 0, 3});
                  }),
                  "each of the 3 rows was expected, got 1"));
}

TEST_F(FailingTask, AConstantMustBeWhatTheSpecDeclares) {
  const auto message = [&](const char* name) { return MessageOf([&] { task_.Constant(name, at::kCPU); }); };
  EXPECT_EQ(message("shape"), Prefix("building constant shape") +
                                  "the spec declares [2, 4] int64 on cpu, the task built [2, 5] Long on cpu");
  EXPECT_TRUE(Has(message("dtype"), "float32")) << message("dtype");
  EXPECT_TRUE(Has(message("undefined"), "an undefined tensor"));
  EXPECT_TRUE(Has(message("throws"), "no such file"));
  EXPECT_TRUE(Has(message("unknown"), "no constant 'unknown'; it declares shape, dtype"));
  EXPECT_EQ(task_.ConstantBytes(at::kCPU), 0);
}

TEST_F(FailingTask, AConstantKeepsNoMoreThanIsCounted) {
  const at::Tensor view = task_.Constant("view", at::kCPU);
  EXPECT_TRUE(view.equal(at::arange(300).view({2, 150}).narrow(1, 0, 3)));
  EXPECT_EQ(static_cast<std::int64_t>(view.storage().nbytes()), task_.ConstantBytes(at::kCPU));
}

TEST_F(FailingTask, ConstantsAreBuiltOnceAndCanBeDropped) {
  LoadedTask& tiny = run_.Get("tiny");
  const at::Tensor first = tiny.Constant("table", at::kCPU);
  EXPECT_EQ(tiny.Constant("table", at::kCPU).data_ptr(), first.data_ptr());
  EXPECT_FALSE(first.requires_grad());
  tiny.Constant("table", at::Device(at::kMeta));
  EXPECT_EQ(tiny.ConstantBytes(at::Device(at::kMeta)), 64);
  tiny.DropConstants(at::Device(at::kMeta));
  EXPECT_EQ(tiny.ConstantBytes(at::Device(at::kMeta)), 0);
  EXPECT_EQ(tiny.ConstantBytes(at::kCPU), 64);
}

}  // namespace
}  // namespace medley::testing
